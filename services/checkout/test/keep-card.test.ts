import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestPaymentMethod } from '../src/actions/create-test-payment-method.ts';
import { cardKeeper, keepCard } from '../src/actions/keep-card.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import { findCustomer } from '../src/store/customers.ts';
import { findPaymentMethod } from '../src/store/payment-methods.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingWorld, openChargingWorld } from './charging-world.ts';
import { line } from './world.ts';

let world: ChargingWorld;
let customerId: string;
beforeAll(async () => {
  world = await openChargingWorld();
  ({ customerId } = await world.card('hsa'));
});
afterAll(() => world.close());

const nobodysCard = (): Promise<PaymentMethod> =>
  createTestPaymentMethod(world.charging, world.scope, {
    ...{ customerId: null, card: 'credit', cardLoc: [], offSession: true },
  });
const recurring = [line({ unitAmount: 2_500, class: 'auto_substantiation', recurring: true })];
const once = [line({ unitAmount: 2_500, class: 'auto_substantiation' })];

describe('the card of a session whose card is used again', () => {
  it.each([
    ['a set-up', { mode: 'setup', lines: [] }],
    ['a subscription', { mode: 'subscription', lines: recurring }],
    ['a payment with setup_future_use', { lines: once, setupFutureUse: 'on_session' }],
  ] as const)('is kept for the customer of %s [D14.36]', async (_name, parts) => {
    const session = await world.session({ ...parts, lines: [...parts.lines], customerId });
    expect(await cardKeeper(world.charging, world.scope, session.id, 'credit')).toBe(customerId);
  });

  it('is not attached when it pays only once, or the session has no customer', async () => {
    const [payment, guest] = [await world.session({ lines: once, customerId }), await world.session({ lines: once })];
    expect(await cardKeeper(world.charging, world.scope, payment.id, 'credit')).toBeNull();
    expect(await cardKeeper(world.charging, world.scope, guest.id, 'credit')).toBeNull();
  });

  it('makes a customer of who subscribes without one, once, by what the shop said of them [D14.36]', async () => {
    const session = await world.session({
      ...{ mode: 'subscription', lines: recurring, customerEmail: 'ada@example.com', defaults: { firstName: 'Ada' } },
    });
    const keepers = await Promise.all(
      [1, 2, 3].map(() => cardKeeper(world.charging, world.scope, session.id, 'credit')),
    );
    expect(new Set(keepers).size).toBe(1);
    const customer = await findCustomer(world.database, world.scope, keepers[0] ?? '');
    expect(customer).toMatchObject({ email: 'ada@example.com', firstName: 'Ada' });
    expect((await loadSession(world.database, world.scope, session.id))?.customerId).toBe(keepers[0]);
  });

  it('makes no customer where the card has one, or none was given', async () => {
    const session = await world.session({ mode: 'subscription', lines: recurring });
    const owned = await world.card('credit');
    expect(await cardKeeper(world.charging, world.scope, session.id, owned.id)).toBeNull();
    expect(await cardKeeper(world.charging, world.scope, session.id, undefined)).toBeNull();
  });

  it('is attached to the customer when it has no owner, and stays with its owner otherwise', async () => {
    const [free, owned] = [await nobodysCard(), await world.card('credit')];
    await keepCard(world.charging, world.scope, free.id, customerId);
    await keepCard(world.charging, world.scope, owned.id, customerId);
    expect((await findPaymentMethod(world.database, world.scope, free.id))?.customerId).toBe(customerId);
    expect((await findPaymentMethod(world.database, world.scope, owned.id))?.customerId).toBe(owned.customerId);
  });
});

import type { SetupOutcome } from '@eligo/processor';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { attachPaymentMethod, detachPaymentMethod } from '../src/actions/attach-payment-method.ts';
import { completeSession } from '../src/actions/complete-session.ts';
import { createCustomer } from '../src/actions/create-customer.ts';
import { createTestPaymentMethod } from '../src/actions/create-test-payment-method.ts';
import type { Charging } from '../src/charging.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { loadSession } from '../src/store/sessions.ts';
import { findSetupIntent } from '../src/store/setup-intents.ts';
import { type ChargingWorld, openChargingWorld } from './charging-world.ts';

let world: ChargingWorld;
beforeAll(async () => {
  world = await openChargingWorld();
});
afterAll(() => world.close());
afterEach(() => world.clearFaults());

const unavailable = { code: 'service_unavailable' };
const setUp = (session: Session, card: PaymentMethod, charging: Charging) =>
  completeSession(charging, world.scope, {
    ...{ sessionId: session.id, paymentMethodIds: [card.id], shippingDetails: null },
  });

// The keys that the processor was asked under, by call.
function noted(): { charging: Charging; keys: string[] } {
  const keys: string[] = [];
  const note = async (key: string, answer: Promise<SetupOutcome>) => {
    keys.push(key.split(':').slice(2).join(' '));
    return answer;
  };
  const charging = world.chargingWith((port) => ({
    createSetupIntent: (input, call) => note(call.idempotencyKey, port.createSetupIntent(input, call)),
    confirmSetupIntent: (id, input, call) => note(call.idempotencyKey, port.confirmSetupIntent(id, input, call)),
  }));
  return { charging, keys };
}

async function setupSession(): Promise<{ session: Session; card: PaymentMethod }> {
  const card = await world.card('credit');
  return { card, session: await world.session({ mode: 'setup', lines: [], customerId: card.customerId }) };
}

describe('a customer and their card at the processor', () => {
  const unowned = async () => {
    const method = await createTestPaymentMethod(world.charging, world.scope, {
      ...{ customerId: null, card: 'hsa', cardLoc: [], offSession: true },
    });
    const customer = await createCustomer(world.resources, world.scope, {
      ...{ firstName: null, lastName: null, email: null, phone: null, employer: null, shipping: null, metadata: {} },
      testClockId: null,
    });
    return { method, customerId: customer.customerId };
  };
  const needs = () => ({ ...world.resources, processors: world.charging.processors });
  const attach = ({ method, customerId }: Awaited<ReturnType<typeof unowned>>) =>
    attachPaymentMethod(needs(), world.scope, method.id, customerId);

  it.each(['customers.create', 'payment_methods.attach'])(
    'are not kept apart for a day by an error of %s that the processor has stored',
    async (call) => {
      const pair = await unowned();
      await world.fault({ call, kind: 'error_before', times: 1 });
      await expect(attach(pair)).rejects.toMatchObject(unavailable);
      expect(await attach(pair)).toMatchObject({ customerId: pair.customerId });
    },
  );

  it.each(['error_before', 'error_after'])('are parted again whatever the processor has stored: %s', async (kind) => {
    const pair = await unowned();
    await attach(pair);
    await world.fault({ call: 'payment_methods.detach', kind, times: 1 });
    await detachPaymentMethod(needs(), world.scope, pair.method.id).catch(() => undefined);
    const parted = await detachPaymentMethod(needs(), world.scope, pair.method.id);
    expect(parted).toMatchObject({ customerId: null, detachedAt: expect.any(Date) });
  });

  it('are not reported as incompatible when the processor refuses Eligo’s own key', async () => {
    const pair = await unowned();
    const { processors } = world.chargingWith(() => ({
      attachPaymentMethod: async () => ({ kind: 'rejected', code: 'api_key_expired', status: 401, param: undefined }),
    }));
    await expect(
      attachPaymentMethod({ ...needs(), processors }, world.scope, pair.method.id, pair.customerId),
    ).rejects.toMatchObject(unavailable);
    expect(await attach(pair)).toMatchObject({ customerId: pair.customerId });
  });

  it('are together when the error came after it was done', async () => {
    const pair = await unowned();
    await world.fault({ call: 'payment_methods.attach', kind: 'error_after', times: 1 });
    expect(await attach(pair)).toMatchObject({ customerId: pair.customerId });
  });
});

describe('a card that is set up', () => {
  it.each(['setup_intents.create', 'setup_intents.confirm'])(
    'does not wait a day for an error of %s that the processor has stored: the next request moves on to a new key [D14.33]',
    async (call) => {
      const { session, card } = await setupSession();
      const { charging, keys } = noted();
      await world.fault({ call, kind: 'error_before', times: 1 });
      await expect(setUp(session, card, charging)).rejects.toMatchObject(unavailable);
      expect(await setUp(session, card, charging)).toMatchObject({ status: 'complete' });
      expect(keys.at(-1)).toBe('1 confirm');
      expect(keys.filter((key) => key === '0 create')).toHaveLength(2);
    },
  );

  it.each(['drop_before', 'drop_after', 'in_progress'])(
    'is asked for again under the same key when nobody knows what became of it: %s [D14.33]',
    async (kind) => {
      const { session, card } = await setupSession();
      const { charging, keys } = noted();
      await world.fault({ call: 'setup_intents.confirm', kind, times: 1 });
      await expect(setUp(session, card, charging)).rejects.toMatchObject(unavailable);
      expect(await setUp(session, card, charging)).toMatchObject({ status: 'complete' });
      expect(keys).toEqual(['0 create', '0 confirm', '0 create', '0 confirm']);
    },
  );

  it('is the one that its set-up intent names, whichever another request has begun to set up meanwhile', async () => {
    const { session, card } = await setupSession();
    const other = await world.card('declined');
    const charging = world.chargingWith((port) => ({
      confirmSetupIntent: async (...call) => {
        await setUp(session, other, world.charging);
        return port.confirmSetupIntent(...call);
      },
    }));
    const done = await setUp(session, card, charging);
    expect(done.status).toBe('complete');
    expect(await findSetupIntent(world.database, world.scope, done.setupIntentId ?? '')).toMatchObject({
      status: 'succeeded',
      paymentMethodId: card.id,
    });
  });

  it.each([
    ['api_key_expired', 401],
    ['idempotency_error', 400],
  ])('is not refused for trouble of our own, %s: an operator mends that', async (code, status) => {
    const { session, card } = await setupSession();
    const refused = async () => ({ kind: 'rejected' as const, code, status, param: undefined });
    for (const change of [{ createSetupIntent: refused }, { confirmSetupIntent: refused }]) {
      const charging = world.chargingWith(() => change);
      await expect(setUp(session, card, charging)).rejects.toMatchObject(unavailable);
    }
    expect((await loadSession(world.database, world.scope, session.id))?.nextAction).toBeNull();
    expect(await setUp(session, card, world.charging)).toMatchObject({ status: 'complete' });
  });

  it('continues from the last key after several stored errors, and not from the first', async () => {
    const { session, card } = await setupSession();
    const { charging, keys } = noted();
    // A replayed answer uses up one of them, too.
    await world.fault({ call: 'setup_intents.create', kind: 'error_before', times: 3 });
    for (let round = 0; round < 2; round++) {
      await expect(setUp(session, card, charging)).rejects.toMatchObject(unavailable);
    }
    expect(await setUp(session, card, charging)).toMatchObject({ status: 'complete' });
    expect(keys).toEqual(['0 create', '0 create', '1 create', '1 create', '2 create', '2 confirm']);
  });
});

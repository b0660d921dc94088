import { cents, newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chargeAtOnce } from '../src/actions/charge-at-once.ts';
import { chargeInvoice } from '../src/actions/charge-invoice.ts';
import { completeSession } from '../src/actions/complete-session.ts';
import { createSession } from '../src/actions/create-session.ts';
import { createTestPaymentMethod } from '../src/actions/create-test-payment-method.ts';
import { deleteCustomer } from '../src/actions/delete-customer.ts';
import { cardKeeper, keepCard } from '../src/actions/keep-card.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { sessionRequestOf } from '../src/rpc/session-request.ts';
import { findCustomer } from '../src/store/customers.ts';
import { findPaymentMethod } from '../src/store/payment-methods.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line, sessionMessage } from './fixture.ts';

let fixture: ChargingFixture;
let customerId: string;
beforeAll(async () => {
  fixture = await openChargingFixture();
  ({ customerId } = await fixture.card('hsa'));
});
afterAll(() => fixture.close());

const nobodysCard = (): Promise<PaymentMethod> =>
  createTestPaymentMethod(fixture.context, fixture.scope, {
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
    const session = await fixture.session({ ...parts, lines: [...parts.lines], customerId });
    expect(await cardKeeper(fixture.context, fixture.scope, session.id, 'credit')).toBe(customerId);
  });

  it('is not attached when it pays only once, or the session has no customer', async () => {
    const [payment, guest] = [
      await fixture.session({ lines: once, customerId }),
      await fixture.session({ lines: once }),
    ];
    expect(await cardKeeper(fixture.context, fixture.scope, payment.id, 'credit')).toBeNull();
    expect(await cardKeeper(fixture.context, fixture.scope, guest.id, 'credit')).toBeNull();
  });

  it('makes a customer of who subscribes without one, once, by what the shop said of them [D14.36]', async () => {
    const session = await fixture.session({
      ...{ mode: 'subscription', lines: recurring, customerEmail: 'ada@example.com', defaults: { firstName: 'Ada' } },
    });
    const keepers = await Promise.all(
      [1, 2, 3].map(() => cardKeeper(fixture.context, fixture.scope, session.id, 'credit')),
    );
    expect(new Set(keepers).size).toBe(1);
    const customer = await findCustomer(fixture.database, fixture.scope, keepers[0] ?? '');
    expect(customer).toMatchObject({ email: 'ada@example.com', firstName: 'Ada' });
    expect((await loadSession(fixture.database, fixture.scope, session.id))?.customerId).toBe(keepers[0]);
  });

  it('makes no customer where the card has one, or none was given', async () => {
    const session = await fixture.session({ mode: 'subscription', lines: recurring });
    const owned = await fixture.card('credit');
    expect(await cardKeeper(fixture.context, fixture.scope, session.id, owned.id)).toBeNull();
    expect(await cardKeeper(fixture.context, fixture.scope, session.id, undefined)).toBeNull();
  });

  it('is attached to the customer when it has no owner, and stays with its owner otherwise', async () => {
    const [free, owned] = [await nobodysCard(), await fixture.card('credit')];
    await keepCard(fixture.context, fixture.scope, free.id, customerId);
    await keepCard(fixture.context, fixture.scope, owned.id, customerId);
    expect((await findPaymentMethod(fixture.database, fixture.scope, free.id))?.customerId).toBe(customerId);
    expect((await findPaymentMethod(fixture.database, fixture.scope, owned.id))?.customerId).toBe(owned.customerId);
  });
});

describe('a card of a deleted customer', () => {
  const deleted = async () => {
    const card = await fixture.card('hsa');
    const sessions = {
      page: await fixture.session({ lines: once }),
      guest: await fixture.session({ lines: once }),
      own: await fixture.mixedSession(card),
      setup: await fixture.session({ mode: 'setup', lines: [], customerId: card.customerId }),
      offSession: await uncharged(card),
    };
    await deleteCustomer(fixture.context, fixture.scope, card.customerId);
    return { card, sessions };
  };
  // The processor is away when the session is created, so that it is written and not charged.
  const uncharged = async ({ id: paymentMethodId, customerId }: PaymentMethod): Promise<Session> => {
    const away = fixture.contextWith(() => ({ isDown: () => true }));
    const request = sessionMessage({ mode: 'off_session', lines: once, paymentMethodId, customerId: customerId ?? '' });
    const created = createSession(away, fixture.call, sessionRequestOf(request));
    await expect(created).rejects.toMatchObject({ code: 'lock_timeout' });
    const [row] = await fixture.test.admin<{ id: string }>(
      'select id from checkout.sessions where payment_method_id = $1',
      [paymentMethodId],
    );
    const session = await loadSession(fixture.database, fixture.scope, row?.id ?? '');
    if (session === undefined) throw new Error('the session was not written');
    return session;
  };
  const attemptsWith = (card: PaymentMethod) =>
    fixture.test.admin('select id from checkout.charge_attempts where payment_method_id = $1', [card.id]);

  it('is charged by no confirm, page, set-up, off-session session or invoice [D14.140]', async () => {
    const { card, sessions } = await deleted();
    const gone = { violations: [expect.objectContaining({ type: 'payment_method_not_found' })] };
    const onPage = (sessionId: string) =>
      completeSession(fixture.context, fixture.scope, {
        sessionId,
        paymentMethodIds: [card.id],
        shippingDetails: null,
      });
    await expect(fixture.confirm(sessions.own, card)).rejects.toMatchObject({ code: 'customer_not_found' });
    await expect(fixture.confirm(sessions.guest, card)).rejects.toMatchObject({ code: 'customer_not_found' });
    await expect(onPage(sessions.page.id)).rejects.toMatchObject(gone);
    await expect(onPage(sessions.setup.id)).rejects.toMatchObject(gone);
    await expect(chargeAtOnce(fixture.context, fixture.scope, sessions.offSession, false)).rejects.toMatchObject({
      code: 'customer_not_found',
    });
    const renewal = chargeInvoice(fixture.context, fixture.scope, {
      operationId: newId('charge_attempt'),
      invoiceId: newId('invoice'),
      subscriptionId: newId('subscription'),
      ...{ customerId: card.customerId, paymentMethodId: card.id, amountCents: cents(2_500), leg: 'health' },
      at: new Date(),
    });
    await expect(renewal).rejects.toMatchObject({ code: 'payment_method_not_found' });
    expect(await attemptsWith(card)).toEqual([]);
  });

  it('is refused by the table of attempts itself [D14.140]', async () => {
    const { card } = await deleted();
    const insert = fixture.test.admin(
      `insert into checkout.charge_attempts (account_id, test_mode, id, purpose, subject_id, leg, driver, payment_intent_id, payment_method_id,
         processor_payment_method_id, off_session, capture_method, amount_cents, status, lease_until, acting_at)
       values ($1, true, $2, 'invoice', 'fin_x', 'health', 'invoice', 'fpi_x', $3, 'pm_x', true, 'automatic', 1000, 'created', now(), now())`,
      [fixture.scope.accountId, newId('charge_attempt'), card.id],
    );
    await expect(insert).rejects.toMatchObject({ code: '23514', constraint: 'no_card_of_a_deleted_customer' });
  });
});

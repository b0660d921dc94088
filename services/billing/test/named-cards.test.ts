import { type Scope, withTx } from '@eligo/postgres';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createSubscription } from '../src/actions/create-subscription.ts';
import { payInvoice } from '../src/actions/pay-invoice.ts';
import { payInvoiceOnPage } from '../src/actions/pay-invoice-on-page.ts';
import { retryWithUpdatedCard } from '../src/actions/retry-with-updated-card.ts';
import { callOf, type Fixture, openFixture, sell, someScope, start } from './fixture.ts';
import { callsOn, may } from './subscription-calls.ts';

let on: Fixture;
let scope: Scope;

beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
beforeEach(() => {
  on.at(start);
  scope = someScope();
});
afterEach(() => turnFailpointsOff());

const { runAt, read, refundsOf, update, pay, voids, pastDue } = callsOn(
  () => on,
  () => scope,
);

describe('paying an invoice that was given up, with two cards', () => {
  const mixed = [{}, { eligibility: 'not_eligible' }];
  const givenUpWithTwo = async () => {
    const card = on.peers.card(true, 'insufficient_funds');
    const backup = on.peers.card(false, 'insufficient_funds');
    const sold = await sell(on, scope, { card, backup, items: mixed });
    for (const day of ['01', '02', '04', '06', '08']) await runAt(`2026-05-${day}T00:00:00.000Z`);
    const { subscription, invoice } = await read(sold.subscriptionId);
    expect([subscription.status, invoice.status, invoice.amountPaidCents]).toEqual(['canceled', 'uncollectible', 0]);
    return { ...sold, card, backup, invoiceId: invoice.id };
  };
  /** The operations of these refunds and their amounts: refunds carries out each once. */
  const operationsOf = async (id: string) => [
    ...new Map((await refundsOf(id)).map(({ operationId, amountCents }) => [operationId, amountCents])),
  ];

  it('refunds what one card paid where the other is declined, once [D14.118]', async () => {
    const { subscriptionId: id, invoiceId, card } = await givenUpWithTwo();
    on.peers.behave(card, 'pays');
    await expect(pay(invoiceId)).rejects.toMatchObject({ code: 'card_declined' });
    expect(on.peers.takenOf(invoiceId)).toBe(3_000);
    const refunds = await operationsOf(id);
    expect(refunds).toHaveLength(1);
    await expect(pay(invoiceId)).rejects.toMatchObject({ code: 'invoice_not_payable' });
    await voids(invoiceId);
    expect(await operationsOf(id)).toEqual(refunds);
  });

  it('refunds what one card paid where the invoice is voided before the other is asked, once [D14.118]', async () => {
    const { subscriptionId: id, invoiceId, card } = await givenUpWithTwo();
    on.peers.behave(card, 'pays');
    turnFailpointsOn();
    armFailpoint('invoice_charge.recorded', { action: 'error' });
    await expect(pay(invoiceId)).rejects.toMatchObject({ code: 'lock_timeout' });
    turnFailpointsOff();
    expect(on.peers.takenOf(invoiceId)).toBe(3_000);
    expect(await operationsOf(id)).toEqual([]);
    expect(await voids(invoiceId)).toMatchObject({ status: 'void', amountPaidCents: 3_000 });
    const refunds = await operationsOf(id);
    expect(refunds).toEqual([[expect.stringMatching(/^uncollected:\S+$/), 3_000]]);
    await runAt('2026-05-09T00:00:00.000Z');
    expect(on.peers.takenOf(invoiceId)).toBe(3_000);
    expect(await operationsOf(id)).toEqual(refunds);
  });

  it('goes on with a payment whose second card has no outcome yet, if it is asked again [D14.118]', async () => {
    const { subscriptionId: id, invoiceId, card, backup } = await givenUpWithTwo();
    on.peers.behave(card, 'pays');
    on.peers.behave(backup, 'pays');
    on.peers.failOn(backup, 'lost_before');
    on.peers.failOn(backup, 'lost_before');
    for (const _ of [1, 2]) await expect(pay(invoiceId)).rejects.toMatchObject({ code: 'lock_timeout' });
    expect(await pay(invoiceId)).toMatchObject({ status: 'paid', amountPaidCents: 6_000 });
    expect(on.peers.takenOf(invoiceId)).toBe(6_000);
    expect(await operationsOf(id)).toEqual([]);
  });

  it('goes on with a payment that broke off between two cards, if it is asked again [D14.118]', async () => {
    const { subscriptionId: id, invoiceId, card, customerId } = await givenUpWithTwo();
    on.peers.behave(card, 'pays');
    turnFailpointsOn();
    armFailpoint('invoice_charge.recorded', { action: 'error' });
    await expect(pay(invoiceId)).rejects.toMatchObject({ code: 'lock_timeout' });
    turnFailpointsOff();
    expect(await pay(invoiceId, on.peers.cardOf(customerId, false))).toMatchObject({ status: 'paid' });
    expect(on.peers.takenOf(invoiceId)).toBe(6_000);
    expect(await operationsOf(id)).toEqual([]);
    await expect(pay(invoiceId)).rejects.toMatchObject({ code: 'invoice_already_paid' });
  });
});

describe('paying an invoice while no card can be asked', () => {
  const context = () => ({
    ...on.context,
    checkout: {
      ...on.context.checkout,
      getPaymentMethod: () => Promise.reject(new Error('checkout does not answer')),
    },
  });

  it('answers that it goes on, and no decline: the job charges the card [D14.118]', async () => {
    const { subscriptionId: id, invoiceId, card } = await pastDue();
    on.peers.behave(card, 'pays');
    await expect(payInvoice(context(), callOf(scope), invoiceId, undefined)).rejects.toMatchObject({
      code: 'lock_timeout',
    });
    expect(on.peers.takenOf(invoiceId)).toBe(0);
    await runAt('2026-05-01T00:00:15.000Z');
    expect(await read(id)).toMatchObject({ subscription: { status: 'active' }, invoice: { status: 'paid' } });
  });

  it('is refused, and no decline, where the subscription ends before a card is asked', async () => {
    const { invoiceId, customerId } = await pastDue();
    on.peers.deleteCustomer(customerId);
    await expect(pay(invoiceId)).rejects.toMatchObject({ code: 'invoice_not_payable' });
  });
});

describe('a card that is named or typed for an invoice', () => {
  it('is refused at its field where it was saved at another processor account, as for a subscription [D14.106]', async () => {
    const { subscriptionId: id, invoiceId, customerId, card: own } = await pastDue();
    const card = on.peers.cardOf(customerId, true);
    on.peers.leaveBehind(card);
    const asked = on.peers.asked;
    const refused = (loc: string[]) => ({ violations: [{ loc, type: 'payment_method_from_another_processor' }] });
    await expect(pay(invoiceId, card)).rejects.toMatchObject(refused(['body', 'invoice', 'payment_method']));
    for (const [field, change] of [
      ['default_payment_method', { defaultPaymentMethodId: card }],
      ['backup_payment_method', { backupPaymentMethodId: card }],
    ] as const) {
      await expect(update(id, change)).rejects.toMatchObject(refused(['body', 'subscription', field]));
    }
    const newCustomer = on.peers.customer();
    const elsewhere = on.peers.cardOf(newCustomer, true);
    on.peers.leaveBehind(elsewhere);
    const nothing = { discount: { couponId: null, promoCode: null }, trialEnd: null, trialDays: null, metadata: {} };
    const fields = { missingPaymentMethod: null, cancelAt: null, cancelAtPeriodEnd: false, prorationBehavior: null };
    for (const [field, cards] of [
      ['default_payment_method', { defaultPaymentMethodId: elsewhere, backupPaymentMethodId: null }],
      ['backup_payment_method', { defaultPaymentMethodId: null, backupPaymentMethodId: elsewhere }],
    ] as const) {
      const items = [{ priceId: on.peers.price(), quantity: 1 }];
      const input = { ...nothing, ...fields, customerId: newCustomer, items, ...cards };
      const creation = createSubscription(on.context, callOf(scope), input, undefined);
      await expect(creation).rejects.toMatchObject(refused(['body', 'subscription', field]));
    }
    // The card that it has may be named with what else changes.
    on.peers.leaveBehind(own);
    const kept = { defaultPaymentMethodId: own, metadata: { a: 'b' } };
    await expect(update(id, kept)).resolves.toMatchObject({ metadata: { a: 'b' } });
    expect([on.peers.asked, (await read(id)).subscription.status]).toEqual([asked, 'past_due']);
    // Nothing is left to be tried during the tests after this one.
    await voids(invoiceId);
  });

  const firstRetry = new Date('2026-05-02T00:00:00.000Z');

  it.each(['authentication_required', 'stolen_card'] as const)(
    'leaves the schedule of the saved card as it is where it is refused for good: %s [D14.118]',
    async (behavior) => {
      const { subscriptionId: id, invoiceId, customerId, card } = await pastDue();
      const named = on.peers.cardOf(customerId, true, behavior);
      await expect(pay(invoiceId, named)).rejects.toMatchObject({ name: 'Failure' });
      const { subscription, invoice } = await read(id);
      expect(subscription).toMatchObject({ status: 'past_due', paymentAt: firstRetry });
      expect(invoice).toMatchObject({ refusedPaymentMethodId: null, payWithPaymentMethodId: null });
      on.peers.behave(card, 'pays');
      await runAt(firstRetry.toISOString());
      expect((await read(id)).invoice.status).toBe('paid');
    },
  );

  it('is not charged again for that invoice, and a saved card that was refused stays refused [D14.91]', async () => {
    const {
      subscriptionId: id,
      customerId,
      card,
    } = await sell(on, scope, { card: on.peers.card(true, 'stolen_card') });
    await runAt(may);
    const { invoice } = await read(id);
    const named = on.peers.cardOf(customerId, true, 'stolen_card');
    for (const asked of [1, 0]) {
      const before = on.peers.asked;
      await expect(pay(invoice.id, named)).rejects.toMatchObject({ code: 'card_declined' });
      expect(on.peers.asked - before).toBe(asked);
    }
    const { asked } = on.peers;
    await runAt('2026-05-08T00:00:00.000Z');
    expect(on.peers.asked).toBe(asked);
    expect(await read(id)).toMatchObject({
      subscription: { status: 'canceled' },
      invoice: { status: 'uncollectible', refusedPaymentMethodId: card },
    });
  });

  const updatedByBank = (card: string) =>
    withTx(on.database, scope, (tx) => retryWithUpdatedCard(on.context, tx, scope, card));

  it('is not charged again for that invoice once it is the default card, until its bank updates it [D14.91, D14.116, D14.234]', async () => {
    const { subscriptionId: id, invoiceId, customerId } = await pastDue();
    const named = on.peers.cardOf(customerId, true, 'stolen_card');
    await expect(pay(invoiceId, named)).rejects.toMatchObject({ code: 'card_declined' });
    const { asked } = on.peers;
    await update(id, { defaultPaymentMethodId: named });
    await runAt('2026-05-02T00:00:00.000Z');
    expect(on.peers.asked).toBe(asked);
    expect(await read(id)).toMatchObject({
      // The last day: another card may be there by then.
      subscription: { status: 'past_due', paymentAt: new Date('2026-05-08T00:00:00.000Z') },
      invoice: { refusedPaymentMethodId: named, declineCode: 'stolen_card' },
    });
    on.at('2026-05-02T12:00:00.000Z');
    on.peers.behave(named, 'pays');
    await updatedByBank(named);
    await runAt('2026-05-02T12:00:01.000Z');
    expect(await read(id)).toMatchObject({ subscription: { status: 'active' }, invoice: { status: 'paid' } });
  });

  it('is charged again for that invoice once its bank has updated it [D14.234]', async () => {
    const { invoiceId, customerId } = await pastDue();
    const named = on.peers.cardOf(customerId, true, 'expired_card');
    await expect(pay(invoiceId, named)).rejects.toMatchObject({ code: 'card_declined' });
    on.at('2026-05-01T12:00:00.000Z');
    on.peers.behave(named, 'pays');
    await updatedByBank(named);
    expect(await pay(invoiceId, named)).toMatchObject({ status: 'paid' });
  });

  it('is answered with its own refusal if it is named again, whatever another card answered since [D14.118]', async () => {
    const { invoiceId, customerId } = await pastDue();
    const named = on.peers.cardOf(customerId, true, 'stolen_card');
    await expect(pay(invoiceId, named)).rejects.toMatchObject({ declineCode: 'stolen_card' });
    await expect(pay(invoiceId)).rejects.toMatchObject({ declineCode: 'insufficient_funds' });
    await expect(pay(invoiceId, named)).rejects.toMatchObject({ declineCode: 'stolen_card' });
  });

  it('leaves no time of the schedule behind where a process of the release before this one clears the card alone', async () => {
    const { invoiceId, customerId } = await pastDue();
    turnFailpointsOn();
    armFailpoint('invoice.due', { action: 'error' });
    await expect(pay(invoiceId, on.peers.cardOf(customerId, true))).rejects.toThrow('invoice.due');
    turnFailpointsOff();
    const write = (set: string) =>
      on.test.admin(`update billing.invoices set ${set} where id = $1 returning scheduled_payment_at`, [invoiceId]);
    expect(await write('attempts = attempts')).toEqual([{ scheduled_payment_at: firstRetry }]);
    expect(await write('pay_with_payment_method_id = null')).toEqual([{ scheduled_payment_at: null }]);
    await expect(write('scheduled_payment_at = now()')).rejects.toMatchObject({
      constraint: 'scheduled_behind_another_card',
    });
  });

  it.each(['named', 'typed'])('takes no try of the schedule that is late: %s [D14.91, D14.231]', async (kind) => {
    const { subscriptionId: id, invoiceId, customerId, card } = await pastDue();
    for (const day of ['02', '04', '06']) await runAt(`2026-05-${day}T00:00:00.000Z`);
    on.at('2026-05-08T06:00:00.000Z');
    on.peers.behave(card, 'pays');
    if (kind === 'named') {
      // The saved card is due, too, and charged at once.
      expect(await pay(invoiceId, on.peers.cardOf(customerId, true, 'insufficient_funds'))).toMatchObject({
        status: 'paid',
      });
    } else {
      const processorPaymentMethodId = on.peers.typed('insufficient_funds');
      await payInvoiceOnPage(on.context, callOf(scope), invoiceId, [{ processorPaymentMethodId, slot: 'health' }]);
    }
    expect(await read(id)).toMatchObject({ subscription: { status: 'active' }, invoice: { status: 'paid' } });
    expect(on.peers.taken.at(-1)).toMatchObject({ paymentMethodId: card });
  });

  it('moves the later tries by as much as one is late that the partner asks for [D14.91]', async () => {
    const { subscriptionId: id, invoiceId } = await pastDue();
    on.at('2026-05-02T12:00:00.000Z');
    await expect(pay(invoiceId)).rejects.toMatchObject({ code: 'card_declined' });
    expect((await read(id)).subscription.paymentAt).toEqual(new Date('2026-05-04T12:00:00.000Z'));
  });
});

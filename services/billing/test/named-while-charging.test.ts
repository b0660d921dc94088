import { type Scope, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { changeBackupAgreement } from '../src/actions/change-backup-agreement.ts';
import { createSubscription } from '../src/actions/create-subscription.ts';
import { payInvoice } from '../src/actions/pay-invoice.ts';
import { retryWithUpdatedCard } from '../src/actions/retry-with-updated-card.ts';
import { findPendingCharge, loadInvoiceCharges } from '../src/store/invoice-charges.ts';
import { callOf, type Fixture, openFixture, sell, someScope, start } from './fixture.ts';
import type { CardBehavior } from './peers.ts';
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

const { runAt, read, update, refundsOf, pay, pastDue } = callsOn(
  () => on,
  () => scope,
);
const waits = { code: 'lock_timeout', retryAfterSeconds: 1 };
const at = (type: string) => ({ violations: [{ loc: ['body', 'invoice', 'payment_method'], type }] });

/** A renewal whose charge has no outcome yet: the processor's answer was lost. */
async function charging(behavior: CardBehavior = 'pays', fault: 'lost_before' | 'lost_after' = 'lost_after') {
  const card = on.peers.card(true, behavior);
  const sold = await sell(on, scope, { card });
  on.peers.failOn(card, fault);
  await runAt(may);
  const { invoice } = await read(sold.subscriptionId);
  expect(await findPendingCharge(on.database, scope, invoice.id)).toMatchObject({ paymentMethodId: card });
  return { ...sold, id: sold.subscriptionId, invoiceId: invoice.id };
}
const chargesOf = async (invoiceId: string) =>
  (await loadInvoiceCharges(on.database, scope, invoiceId)).map((one) => [one.paymentMethodId, one.status]);

describe('a card that is named for an invoice whose charge has no outcome yet', () => {
  const unusable: [string, (customerId: string) => string, string][] = [
    ['is not there, or of the other mode', () => newId('payment_method'), 'payment_method_not_found'],
    ['is of another customer', () => on.peers.cardOf(newId('customer'), true), 'payment_method_not_found'],
    ['needs its owner', (id) => on.peers.cardOf(id, true, 'pays', false), 'payment_method_not_off_session'],
    ['was detached', (id) => left(id, (card) => on.peers.detach(card)), 'payment_method_not_found'],
    [
      'is of another processor account',
      (id) => left(id, (card) => on.peers.leaveBehind(card)),
      'payment_method_from_another_processor',
    ],
  ];
  function left(customerId: string, leave: (card: string) => void): string {
    const card = on.peers.cardOf(customerId, true);
    leave(card);
    return card;
  }

  it.each(unusable)(
    'and that %s is refused at its field, and the charge goes on [D14.394]',
    async (_what, cardOf, type) => {
      const { id, invoiceId, customerId, card } = await charging();
      const { asked } = on.peers;
      await expect(pay(invoiceId, cardOf(customerId))).rejects.toMatchObject(at(type));
      expect(on.peers.asked).toBe(asked);
      await runAt('2026-05-01T00:01:00.000Z');
      expect(await read(id)).toMatchObject({ subscription: { status: 'active' }, invoice: { status: 'paid' } });
      expect(await chargesOf(invoiceId)).toEqual([[card, 'succeeded']]);
      expect(on.peers.takenOf(invoiceId)).toBe(3_000);
    },
  );

  it('is charged once if the charge has failed, and the answer is of the named card [D14.118, D14.394]', async () => {
    for (const [behavior, outcome] of [
      ['pays', 'succeeded'],
      ['expired_card', 'declined'],
    ] as const) {
      const { id, invoiceId, customerId, card } = await charging('insufficient_funds');
      const named = on.peers.cardOf(customerId, true, behavior);
      if (behavior === 'pays') expect(await pay(invoiceId, named)).toMatchObject({ status: 'paid' });
      else await expect(pay(invoiceId, named)).rejects.toMatchObject({ code: 'card_declined', declineCode: behavior });
      expect(await chargesOf(invoiceId)).toEqual([
        [card, 'declined'],
        [named, outcome],
      ]);
      expect((await read(id)).subscription).toMatchObject(
        behavior === 'pays'
          ? { status: 'active', paymentAt: null }
          : { status: 'past_due', paymentAt: new Date('2026-05-02T00:00:00.000Z') },
      );
      expect(on.peers.takenOf(invoiceId)).toBe(behavior === 'pays' ? 3_000 : 0);
    }
  });

  it('is not charged if the charge has paid, or while its outcome stays unknown [D14.118, D14.394]', async () => {
    const paid = await charging();
    expect(await pay(paid.invoiceId, on.peers.cardOf(paid.customerId, true))).toMatchObject({ status: 'paid' });
    expect(await chargesOf(paid.invoiceId)).toEqual([[paid.card, 'succeeded']]);
    const unknown = await charging('insufficient_funds');
    const named = on.peers.cardOf(unknown.customerId, true);
    on.peers.failOn(unknown.card, 'unknown');
    await expect(pay(unknown.invoiceId, named)).rejects.toMatchObject(waits);
    expect(await chargesOf(unknown.invoiceId)).toEqual([[unknown.card, 'pending']]);
    expect(await pay(unknown.invoiceId, named)).toMatchObject({ status: 'paid' });
  });

  it('and is the card of the charge is not charged again [D14.394]', async () => {
    const { invoiceId, customerId, card } = await charging('insufficient_funds', 'lost_before');
    on.peers.owns(card, customerId);
    await expect(pay(invoiceId, card)).rejects.toMatchObject({ declineCode: 'insufficient_funds' });
    expect(await chargesOf(invoiceId)).toEqual([[card, 'declined']]);
  });

  it('pays the last try of the schedule, and the subscription goes on [D14.356, D14.394]', async () => {
    const { subscriptionId: id, invoiceId, customerId, card } = await pastDue();
    for (const day of ['02', '04', '06']) await runAt(`2026-05-${day}T00:00:00.000Z`);
    on.peers.failOn(card, 'lost_after');
    await runAt('2026-05-08T00:00:00.000Z');
    expect(await pay(invoiceId, on.peers.cardOf(customerId, true))).toMatchObject({ status: 'paid' });
    expect((await read(id)).subscription).toMatchObject({ status: 'active', paymentAt: null });
  });
});

describe('a card that is named while the last try of the schedule is under way', () => {
  const lastDay = '2026-05-08T00:00:00.000Z';
  const mixed = [{}, { eligibility: 'not_eligible' }];
  /** 60.00, of which a health card that then behaves so pays 30.00. Its answer is lost. */
  async function lastTry(behavior: CardBehavior = 'insufficient_funds') {
    const [card, backup] = [on.peers.card(true, 'insufficient_funds'), on.peers.card(false, 'insufficient_funds')];
    const sold = await sell(on, scope, { card, backup, items: mixed });
    for (const day of ['01', '02', '04', '06']) await runAt(`2026-05-${day}T00:00:00.000Z`);
    on.peers.behave(card, behavior);
    on.peers.failOn(card, 'lost_after');
    await runAt(lastDay);
    const { subscription, invoice } = await read(sold.subscriptionId);
    expect(subscription.status).toBe('past_due');
    expect(await findPendingCharge(on.database, scope, invoice.id)).toMatchObject({ paymentMethodId: card });
    return { ...sold, id: sold.subscriptionId, invoiceId: invoice.id, card, backup };
  }
  const lastCharges = async (invoiceId: string, count: number) => (await chargesOf(invoiceId)).slice(-count);

  it('pays all where the other card declines what the health card refused, and the subscription has not ended [D14.291, D14.394]', async () => {
    await changeBackupAgreement(on.database, scope, true);
    const { id, invoiceId, customerId, card, backup } = await lastTry();
    const named = on.peers.cardOf(customerId, false);
    expect(await pay(invoiceId, named)).toMatchObject({ status: 'paid' });
    expect(await lastCharges(invoiceId, 3)).toEqual([
      [card, 'declined'],
      [backup, 'declined'],
      [named, 'succeeded'],
    ]);
    expect((await read(id)).subscription.status).toBe('active');
    expect(on.peers.takenOf(invoiceId)).toBe(6_000);
  });

  it('pays what the other card declines beside the health card, which is not refunded [D14.356, D14.394]', async () => {
    const { id, invoiceId, customerId, backup } = await lastTry('pays');
    const named = on.peers.cardOf(customerId, false);
    expect(await pay(invoiceId, named)).toMatchObject({ status: 'paid' });
    expect(await lastCharges(invoiceId, 2)).toEqual([
      [backup, 'declined'],
      [named, 'succeeded'],
    ]);
    expect((await read(id)).subscription.status).toBe('active');
    expect([on.peers.takenOf(invoiceId), await refundsOf(id)]).toEqual([6_000, []]);
  });

  it.each([
    ['declined', 'active'],
    ['declined', 'canceled'],
    ['gone', 'active'],
    ['gone', 'canceled'],
  ] as const)(
    'can be named for an hour after the other card is found %s, and no longer: %s [D14.356, D14.394]',
    async (found, status) => {
      const { id, invoiceId, customerId, card, backup } = await lastTry('pays');
      on.peers.failOn(card, 'unknown');
      const named = on.peers.cardOf(customerId, false);
      await expect(pay(invoiceId, named)).rejects.toMatchObject(waits);
      if (found === 'gone') on.peers.detach(backup);
      await runAt('2026-05-08T00:10:00.000Z');
      const paymentAt = new Date('2026-05-08T01:10:00.000Z');
      expect((await read(id)).subscription).toMatchObject({ status: 'past_due', paymentAt });
      if (status === 'active') expect(await pay(invoiceId, named)).toMatchObject({ status: 'paid' });
      else await runAt('2026-05-08T01:10:00.000Z');
      expect((await read(id)).subscription.status).toBe(status);
    },
  );

  it('is charged after a card that its bank updated meanwhile, which is charged at once, declines too [D14.234, D14.394]', async () => {
    const { subscriptionId: id, invoiceId, customerId, card } = await pastDue();
    for (const day of ['02', '04', '06']) await runAt(`2026-05-${day}T00:00:00.000Z`);
    on.peers.failOn(card, 'lost_after');
    await runAt(lastDay);
    await withTx(on.database, scope, (tx) => retryWithUpdatedCard(on.context, tx, scope, card));
    const named = on.peers.cardOf(customerId, true);
    expect(await pay(invoiceId, named)).toMatchObject({ status: 'paid' });
    expect(await lastCharges(invoiceId, 3)).toEqual([
      [card, 'declined'],
      [card, 'declined'],
      [named, 'succeeded'],
    ]);
    expect((await read(id)).subscription.status).toBe('active');
  });

  it('is charged before the subscription’s own card, which is due, where another named card declines [D14.394]', async () => {
    const { subscriptionId: id, invoiceId, customerId, card } = await pastDue();
    for (const day of ['02', '04', '06']) await runAt(`2026-05-${day}T00:00:00.000Z`);
    on.at('2026-05-07T23:59:59.000Z');
    const [first, second] = [
      on.peers.cardOf(customerId, true, 'insufficient_funds'),
      on.peers.cardOf(customerId, true),
    ];
    on.peers.failOn(first, 'unknown');
    await expect(pay(invoiceId, first)).rejects.toMatchObject(waits);
    on.at('2026-05-08T00:00:10.000Z');
    expect(await pay(invoiceId, second)).toMatchObject({ status: 'paid' });
    expect(await lastCharges(invoiceId, 3)).toEqual([
      [card, 'declined'],
      [first, 'declined'],
      [second, 'succeeded'],
    ]);
    expect((await read(id)).subscription.status).toBe('active');
  });

  it('is not charged by the same request for a subscription that ends with the charge at the time that was set [D14.394]', async () => {
    const { subscriptionId: id, customerId, card } = await sell(on, scope);
    on.at('2026-04-16T00:00:00.000Z');
    await update(id, { items: [{ priceId: on.peers.price({ unitAmountCents: 12_000 }), quantity: 1 }] });
    await update(id, { cancelAtPeriodEnd: true });
    on.peers.behave(card, 'insufficient_funds');
    on.peers.failOn(card, 'lost_after');
    await runAt(may);
    const { invoice } = await read(id);
    const named = on.peers.cardOf(customerId, true);
    await expect(pay(invoice.id, named)).rejects.toMatchObject({ code: 'invoice_not_payable' });
    expect(await read(id)).toMatchObject({
      subscription: { status: 'canceled' },
      invoice: { status: 'uncollectible' },
    });
    expect(on.peers.takenOf(invoice.id)).toBe(0);
    // The next request shows that it has ended.
    expect(await pay(invoice.id, named)).toMatchObject({ status: 'paid' });
  });

  it.each(['has too little time left', 'has ended'])(
    'is charged by the next request where this one %s [D14.394]',
    async (what) => {
      const { id, invoiceId, customerId } = await lastTry();
      const named = on.peers.cardOf(customerId, false);
      const call = callOf(scope);
      const short = what === 'has ended' ? { signal: AbortSignal.abort() } : { timeoutMs: () => 6_999 };
      const asked = payInvoice(on.context, { ...call, ...short }, invoiceId, named);
      await expect(asked).rejects.toMatchObject(waits);
      expect(on.peers.takenOf(invoiceId)).toBe(0);
      expect((await read(id)).subscription.status).toBe('past_due');
      expect(await pay(invoiceId, named)).toMatchObject({ status: 'paid' });
    },
  );

  it('and is the backup that has declined since, is not charged again [D14.394]', async () => {
    const { id, invoiceId, customerId, card, backup } = await lastTry('pays');
    on.peers.owns(backup, customerId);
    await expect(pay(invoiceId, backup)).rejects.toMatchObject({ declineCode: 'insufficient_funds' });
    expect(await lastCharges(invoiceId, 2)).toEqual([
      [card, 'succeeded'],
      [backup, 'declined'],
    ]);
    expect((await read(id)).subscription.status).toBe('past_due');
  });
});

describe('a card that is named for a first invoice while the bank asks the customer', () => {
  /** A subscription to something eligible and something not, whose first payment waits for its customer. */
  async function waiting(besideHealth = false) {
    const customerId = on.peers.customer();
    const asking = on.peers.cardOf(customerId, false, 'asks_bank');
    const cards = besideHealth
      ? { defaultPaymentMethodId: on.peers.cardOf(customerId, true), backupPaymentMethodId: asking }
      : { defaultPaymentMethodId: asking, backupPaymentMethodId: null };
    const prices = [{}, { unitAmountCents: 900, eligibility: 'not_eligible' }];
    const { subscriptionId: id } = await createSubscription(
      on.context,
      callOf(scope),
      {
        ...{ customerId, items: prices.map((of) => ({ priceId: on.peers.price(of), quantity: 1 })), metadata: {} },
        ...{ trialEnd: null, trialDays: null, missingPaymentMethod: null, cancelAt: null, cancelAtPeriodEnd: false },
        ...cards,
        ...{ prorationBehavior: null, discount: { couponId: null, promoCode: null } },
      },
      undefined,
    );
    const { invoice } = await read(id);
    expect(await findPendingCharge(on.database, scope, invoice.id)).toMatchObject({ withCustomer: true });
    return { id, customerId, invoiceId: invoice.id };
  }

  it('and that cannot pay what is not eligible is refused, and the customer can still confirm [D14.394]', async () => {
    const { id, customerId, invoiceId } = await waiting();
    const health = on.peers.cardOf(customerId, true);
    await expect(pay(invoiceId, health)).rejects.toMatchObject(at('backup_payment_method_required'));
    expect(await findPendingCharge(on.database, scope, invoiceId)).toMatchObject({ withCustomer: true });
    await expect(pay(invoiceId)).rejects.toMatchObject({ code: 'authentication_required' });
    // Another card that can be charged ends the wait, and pays.
    expect(await pay(invoiceId, on.peers.cardOf(customerId, false))).toMatchObject({ status: 'paid' });
    expect((await read(id)).subscription.status).toBe('active');
  });

  it('and that is a second health card is refused where the first one has paid its part [D14.394]', async () => {
    const { id, customerId, invoiceId } = await waiting(true);
    expect(on.peers.takenOf(invoiceId)).toBe(3_000);
    const health = on.peers.cardOf(customerId, true);
    await expect(pay(invoiceId, health)).rejects.toMatchObject(at('backup_payment_method_required'));
    expect(await findPendingCharge(on.database, scope, invoiceId)).toMatchObject({ withCustomer: true });
    expect(await pay(invoiceId, on.peers.cardOf(customerId, false))).toMatchObject({ status: 'paid' });
    expect((await read(id)).subscription.status).toBe('active');
  });
});

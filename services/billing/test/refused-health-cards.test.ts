import { type Scope, withTx } from '@eligo/postgres';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { changeBackupAgreement } from '../src/actions/change-backup-agreement.ts';
import { retryWithUpdatedCard } from '../src/actions/retry-with-updated-card.ts';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { loadInvoiceCharges } from '../src/store/invoice-charges.ts';
import { type Fixture, openFixture, sell, someScope, start } from './fixture.ts';
import { callsOn, may } from './subscription-calls.ts';

let on: Fixture;
let scope: Scope;

beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
beforeEach(async () => {
  on.at(start);
  scope = someScope();
  await changeBackupAgreement(on.database, scope, true);
});
afterEach(() => turnFailpointsOff());

const { runAt, read, eventsOf, update, pay } = callsOn(
  () => on,
  () => scope,
);
const mixed = [{}, { eligibility: 'not_eligible' }];
const day = (number: number) => `2026-05-${String(number).padStart(2, '0')}T00:00:00.000Z`;

/** A subscription of 30.00 eligible and 30.00 not, on a health card that behaves so, and another card. */
async function sold(behavior: Parameters<Fixture['peers']['card']>[1], otherBehavior: typeof behavior = 'pays') {
  const [card, backup] = [on.peers.card(true, behavior), on.peers.card(false, otherBehavior)];
  return { ...(await sell(on, scope, { card, backup, items: mixed })), card, backup };
}
const chargesOf = async (subscriptionId: string) =>
  (await loadInvoiceCharges(on.database, scope, (await read(subscriptionId)).invoice.id)).map(
    ({ leg, paymentMethodId, amountCents, status }) => [leg, paymentMethodId, amountCents, status],
  );

describe('what a health card refuses at a renewal, where the customers of the account agree', () => {
  it.each(['insufficient_funds', 'stolen_card', 'authentication_required'] as const)(
    'is paid by the other card at once, whole, and is no failure: %s [D14.291]',
    async (decline) => {
      const { subscriptionId, card, backup } = await sold(decline);
      await runAt(may);
      const { subscription, invoice } = await read(subscriptionId);
      expect(subscription).toMatchObject({ status: 'active', paymentAt: null });
      expect(invoice).toMatchObject({
        ...{ status: 'paid', amountPaidCents: 6_000, backupChargeStatus: 'succeeded', attempts: 0 },
        healthRefused: true,
      });
      expect(await chargesOf(subscriptionId)).toEqual([
        ['health', card, 3_000, 'declined'],
        ['other', backup, 6_000, 'succeeded'],
      ]);
      expect(on.peers.takenOf(invoice.id)).toBe(6_000);
      expect(await eventsOf(invoice.id)).not.toContain('invoice.payment_failed');
    },
  );

  it('is asked of the health card first at the next renewal again [D14.291]', async () => {
    const { subscriptionId, card, backup } = await sold('insufficient_funds');
    await runAt(may);
    on.peers.behave(card, 'pays');
    await runAt('2026-06-01T00:00:00.000Z');
    expect(await chargesOf(subscriptionId)).toEqual([
      ['health', card, 3_000, 'succeeded'],
      ['other', backup, 3_000, 'succeeded'],
    ]);
    expect((await read(subscriptionId)).invoice).toMatchObject({ status: 'paid', healthRefused: false });
  });

  it('is tried on both cards on each day of the schedule where the other one declines, too [D14.291]', async () => {
    const { subscriptionId, card, backup } = await sold('insufficient_funds', 'insufficient_funds');
    for (const number of [1, 2, 4]) await runAt(day(number));
    expect((await read(subscriptionId)).invoice).toMatchObject({
      ...{ status: 'open', attempts: 3, declineCode: 'insufficient_funds', backupChargeStatus: 'failed' },
      healthRefused: false,
    });
    const [first, second] = [
      ['health', card, 3_000, 'declined'],
      ['other', backup, 6_000, 'declined'],
    ];
    expect(await chargesOf(subscriptionId)).toEqual([first, second, first, second, first, second]);
    on.peers.behave(backup, 'pays');
    await runAt(day(6));
    const { subscription, invoice } = await read(subscriptionId);
    expect([subscription.status, invoice.status]).toEqual(['active', 'paid']);
    expect(on.peers.takenOf(invoice.id)).toBe(6_000);
  });

  it('is not asked again of a card that was refused for good, and of neither once both were [D14.91, D14.291]', async () => {
    const { subscriptionId, card, backup } = await sold('stolen_card', 'insufficient_funds');
    await runAt(day(1));
    await runAt(day(2));
    const [first, second] = [
      ['health', card, 3_000, 'declined'],
      ['other', backup, 6_000, 'declined'],
    ];
    expect(await chargesOf(subscriptionId)).toEqual([first, second, second]);
    on.peers.behave(backup, 'stolen_card');
    await runAt(day(4));
    const { subscription, invoice } = await read(subscriptionId);
    expect(invoice).toMatchObject({ refusedPaymentMethodId: card, refusedBackupPaymentMethodId: backup });
    // The last day: a new card may be there by then.
    expect(subscription.paymentAt).toEqual(new Date(day(8)));
    const { asked } = on.peers;
    await runAt(day(8));
    expect((await read(subscriptionId)).subscription.status).toBe('canceled');
    expect(on.peers.asked).toBe(asked);
  });

  it('is charged to an updated card that was refused for good in its place [D14.234, D14.291]', async () => {
    const { subscriptionId, backup } = await sold('stolen_card', 'stolen_card');
    await runAt(day(1));
    on.peers.behave(backup, 'pays');
    on.at('2026-05-02T12:00:00.000Z');
    await withTx(on.database, scope, (tx) => retryWithUpdatedCard(on.context, tx, scope, backup));
    await runAt('2026-05-02T12:00:01.000Z');
    expect((await read(subscriptionId)).invoice).toMatchObject({ status: 'paid', refusedBackupPaymentMethodId: null });
  });

  it.each(['invoice_charge.answered', 'invoice_charge.recorded', 'invoice_charge.before_commit'])(
    'is paid once where the process dies between the two cards: %s [D14.291]',
    async (name) => {
      for (const skip of [0, 1]) {
        scope = someScope();
        await changeBackupAgreement(on.database, scope, true);
        const { subscriptionId, backup } = await sold('insufficient_funds');
        turnFailpointsOn();
        armFailpoint(name, { action: 'error', skip });
        on.at(may);
        await runDueSubscriptions(on.context).catch(() => undefined);
        turnFailpointsOff();
        await runAt('2026-05-01T00:05:00.000Z');
        const { invoice } = await read(subscriptionId);
        expect(invoice.status).toBe('paid');
        expect(on.peers.taken.filter(({ invoiceId }) => invoiceId === invoice.id)).toMatchObject([
          { paymentMethodId: backup, amountCents: 6_000 },
        ]);
        on.at(start);
      }
    },
  );

  it('is dunned with the health card’s own reason where the other card is gone by then, or is no ordinary card [D14.291]', async () => {
    const [card, second] = [on.peers.card(true, 'insufficient_funds'), on.peers.card(true)];
    const { subscriptionId } = await sell(on, scope, { card, backup: second });
    await runAt(may);
    expect((await read(subscriptionId)).invoice).toMatchObject({
      ...{ status: 'open', attempts: 1, declineCode: 'insufficient_funds', healthRefused: false },
    });
    expect(on.peers.taken.filter(({ paymentMethodId }) => paymentMethodId === second)).toEqual([]);
  });

  it('stays refused where the partner names the card that pays [D14.291]', async () => {
    const { subscriptionId } = await sold('insufficient_funds', 'insufficient_funds');
    await runAt(may);
    const named = on.peers.card(true, 'insufficient_funds');
    const { subscription, invoice } = await read(subscriptionId);
    on.peers.owns(named, subscription.customerId);
    const { asked } = on.peers;
    await expect(pay(invoice.id, named)).rejects.toMatchObject({ code: 'card_declined' });
    expect(on.peers.asked).toBe(asked + 1);
  });

  it('is paid by the new backup card that a partner gives, by the same rule [D14.116, D14.291]', async () => {
    const { subscriptionId } = await sold('insufficient_funds', 'insufficient_funds');
    await runAt(may);
    const { subscription, invoice } = await read(subscriptionId);
    const fresh = on.peers.card(false);
    on.peers.owns(fresh, subscription.customerId);
    await update(subscriptionId, { backupPaymentMethodId: fresh });
    expect((await read(subscriptionId)).invoice.status).toBe('paid');
    expect(on.peers.taken.filter(({ invoiceId }) => invoiceId === invoice.id)).toMatchObject([
      { paymentMethodId: fresh, amountCents: 6_000 },
    ]);
  });
});

it('the other card pays nothing that a health card refused where that was not agreed, or is not any more [D14.90, D14.291]', async () => {
  await changeBackupAgreement(on.database, scope, false);
  const { subscriptionId, card } = await sold('insufficient_funds');
  await runAt(may);
  expect(await chargesOf(subscriptionId)).toEqual([['health', card, 3_000, 'declined']]);
  const { invoice } = await read(subscriptionId);
  expect(invoice).toMatchObject({ status: 'open', attempts: 1 });
  const pretend = on.test.admin('update billing.invoices set health_refused = true where id = $1', [invoice.id]);
  await expect(pretend).rejects.toMatchObject({ constraint: 'backup_is_agreed' });
});

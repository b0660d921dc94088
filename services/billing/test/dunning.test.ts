import type { Scope } from '@eligo/postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { payInvoice } from '../src/actions/pay-invoice.ts';
import { sharePace } from '../src/actions/share-pace.ts';
import { updateSubscription } from '../src/actions/update-subscription.ts';
import { createChargePace } from '../src/charge-pace.ts';
import type { Context } from '../src/context.ts';
import { isRefusedForGood, nextRetry } from '../src/domain/dunning.ts';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { loadInvoiceCharges } from '../src/store/invoice-charges.ts';
import { findInvoice } from '../src/store/invoices.ts';
import { findSubscription } from '../src/store/subscriptions.ts';
import { callOf, type Fixture, openFixture, sell, someScope, start } from './fixture.ts';

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

const runAt = async (time: string) => {
  on.at(`2026-05-${time}Z`);
  while (await runDueSubscriptions(on.context));
};
const read = async (id: string) => {
  const subscription = await findSubscription(on.database, scope, id);
  const invoice = await findInvoice(on.database, scope, subscription?.latestInvoiceId ?? '');
  if (subscription === undefined || invoice === undefined) throw new Error('no subscription or invoice');
  return { subscription, invoice };
};
const eventsOf = async (...ids: string[]) =>
  (
    await on.test.admin<{ type: string }>(
      'select type from billing.outbox where aggregate_id = any($1) order by event_id',
      [ids],
    )
  ).map(({ type }) => type);

describe('a renewal', () => {
  it('goes on when the wall clock that was hours ahead is set back, also held by a process that died [D14.190, D14.333]', async () => {
    const sold = await Promise.all(Array.from({ length: 3 }, () => sell(on, scope)));
    const pace = createChargePace({ perSecond: 2, burst: 1 });
    const runPaced = async (time: string) => {
      on.at(`2026-05-${time}Z`);
      while (await runDueSubscriptions({ ...on.context, pace }));
    };
    const charged = async () =>
      (await Promise.all(sold.map(({ subscriptionId }) => read(subscriptionId)))).filter(
        ({ subscription }) => subscription.currentPeriodStart.getTime() === Date.parse('2026-05-01T00:00:00.000Z'),
      ).length;
    await runPaced('01T05:00:00.000');
    expect(await charged()).toBe(1);
    const waiting = `account_id = $1 and held_until is not null and held_until > '2026-05-01T05:00:00Z'`;
    const [dead, ...others] = await on.test.admin<{ id: string }>(
      `select id from billing.subscriptions where ${waiting} order by id`,
      [scope.accountId],
    );
    expect(others).toHaveLength(1);
    await on.test.admin(`update billing.subscriptions set held_until = '2026-05-01T06:00:00Z' where id = $1`, [
      dead?.id,
    ]);
    // One that waits for an operator stays held.
    const { subscriptionId: kept } = await sell(on, scope);
    await on.test.admin(`update billing.subscriptions set held_until = '9999-01-01T00:00:00Z' where id = $1`, [kept]);
    for (const time of ['01T01:00:00.000', '01T01:00:00.500', '01T01:00:01.000', '01T01:00:01.500'])
      await runPaced(time);
    expect(await charged()).toBe(3);
    expect((await read(kept)).subscription.heldUntil).toEqual(new Date('9999-01-01T00:00:00.000Z'));
  });

  it('that the processor turns away is asked again after its Retry-After and counts no failure; its account waits in order, and no other one does [D14.190]', async () => {
    const first = await sell(on, scope);
    const later = await sell(on, scope, { at: new Date(start.getTime() + 1_000) });
    const ofAnother = someScope();
    const other = await sell(on, ofAnother, { at: new Date(start.getTime() + 1_000) });
    on.peers.failOn(first.card, 'not_now');
    const { asked } = on.peers;
    await runAt('01T00:00:00.000');
    await runAt('01T00:00:02.000');
    expect(on.peers.asked - asked).toBe(2);
    expect((await findSubscription(on.database, ofAnother, other.subscriptionId))?.currentPeriodStart).toEqual(
      new Date('2026-05-01T00:00:01.000Z'),
    );
    expect((await read(later.subscriptionId)).invoice.id).toBe(later.invoiceId);
    await runAt('01T00:00:06.999');
    expect(on.peers.asked - asked).toBe(2);
    await runAt('01T00:00:07.000');
    expect((await read(first.subscriptionId)).invoice).toMatchObject({
      status: 'paid',
      attempts: 0,
      firstFailedAt: null,
    });
    await runAt('01T00:00:08.000');
    expect((await read(later.subscriptionId)).invoice).toMatchObject({ status: 'paid', attempts: 0 });
    expect(await eventsOf((await read(first.subscriptionId)).invoice.id)).not.toContain('invoice.payment_failed');
  });

  it('is charged at the pace of its account, after those that were due before it', async () => {
    await on.test.admin('delete from billing.charging_instances');
    const pace = createChargePace({ perSecond: 2, burst: 3 });
    const due = async (ms: number) => (await sell(on, scope, { at: new Date(start.getTime() + ms) })).subscriptionId;
    for (const ms of [0, 0, 0, 0]) await due(ms);
    const last = await due(10_200);
    const { length } = on.peers.taken;
    const runPaced = async (time: string) => {
      on.at(`2026-05-01T00:00:${time}Z`);
      while (await runDueSubscriptions({ ...on.context, pace }));
    };
    const paid: number[] = [];
    for (const time of ['10.000', '10.200', '10.500', '11.000']) {
      await runPaced(time);
      paid.push(on.peers.taken.length - length);
    }
    expect(paid).toEqual([3, 3, 4, 5]);
    expect(on.peers.taken.at(-1)?.invoiceId).toBe((await read(last)).invoice.id);
  });

  it('waits for the tokens that its instance has, of which another live instance has as many [D14.206]', async () => {
    await on.test.admin('delete from billing.charging_instances');
    const paced = (context: Context) => ({ ...context, pace: createChargePace({ perSecond: 4, burst: 8 }) });
    const [one, another] = [paced(on.context), paced(on.another())];
    for (let n = 0; n < 24; n += 1) await sell(on, scope);
    const chargedAt = async (time: string) => {
      const { length } = on.peers.taken;
      on.at(`2026-05-01T00:00:${time}Z`);
      while (await runDueSubscriptions(one));
      return on.peers.taken.length - length;
    };
    await sharePace(another);
    await on.test.admin("update billing.charging_instances set live_until = now() + interval '1 hour'");
    expect(await chargedAt('10.000')).toBe(4);
    expect(await chargedAt('11.000')).toBe(2);
    await on.test.admin(
      `update billing.charging_instances set live_until = now() - interval '2 minutes' where id = $1`,
      [another.pace.instanceId],
    );
    expect(await chargedAt('20.000')).toBe(8);
    const left = await on.test.admin<{ id: string }>('select id from billing.charging_instances');
    expect(left).toEqual([{ id: one.pace.instanceId }]);
    await runAt('01T00:01:00.000');
  });
});

describe('a renewal whose card is declined', () => {
  it('ends with its invoice written off when the customer is deleted, and is not tried again [D14.140]', async () => {
    const { subscriptionId, card, customerId } = await sell(on, scope);
    on.peers.behave(card, 'insufficient_funds');
    await runAt('01T00:00:00.000');
    const { asked } = on.peers;
    on.peers.behave(card, 'pays');
    on.peers.deleteCustomer(customerId);
    await runAt('02T00:00:00.000');
    const { subscription, invoice } = await read(subscriptionId);
    expect(subscription).toMatchObject({ status: 'canceled', paymentAt: null });
    expect(invoice).toMatchObject({ status: 'uncollectible', attempts: 1 });
    expect(on.peers.asked).toBe(asked);
  });

  it('is tried 1, 3, 5 and 7 days after the first failure, and then the subscription ends [D14.91]', async () => {
    const { subscriptionId, card } = await sell(on, scope);
    on.peers.behave(card, 'insufficient_funds');
    await runAt('01T00:00:00.000');
    const seen: [string, number][] = [];
    for (const [time, attempts] of [
      ['01T23:59:59.999', 1],
      ['02T00:00:00.000', 2],
      ['03T23:59:59.999', 2],
      ['04T00:00:00.000', 3],
      ['06T00:00:00.000', 4],
      ['07T23:59:59.999', 4],
    ] as const) {
      await runAt(time);
      const { subscription, invoice } = await read(subscriptionId);
      expect(subscription.status).toBe('past_due');
      expect(invoice).toMatchObject({
        status: 'open',
        failureCode: 'card_declined',
        declineCode: 'insufficient_funds',
      });
      seen.push([time, invoice.attempts]);
      expect(invoice.attempts).toBe(attempts);
    }
    expect(seen).toHaveLength(6);
    await runAt('08T00:00:00.000');
    const { subscription, invoice } = await read(subscriptionId);
    expect(subscription).toMatchObject({ status: 'canceled', paymentAt: null });
    expect(subscription.canceledAt?.toISOString()).toBe('2026-05-08T00:00:00.000Z');
    expect(invoice).toMatchObject({ status: 'uncollectible', attempts: 5, amountPaidCents: 0 });
    const events = await eventsOf(subscriptionId, invoice.id);
    expect(events.filter((type) => type === 'invoice.payment_failed')).toHaveLength(5);
    expect(events.slice(-2)).toEqual(['invoice.marked_uncollectible', 'customer.subscription.deleted']);
    expect((await loadInvoiceCharges(on.database, scope, invoice.id)).map(({ status }) => status)).toEqual(
      Array(5).fill('declined'),
    );
  });

  it('keeps its tries when an outage makes one of them late: the later ones move by as much [D14.91]', async () => {
    const { subscriptionId, card } = await sell(on, scope);
    on.peers.behave(card, 'insufficient_funds');
    await runAt('01T00:00:00.000');
    // The try of the second was to be the first of four; nothing ran until the twelfth.
    const tries: string[] = [];
    for (const day of ['12T00:00:00.000', '14T00:00:00.000', '16T00:00:00.000']) {
      await runAt(day);
      tries.push((await read(subscriptionId)).subscription.paymentAt?.toISOString() ?? '');
    }
    expect(tries).toEqual(['2026-05-14T00:00:00.000Z', '2026-05-16T00:00:00.000Z', '2026-05-18T00:00:00.000Z']);
    await runAt('18T00:00:00.000');
    expect(await read(subscriptionId)).toMatchObject({
      subscription: { status: 'canceled' },
      invoice: { status: 'uncollectible', attempts: 5 },
    });
  });

  it.each([
    ['another card', 'active', 'paid'],
    ['no card', 'past_due', 'open'],
  ])(
    'while %s takes its place is paid at once by that card, or else waits for its next try [D14.91, D14.262]',
    async (_what, status, invoiceStatus) => {
      const { subscriptionId, customerId, card } = await sell(on, scope);
      on.peers.behave(card, 'insufficient_funds');
      const given = status === 'active' ? on.peers.cardOf(customerId, true) : null;
      const { checkout } = on.context;
      const chargeInvoice: typeof checkout.chargeInvoice = async (request, call) => {
        if (request.paymentMethodId === card) {
          await updateSubscription(on.context, callOf(scope), subscriptionId, {
            ...{ discount: { couponId: null, promoCode: null }, clearsDiscounts: false },
            defaultPaymentMethodId: given,
          });
        }
        return checkout.chargeInvoice(request, call);
      };
      on.at('2026-05-01T00:00:00.000Z');
      while (await runDueSubscriptions({ ...on.context, checkout: { ...checkout, chargeInvoice } }));
      const { subscription, invoice } = await read(subscriptionId);
      expect(subscription).toMatchObject({ status, defaultPaymentMethodId: given });
      expect(invoice).toMatchObject({ status: invoiceStatus, attempts: 1 });
      const charges = await loadInvoiceCharges(on.database, scope, invoice.id);
      expect(charges.map((one) => [one.paymentMethodId, one.status])).toEqual([
        [card, 'declined'],
        ...(given === null ? [] : [[given, 'succeeded']]),
      ]);
    },
  );

  it('becomes active again when a later try is paid, and renews on its old dates', async () => {
    const { subscriptionId, card } = await sell(on, scope);
    on.peers.behave(card, 'insufficient_funds');
    await runAt('01T00:00:00.000');
    on.peers.behave(card, 'pays');
    await runAt('02T00:00:00.000');
    const { subscription, invoice } = await read(subscriptionId);
    expect(subscription).toMatchObject({ status: 'active', paymentAt: null });
    expect(subscription.currentPeriodEnd.toISOString()).toBe('2026-06-01T00:00:00.000Z');
    expect(invoice).toMatchObject({ status: 'paid', attempts: 1 });
    expect(on.peers.takenOf(invoice.id)).toBe(3_000);
    expect((await eventsOf(subscriptionId)).slice(1)).toEqual(Array(3).fill('customer.subscription.updated'));
  });

  it('does not charge a card that was refused for good again, and ends after the last day', async () => {
    const { subscriptionId, card } = await sell(on, scope);
    on.peers.behave(card, 'stolen_card');
    await runAt('01T00:00:00.000');
    on.peers.behave(card, 'pays');
    const asked = on.peers.asked;
    for (const day of ['02', '04', '06']) await runAt(`${day}T00:00:00.000`);
    expect((await read(subscriptionId)).subscription.status).toBe('past_due');
    await runAt('08T00:00:00.000');
    const { subscription, invoice } = await read(subscriptionId);
    expect([subscription.status, invoice.status]).toEqual(['canceled', 'uncollectible']);
    expect(on.peers.asked).toBe(asked);
    expect(on.peers.takenOf(invoice.id)).toBe(0);
  });

  it('of more than any card can be charged is a failure, and is not asked again and again', async () => {
    const { subscriptionId } = await sell(on, scope, { items: [{ unitAmountCents: 60_000_000 }] });
    const asked = on.peers.asked;
    await runAt('01T00:00:00.000');
    await runAt('02T00:00:00.000');
    const { subscription, invoice } = await read(subscriptionId);
    expect([subscription.status, invoice.failureCode]).toEqual(['past_due', 'amount_too_large']);
    expect(on.peers.takenOf(invoice.id)).toBe(0);
    expect(on.peers.asked).toBe(asked + 1);
    // Another card has the same limit, so the partner is not told to use one.
    await expect(payInvoice(on.context, callOf(scope), invoice.id, undefined)).rejects.toMatchObject({
      ...{ code: 'invoice_not_payable', status: 409 },
      detail: expect.stringContaining('above what a card can be charged. Void it'),
    });
  });

  it('charges no backup card for what the health card refused', async () => {
    const backup = on.peers.card(false);
    const { subscriptionId, card } = await sell(on, scope, { backup, items: [{}, { eligibility: 'not_eligible' }] });
    on.peers.behave(card, 'stolen_card');
    await runAt('01T00:00:00.000');
    await runAt('02T00:00:00.000');
    const { invoice } = await read(subscriptionId);
    expect(on.peers.takenOf(invoice.id)).toBe(0);
    on.peers.detach(card);
    await runAt('08T00:00:00.000');
    expect((await read(subscriptionId)).invoice.status).toBe('uncollectible');
    expect(on.peers.takenOf(invoice.id)).toBe(0);
  });

  it('tries only the other card once the health card has paid, and refunds that when it ends unpaid [D14.94]', async () => {
    const backup = on.peers.card(false, 'insufficient_funds');
    const { subscriptionId } = await sell(on, scope, { backup, items: [{}, { eligibility: 'not_eligible' }] });
    await runAt('01T00:00:00.000');
    const first = await read(subscriptionId);
    expect(first.invoice).toMatchObject({ status: 'open', amountPaidCents: 3_000, backupChargeStatus: 'failed' });
    for (const day of ['02', '04', '06', '08']) await runAt(`${day}T00:00:00.000`);
    const { subscription, invoice } = await read(subscriptionId);
    expect([subscription.status, invoice.status]).toEqual(['canceled', 'uncollectible']);
    const charges = await loadInvoiceCharges(on.database, scope, invoice.id);
    expect(charges.filter(({ leg }) => leg === 'health')).toMatchObject([{ status: 'succeeded', amountCents: 3_000 }]);
    expect(charges.filter(({ leg }) => leg === 'other')).toHaveLength(5);
    expect((await eventsOf(subscriptionId)).filter((type) => type === 'command.refund')).toHaveLength(1);
  });

  it('stays unpaid after the last try if the account has it so, and renews no more', async () => {
    await on.test.admin(
      `insert into billing.dunning_settings (account_id, test_mode, retry_days, ends_with, updated_at) values ($1, true, '{2}', 'unpaid', now())`,
      [scope.accountId],
    );
    const { subscriptionId, card } = await sell(on, scope);
    on.peers.behave(card, 'insufficient_funds');
    await runAt('01T00:00:00.000');
    await runAt('03T00:00:00.000');
    const { subscription, invoice } = await read(subscriptionId);
    expect([subscription.status, subscription.paymentAt, invoice.status]).toEqual(['unpaid', null, 'open']);
    on.at('2026-09-01T00:00:00.000Z');
    while (await runDueSubscriptions(on.context));
    expect((await read(subscriptionId)).invoice.id).toBe(invoice.id);
  });

  it('makes up for the days that began while it owed, in order, when days are its period', async () => {
    const { subscriptionId, card } = await sell(on, scope, { items: [{ interval: 'day' }] });
    on.peers.behave(card, 'insufficient_funds');
    on.at('2026-04-02T00:00:00.000Z');
    while (await runDueSubscriptions(on.context));
    on.peers.behave(card, 'pays');
    on.at('2026-04-05T00:00:00.000Z');
    while (await runDueSubscriptions(on.context));
    const rows = await on.test.admin<{ period_start: Date; status: string }>(
      'select period_start, status from billing.invoices where subscription_id = $1 order by number',
      [subscriptionId],
    );
    expect(rows.map(({ period_start, status }) => `${period_start.toISOString().slice(0, 10)} ${status}`)).toEqual([
      '2026-04-01 paid',
      '2026-04-02 paid',
      '2026-04-03 paid',
      '2026-04-04 paid',
      '2026-04-05 paid',
    ]);
  });
});

describe('the schedule', () => {
  const settings = { retryDays: [1, 3, 5, 7], endsWith: 'canceled' } as const;
  const day = (n: number) => new Date(start.getTime() + n * 86_400_000);
  const next = (at: Date, refusedForGood = false) => nextRetry(settings, { firstFailedAt: day(0), at, refusedForGood });

  it('skips the days that have passed, and ends after the last', () => {
    expect([0, 1, 3, 5, 7].map((n) => next(day(n)))).toEqual([day(1), day(3), day(5), day(7), undefined]);
    expect(next(day(3.5))).toEqual(day(5));
    expect(next(day(0), true)).toEqual(day(7));
    expect(next(day(7), true)).toBeUndefined();
  });

  it('knows refusals that no retry can change, in either code', () => {
    expect(isRefusedForGood('card_declined', 'lost_card')).toBe(true);
    expect(isRefusedForGood('authentication_required', null)).toBe(true);
    expect(isRefusedForGood('card_declined', 'insufficient_funds')).toBe(false);
    expect(isRefusedForGood('card_declined', null)).toBe(false);
  });
});

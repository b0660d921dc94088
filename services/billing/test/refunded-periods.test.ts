import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { cancelSubscription } from '../src/actions/cancel-subscription.ts';
import { pause, resume } from '../src/actions/pause-and-resume.ts';
import { type SubscriptionUpdate, updateSubscription } from '../src/actions/update-subscription.ts';
import type { Context } from '../src/context.ts';
import { pendingProrations } from '../src/store/prorations.ts';
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

const { runAt, read, update } = callsOn(
  () => on,
  () => scope,
);
const half = '2026-04-16T00:00:00.000Z';

/** 30.00 a month, and a price of 60.00. */
async function sold() {
  on.at(start);
  return { ...(await sell(on, scope)), price: on.peers.price({ unitAmountCents: 6_000 }) };
}

const changeTo = (
  id: string,
  priceId: string,
  behavior: SubscriptionUpdate['prorationBehavior'],
  context: Context = on.context,
) =>
  updateSubscription(context, callOf(scope), id, {
    ...{ items: [{ priceId, quantity: 1 }], discount: { couponId: null, promoCode: null }, clearsDiscounts: false },
    prorationBehavior: behavior,
  });
const pendingOf = async (id: string) =>
  (await pendingProrations(on.database, scope, id)).map(({ kind, leftCents }) =>
    kind === 'credit' ? -leftCents : leftCents,
  );

it('credits nothing of a period that was refunded with its session [D14.236]', async () => {
  const { subscriptionId, sessionId, price } = await sold();
  on.peers.refunded.set(sessionId, 3_000);
  on.at(half);
  await changeTo(subscriptionId, price, 'create_prorations');
  expect(await pendingOf(subscriptionId)).toEqual([3_000]);
});

it('credits half of the unused time of a renewal that was half refunded, whatever was refunded of earlier periods [D14.236]', async () => {
  const { subscriptionId, sessionId, price } = await sold();
  await runAt(may);
  const { invoice } = await read(subscriptionId);
  on.peers.refunded.set(invoice.paymentIntentId ?? '', 1_500);
  on.peers.refunded.set(sessionId, 3_000);
  on.at(new Date((invoice.periodStart.getTime() + invoice.periodEnd.getTime()) / 2));
  await changeTo(subscriptionId, price, 'create_prorations');
  expect(await pendingOf(subscriptionId)).toEqual([-750, 3_000]);
});

it('counts the refunds of all invoices of the period [D14.236]', async () => {
  const { subscriptionId, sessionId, price } = await sold();
  on.at(half);
  await changeTo(subscriptionId, price, 'always_invoice');
  const { invoice } = await read(subscriptionId);
  expect(invoice.amountPaidCents).toBe(1_500);
  // 45.00 were paid for the period, and all but 9.00 refunded.
  on.peers.refunded.set(invoice.paymentIntentId ?? '', 600);
  on.peers.refunded.set(sessionId, 3_000);
  await changeTo(subscriptionId, on.peers.price({ unitAmountCents: 9_000 }), 'create_prorations');
  expect(await pendingOf(subscriptionId)).toEqual([-600, 4_500]);
});

it('counts the credits of an earlier period that paid for this one, and those of this one not again [D14.236, D14.339]', async () => {
  const { subscriptionId, price } = await sold();
  await pause(on.context, callOf(scope), subscriptionId);
  on.at(half);
  await resume(on.context, callOf(scope), subscriptionId, false);
  const { invoice } = await read(subscriptionId);
  expect(invoice).toMatchObject({ totalCents: 1_500, periodStart: new Date(half) });
  // A credit paid the other half of 30.00: 22.50 are kept.
  on.peers.refunded.set(invoice.paymentIntentId ?? '', 750);
  await changeTo(subscriptionId, price, 'always_invoice');
  expect((await read(subscriptionId)).invoice.totalCents).toBe(6_000 - 2_250);
  // 30.00 and 37.50 were paid, and 7.50 refunded.
  await changeTo(subscriptionId, on.peers.price({ unitAmountCents: 0 }), 'create_prorations');
  expect(await pendingOf(subscriptionId)).toEqual([-Math.floor((6_000 * 6_000) / 6_750)]);
});

it('counts what is left of a credit of an earlier period, also on a later invoice of this one [D14.332]', async () => {
  const items = [{ interval: 'year', unitAmountCents: 36_500, quantity: 1 }];
  const { subscriptionId } = await sell(on, scope, { items, receivedCents: 36_500 });
  // Forty days are left of a year. A month costs 30.00.
  on.at('2027-02-20T00:00:00.000Z');
  await changeTo(subscriptionId, on.peers.price(), 'create_prorations');
  expect([(await read(subscriptionId)).invoice.totalCents, await pendingOf(subscriptionId)]).toEqual([0, [-1_000]]);
  // Half of a month of 28 days: 15.00 are credited and 45.00 charged, and the rest of the year pays 10.00 of it.
  on.at('2027-03-06T00:00:00.000Z');
  await changeTo(subscriptionId, on.peers.price({ unitAmountCents: 9_000 }), 'always_invoice');
  const { invoice } = await read(subscriptionId);
  expect([invoice.totalCents, await pendingOf(subscriptionId)]).toEqual([2_000, []]);
  // 30.00, 10.00 and 20.00 were paid, and 10.00 refunded.
  on.peers.refunded.set(invoice.paymentIntentId ?? '', 1_000);
  await changeTo(subscriptionId, on.peers.price({ unitAmountCents: 0 }), 'create_prorations');
  expect(await pendingOf(subscriptionId)).toEqual([-Math.floor((4_500 * 5_000) / 6_000)]);
});

it('counts money once that a credit moved to another period at the time at which both began [D14.332]', async () => {
  const { subscriptionId, sessionId } = await sold();
  const yearly = (unitAmountCents: number) => on.peers.price({ unitAmountCents, recurring: { interval: 'year' } });
  await changeTo(subscriptionId, yearly(30_000), 'create_prorations');
  expect((await read(subscriptionId)).invoice.totalCents).toBe(27_000);
  // 30.00 and 270.00 were paid, and the 30.00 refunded.
  on.peers.refunded.set(sessionId, 3_000);
  await changeTo(subscriptionId, yearly(0), 'create_prorations');
  expect(await pendingOf(subscriptionId)).toEqual([-27_000]);
});

it('credits nothing of what disputes took: of the session, and with a refund of a renewal [D14.236]', async () => {
  const { subscriptionId, sessionId, price } = await sold();
  on.peers.disputed.set(sessionId, 3_000);
  on.at(half);
  await changeTo(subscriptionId, price, 'create_prorations');
  expect(await pendingOf(subscriptionId)).toEqual([3_000]);

  const renewed = await sold();
  await runAt(may);
  const { invoice } = await read(renewed.subscriptionId);
  // Of 30.00, 6.00 were refunded and a dispute took 15.00: 9.00 are kept, and half of the period is left.
  on.peers.refunded.set(invoice.paymentIntentId ?? '', 600);
  on.peers.disputed.set(invoice.paymentIntentId ?? '', 1_500);
  on.at(new Date((invoice.periodStart.getTime() + invoice.periodEnd.getTime()) / 2));
  await changeTo(renewed.subscriptionId, renewed.price, 'create_prorations');
  expect(await pendingOf(renewed.subscriptionId)).toEqual([-450, 3_000]);
});

it.each([
  ['the plan was refunded', [3_000, 0], 0, []],
  ['the device was refunded', [0, 10_000], 0, [-1_500]],
  ['half of each was refunded, and a dispute holds half of the rest', [1_500, 5_000], 3_250, [-375]],
])(
  'of a session that sold a device once, credits unused time if %s [D14.236, D14.332]',
  async (_what, lines, disputed, credits) => {
    const { subscriptionId, sessionId } = await sell(on, scope, { onceCents: 10_000 });
    on.peers.payments.refundedLines.set(sessionId, lines);
    on.peers.refunded.set(sessionId, (lines[0] ?? 0) + (lines[1] ?? 0));
    on.peers.disputed.set(sessionId, disputed);
    on.at(half);
    await changeTo(subscriptionId, on.peers.price({ unitAmountCents: 0 }), 'create_prorations');
    expect(await pendingOf(subscriptionId)).toEqual(credits);
  },
);

it('prices no change while checkout does not say what was refunded [D14.236]', async () => {
  const { subscriptionId, price } = await sold();
  on.at(half);
  const { checkout } = on.context;
  const getSession = async () => {
    throw new Failure('service_unavailable');
  };
  const context = { ...on.context, checkout: { ...checkout, getSession } as unknown as typeof checkout };
  const refused = { code: 'service_unavailable' };
  await expect(changeTo(subscriptionId, price, 'create_prorations', context)).rejects.toMatchObject(refused);
  expect(await pendingOf(subscriptionId)).toEqual([]);
  // Without a proration nothing needs to be known of it.
  await changeTo(subscriptionId, price, 'none', context);
});

it('refuses to prorate or refund a period of a hundred invoices, and takes the items without [D14.236, D14.330]', async () => {
  const { subscriptionId: id, price } = await sold();
  const invoices = (count: number, from: number) =>
    on.test.admin(
      `insert into billing.invoices (account_id, test_mode, id, number, subscription_id, customer_id, checkout_session_id, status, total_cents,
         amount_paid_cents, period_start, period_end, finalized_at, paid_at, metadata, created_at, collection_method, billing_reason)
       select account_id, test_mode, id || n, number + 1000 + n, subscription_id, customer_id, checkout_session_id, status, 0, 0, period_start,
         period_end, finalized_at, paid_at, metadata, created_at, collection_method, 'subscription_update'
       from billing.invoices cross join generate_series($2::int, $2::int + $3::int - 1) n where subscription_id = $1 and number < 1000`,
      [id, from, count],
    );
  on.at(half);
  await invoices(98, 0);
  await changeTo(id, on.peers.price({ unitAmountCents: 4_000 }), 'create_prorations');
  await invoices(1, 98);
  await expect(changeTo(id, price, 'create_prorations')).rejects.toMatchObject({
    status: 422,
    violations: [
      {
        ...{ loc: ['body', 'subscription', 'proration_behavior'], type: 'value_error' },
        msg: 'This period has too many invoices. Send none, or wait for the next renewal',
      },
    ],
  });
  expect(await changeTo(id, price, 'none')).toMatchObject({ items: [{ priceId: price }] });
  // What remains of so many payments is not looked at for a refund either.
  for (const refund of ['prorated', 'full'] as const) {
    const asked = { atPeriodEnd: false, refund, refundAmountCents: null };
    await expect(cancelSubscription(on.context, scope, id, asked)).rejects.toMatchObject({
      status: 422,
      violations: [
        {
          ...{ loc: ['body', 'subscription', 'refund'], type: 'value_error' },
          msg: 'This period has too many invoices for this refund. Send custom with an amount',
        },
      ],
    });
  }
  // Nor is one of it credited to another period: the one that was paid goes on.
  await update(id, { prorationBehavior: 'create_prorations' });
  await pause(on.context, callOf(scope), id);
  await expect(resume(on.context, callOf(scope), id, false)).rejects.toMatchObject({
    ...{ status: 422, violations: [{ loc: ['body', 'subscription', 'billing_cycle_anchor'], type: 'value_error' }] },
  });
  expect(await resume(on.context, callOf(scope), id, true)).toMatchObject({ status: 'active' });
});

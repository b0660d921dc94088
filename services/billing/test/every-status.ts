import { readFileSync } from 'node:fs';
import { fromBinary } from '@bufbuild/protobuf';
import { failureTable, isFailureCode } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { cents } from '@eligo/values';
import { expect, it } from 'vitest';
import { cancelSubscription } from '../src/actions/cancel-subscription.ts';
import { createSubscription, type NewSubscription } from '../src/actions/create-subscription.ts';
import { pause, resume } from '../src/actions/pause-and-resume.ts';
import { payInvoice } from '../src/actions/pay-invoice.ts';
import { payInvoiceOnPage } from '../src/actions/pay-invoice-on-page.ts';
import { resendReceipts } from '../src/actions/resend-receipts.ts';
import { retryWithUpdatedCard } from '../src/actions/retry-with-updated-card.ts';
import { type SubscriptionUpdate, updateSubscription } from '../src/actions/update-subscription.ts';
import { voidInvoice } from '../src/actions/void-invoice.ts';
import type { Cancellation } from '../src/domain/cancellation.ts';
import { type SubscriptionStatus, subscriptionStates } from '../src/domain/subscription-states.ts';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { findInvoice } from '../src/store/invoices.ts';
import { pendingProrations } from '../src/store/prorations.ts';
import { findSubscription } from '../src/store/subscriptions.ts';
import { callOf, type Fixture, sell, someScope, start } from './fixture.ts';

/** A subscription that was brought to a status by what happens to subscriptions. */
interface Brought {
  readonly scope: Scope;
  readonly id: string;
  readonly customerId: string;
  readonly card: string;
}

type ByStatus = Readonly<Record<SubscriptionStatus, Brought>>;

type Ask = (of: Brought & { readonly invoiceId: string }, on: Fixture) => Promise<unknown>;

/** When the calls are made: in the middle of a period, after the last try of one account and before the second try of another one. */
const now = '2026-05-02T12:00:00.000Z';
const later = (days: number) => new Date(Date.parse(now) + days * 86_400_000);

const update =
  (change: Partial<SubscriptionUpdate> | ((of: Brought, on: Fixture) => Partial<SubscriptionUpdate>)): Ask =>
  (of, on) =>
    updateSubscription(on.context, callOf(of.scope), of.id, {
      ...{ discount: { couponId: null, promoCode: null }, clearsDiscounts: false },
      ...(typeof change === 'function' ? change(of, on) : change),
    });

const otherItems = (prorationBehavior?: string, interval = 'month') =>
  update((_of, on) => ({
    items: [{ priceId: on.peers.price({ unitAmountCents: 9_000, recurring: { interval } }), quantity: 1 }],
    ...(prorationBehavior === undefined ? {} : { prorationBehavior }),
  }));

const cancel =
  (asked: Partial<Cancellation>): Ask =>
  ({ scope, id }, on) =>
    cancelSubscription(on.context, scope, id, {
      atPeriodEnd: false,
      refund: 'none',
      refundAmountCents: null,
      ...asked,
    });

const pay =
  (behavior: 'pays' | 'insufficient_funds'): Ask =>
  ({ scope, customerId, invoiceId }, on) =>
    payInvoice(on.context, callOf(scope), invoiceId, on.peers.cardOf(customerId, true, behavior));

const itsTimeEnds = 'its period, trial, 23 hours or last try ends';
const itsTimeEndsDeleted = 'the same, and its customer was deleted';

// The calls of the table in decisions 14.262, by the text of its first column.
const calls: Readonly<Record<string, Ask>> = {
  '`PATCH` without a change': update({}),
  '`PATCH` `metadata`': update({ metadata: { plan: 'gold' } }),
  '`PATCH` `default_payment_method`, which pays': update((of, on) => ({
    defaultPaymentMethodId: on.peers.cardOf(of.customerId, true),
  })),
  '`PATCH` `default_payment_method`, which is declined': update((of, on) => ({
    defaultPaymentMethodId: on.peers.cardOf(of.customerId, true, 'insufficient_funds'),
  })),
  '`PATCH` `cancel_at_period_end`': update({ cancelAtPeriodEnd: true }),
  '`PATCH` `cancel_at`': update({ cancelAt: later(2) }),
  '`PATCH` `cancel_at` in the past': update({ cancelAt: later(-1) }),
  '`PATCH` `coupon`': update((_of, on) => ({
    discount: { couponId: on.peers.coupon({ percentOffBasisPoints: 1_000, duration: 'forever' }), promoCode: null },
  })),
  '`PATCH` `trial_end`, later': update({ trialEnd: later(40) }),
  '`PATCH` `trial_end` `now`': update({ trialEnd: 'now' }),
  '`PATCH` `proration_behavior`': update({ prorationBehavior: 'always_invoice' }),
  '`PATCH` `items` with `always_invoice`': otherItems('always_invoice'),
  '`PATCH` `items` with `create_prorations`': otherItems('create_prorations'),
  '`PATCH` `items` with `none`': otherItems('none'),
  '`PATCH` `items` alone': otherItems(),
  '`PATCH` `items` of another interval': otherItems('create_prorations', 'year'),
  '`POST` `/pause`': ({ scope, id }, on) => pause(on.context, callOf(scope), id),
  '`POST` `/resume`': ({ scope, id }, on) => resume(on.context, callOf(scope), id, false),
  '`POST` `/resume`, the anchor stays': ({ scope, id }, on) => resume(on.context, callOf(scope), id, true),
  '`DELETE`': cancel({}),
  '`DELETE` with `refund` `full`': cancel({ refund: 'full' }),
  '`DELETE` with `refund` `prorated`': cancel({ refund: 'prorated' }),
  '`DELETE` with `refund` `custom`': cancel({ refund: 'custom', refundAmountCents: cents(100) }),
  '`DELETE` with `refund` `custom` without an amount': cancel({ refund: 'custom' }),
  '`DELETE` with `cancel_at_period_end`': cancel({ atPeriodEnd: true }),
  '`DELETE` with `cancel_at_period_end` and a refund': cancel({ atPeriodEnd: true, refund: 'full' }),
  'its latest invoice: `/pay` with a card that pays': pay('pays'),
  'its latest invoice: `/pay` with a card that is declined': pay('insufficient_funds'),
  'its latest invoice: `/void`': ({ scope, invoiceId }, on) => voidInvoice(on.context, callOf(scope), invoiceId),
  'the page of its latest invoice, with a card that pays': async ({ scope, invoiceId }, on) => {
    const cards = [{ processorPaymentMethodId: on.peers.typed('pays'), slot: 'health' }] as const;
    await payInvoiceOnPage(on.context, callOf(scope), invoiceId, cards);
  },
  '`POST` `/receipts/resend`': ({ scope, id }, on) => resendReceipts(on.context, scope, id),
  'the network replaces its card': async ({ scope, card }, on) => {
    on.peers.behave(card, 'pays');
    await withTx(on.database, scope, (tx) => retryWithUpdatedCard(on.context, tx, scope, card));
    while (await runDueSubscriptions(on.context));
  },
  [itsTimeEnds]: () => Promise.resolve(),
  [itsTimeEndsDeleted]: async ({ customerId }, on) => on.peers.deleteCustomer(customerId),
};

// After these calls, the days of the schedule of an account by default pass, and then the ends of a period and of a trial.
const letTimePass: ReadonlySet<string> = new Set([itsTimeEnds, itsTimeEndsDeleted]);

async function passTime(on: Fixture): Promise<void> {
  for (const days of [1, 1.5, 3.5, 5.5, 31, 62]) {
    on.at(later(days));
    while (await runDueSubscriptions(on.context));
  }
}

/** Brings a subscription to each status for each call, in steps that all of them share. */
async function bringAll(on: Fixture, rows: number): Promise<ByStatus[]> {
  const [byDefault, staysUnpaid, oneTry] = [someScope(), someScope(), someScope()];
  for (const [scope, end] of [
    [staysUnpaid, 'unpaid'],
    [oneTry, 'canceled'],
  ] as const) {
    await on.test.admin(
      `insert into billing.dunning_settings (account_id, test_mode, retry_days, ends_with, updated_at)
       values ($1, true, '{1}', $2, now())`,
      [scope.accountId, end],
    );
  }
  const soldIn = async (scope: Scope, parts: Parameters<typeof sell>[2] = {}): Promise<Brought> => {
    const { subscriptionId, customerId, card } = await sell(on, scope, parts);
    return { scope, id: subscriptionId, customerId, card };
  };
  const declines = () => ({ card: on.peers.card(true, 'insufficient_funds') });
  const incomplete = async (): Promise<Brought> => {
    const customerId = on.peers.customer();
    const card = on.peers.cardOf(customerId, true, 'insufficient_funds');
    const asked: NewSubscription = {
      ...{ customerId, items: [{ priceId: on.peers.price(), quantity: 1 }], defaultPaymentMethodId: card },
      ...{ discount: { couponId: null, promoCode: null }, trialEnd: null, trialDays: null, metadata: {} },
      ...{ missingPaymentMethod: null, cancelAt: null, cancelAtPeriodEnd: false, backupPaymentMethodId: null },
      prorationBehavior: null,
    };
    const { subscriptionId: id } = await createSubscription(on.context, callOf(byDefault), asked, undefined);
    return { scope: byDefault, id, customerId, card };
  };
  const each = <Made>(make: () => Promise<Made>) => Promise.all(Array.from({ length: rows }, make));
  const at = async (time: string) => {
    on.at(time);
    while (await runDueSubscriptions(on.context));
  };
  on.at(start);
  const active = await each(() => soldIn(byDefault));
  const paused = await each(() => soldIn(byDefault));
  const trialing = await each(() => soldIn(byDefault, { trialDays: 60 }));
  const pastDue = await each(() => soldIn(byDefault, declines()));
  const unpaid = await each(() => soldIn(staysUnpaid, declines()));
  const canceled = await each(() => soldIn(oneTry, declines()));
  await at('2026-05-01T00:00:00.000Z');
  const expired = await each(incomplete);
  await at('2026-05-02T00:00:00.000Z');
  on.at(now);
  const waiting = await each(incomplete);
  for (const { scope, id } of paused) await pause(on.context, callOf(scope), id);
  return Array.from({ length: rows }, (_, row) => {
    const of = (list: readonly Brought[]): Brought => {
      const one = list[row];
      if (one === undefined) throw new Error('no such row');
      return one;
    };
    return {
      ...{ incomplete: of(waiting), incomplete_expired: of(expired), trialing: of(trialing), active: of(active) },
      ...{ past_due: of(pastDue), unpaid: of(unpaid), paused: of(paused), canceled: of(canceled) },
    };
  });
}

interface Row {
  readonly call: string;
  /** What each status answers, by its name. */
  readonly cells: Readonly<Record<string, string>>;
}

/** The table of decisions 14.262. */
function tableOfDecision(): readonly Row[] {
  const text = readFileSync(new URL('../../../docs/spec/decisions.md', import.meta.url), 'utf8');
  const item = /^262\. .*?(?=^\d+\. )/ms.exec(`${text}\n0. `)?.[0] ?? '';
  const [head = [], , ...rows] = item
    .split('\n')
    .filter((line) => line.trim().startsWith('|'))
    .map((line) =>
      line
        .trim()
        .slice(1, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
  const statuses = head.slice(1).map((name) => name.replaceAll('`', ''));
  return rows.map(([call = '', ...cells]) => ({
    call,
    cells: Object.fromEntries(statuses.map((status, place) => [status, cells[place] ?? ''])),
  }));
}

/** Tests that each call does in each status what the decision says, on the fixture of a test file. */
export function everyStatusTests(machineOf: () => Fixture): void {
  const table = tableOfDecision();
  // Those that let time pass bring their own, before there are others whose time would pass.
  const [passing, atOnce] = [true, false].map((passes) => table.filter(({ call }) => letTimePass.has(call) === passes));
  let brought: Promise<ByStatus[]> | undefined;

  it('the table has every status and every call', () => {
    expect(table.map(({ call }) => call)).toEqual(Object.keys(calls));
    const statuses = [...subscriptionStates.states].sort();
    for (const { cells } of table) expect(Object.keys(cells).sort()).toEqual(statuses);
  });

  it.each(passing ?? [])('$call: each status does what the table says', async ({ call, cells }) => {
    const on = machineOf();
    const [row] = await bringAll(on, 1);
    expect(await answersOf(on, row, call)).toEqual(cells);
  });

  it.each((atOnce ?? []).map((row, place) => ({ ...row, place })))(
    '$call: each status does what the table says',
    async ({ call, cells, place }) => {
      const on = machineOf();
      brought ??= bringAll(on, atOnce?.length ?? 0);
      expect(await answersOf(on, (await brought)[place], call)).toEqual(cells);
    },
  );

  it('every move of the table of states has happened here, and no other one, each with its event [STATE-1, D14.289]', async () => {
    const on = machineOf();
    on.at(start);
    for (const missingPaymentMethod of ['pause', 'create_invoice', 'cancel']) {
      await sell(on, someScope(), { card: null, trialDays: 3, missingPaymentMethod });
    }
    on.at('2026-04-04T00:00:00.000Z');
    while (await runDueSubscriptions(on.context));
    const { states } = subscriptionStates;
    const moves = states.flatMap((from) => states.map((to) => [from, to] as const));
    const allowed = moves.flatMap(([from, to]) => (subscriptionStates.canMove(from, to) ? [`${from} → ${to}`] : []));
    expect([...(await movesTold(on))].sort()).toEqual(allowed.sort());
  });
}

/** The moves that the events of all subscriptions tell of. */
async function movesTold({ test }: Fixture): Promise<Set<string>> {
  const rows = await test.admin<{ payload: Buffer }>(
    "select payload from billing.outbox where type like 'customer.subscription.%' order by event_id",
  );
  const last = new Map<string, string>();
  const moves = new Set<string>();
  for (const { payload } of rows) {
    const { object } = fromBinary(EventSchema, payload);
    if (object.case !== 'subscription') continue;
    const { subscriptionId, status } = object.value;
    const before = last.get(subscriptionId);
    if (before !== undefined && before !== status) moves.add(`${before} → ${status}`);
    last.set(subscriptionId, status);
  }
  return moves;
}

/** What a call does in each status. */
async function answersOf(on: Fixture, row: ByStatus | undefined, call: string): Promise<Record<string, string>> {
  const ask = calls[call];
  if (row === undefined || ask === undefined) throw new Error(`No call ${call}`);
  const asked: [string, Brought, State, string | undefined][] = [];
  for (const [status, of] of Object.entries(row)) {
    on.at(now);
    const before = await stateOf(on, of);
    expect(before.subscription.status).toBe(status);
    asked.push([status, of, before, await codeOf(ask({ ...of, invoiceId: before.latest.id }, on))]);
  }
  if (letTimePass.has(call)) await passTime(on);
  const answers: Record<string, string> = {};
  for (const [status, of, before, code] of asked) {
    answers[status] = answerOf(before, await stateOf(on, of, before.latest.id), code);
  }
  return answers;
}

async function codeOf(asked: Promise<unknown>): Promise<string | undefined> {
  return asked.then(
    () => undefined,
    (error: { code: string; violations?: { type: string }[] }) => error.violations?.[0]?.type ?? error.code,
  );
}

/**
 * What a call did: its refusal, after which all is as before; or what has become of the subscription, and of its invoices and its money. A change of the status has its event.
 */
function answerOf(before: State, after: State, code: string | undefined): string {
  const answer = code === undefined ? [] : [`${isFailureCode(code) ? failureTable[code].status : 422} \`${code}\``];
  if (code !== undefined && code !== 'card_declined') {
    expect(after).toEqual(before);
    return answer.join();
  }
  const { subscription, latest, events } = after;
  const moved = subscription.status !== before.subscription.status;
  const told = `customer.subscription.${subscription.status === 'canceled' ? 'deleted' : 'updated'}`;
  if (moved) expect(events.slice(before.events.length).map(({ type }) => type)).toContain(told);
  const refunds = events.flatMap(({ object }) => (object.case === 'refundRequested' ? [object.value.amountCents] : []));
  return [
    ...answer,
    moved ? `\`${subscription.status}\`` : 'stays',
    ...(latest.status === before.latest.status ? [] : [`invoice \`${latest.status}\``]),
    ...(subscription.latestInvoiceId === latest.id ? [] : ['invoiced']),
    ...(after.pending > before.pending ? ['pending'] : []),
    ...refunds.map((amount) => `refunds ${(Number(amount) / 100).toFixed(2)}`),
  ].join(', ');
}

type State = Awaited<ReturnType<typeof stateOf>>;

async function stateOf({ database, test }: Fixture, { scope, id }: Brought, invoiceId?: string) {
  const subscription = await findSubscription(database, scope, id);
  const latest = await findInvoice(database, scope, invoiceId ?? subscription?.latestInvoiceId ?? '');
  if (subscription === undefined || latest === undefined) throw new Error('no subscription or invoice');
  const pending = (await pendingProrations(database, scope, id)).length;
  const rows = await test.admin<{ payload: Buffer }>(
    'select payload from billing.outbox where aggregate_id = $1 order by event_id',
    [id],
  );
  return { subscription, latest, pending, events: rows.map(({ payload }) => fromBinary(EventSchema, payload)) };
}

import { readFileSync } from 'node:fs';
import { fromBinary } from '@bufbuild/protobuf';
import { failureTable, isFailureCode } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { expect, it } from 'vitest';
import { createSubscription, type NewSubscription } from '../src/actions/create-subscription.ts';
import { pause } from '../src/actions/pause-and-resume.ts';
import { type SubscriptionStatus, subscriptionStates } from '../src/domain/subscription-states.ts';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { findInvoice } from '../src/store/invoices.ts';
import { pendingProrations } from '../src/store/prorations.ts';
import { findSubscription } from '../src/store/subscriptions.ts';
import { type Brought, calls, later, letTimePass, now } from './every-status-calls.ts';
import { withoutRow } from './every-status-rows.ts';
import { callOf, type Fixture, sell, someScope, start } from './fixture.ts';

type ByStatus = Readonly<Record<SubscriptionStatus, Brought>>;

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
    const items = [{ quantity: 1 }, { quantity: 1 }];
    const { subscriptionId, customerId, card, priceIds } = await sell(on, scope, { items, ...parts });
    return { scope, id: subscriptionId, customerId, card, priceIds };
  };
  const declines = () => ({ card: on.peers.card(true, 'insufficient_funds') });
  const incomplete = async (): Promise<Brought> => {
    const customerId = on.peers.customer();
    const card = on.peers.cardOf(customerId, true, 'insufficient_funds');
    const priceIds = [1, 2].map(() => on.peers.price({ unitAmountCents: 1_500 }));
    const asked: NewSubscription = {
      ...{ customerId, items: priceIds.map((priceId) => ({ priceId, quantity: 1 })), defaultPaymentMethodId: card },
      ...{ discount: { couponId: null, promoCode: null }, trialEnd: null, trialDays: null, metadata: {} },
      ...{ missingPaymentMethod: null, cancelAt: null, cancelAtPeriodEnd: false, backupPaymentMethodId: null },
      prorationBehavior: null,
    };
    const { subscriptionId: id } = await createSubscription(on.context, callOf(byDefault), asked, undefined);
    return { scope: byDefault, id, customerId, card, priceIds };
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
  const item = text.split('\n- **14.262** ')[1]?.split('\n- **')[0] ?? '';
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

  it('the table has every status, and every call, field and command that changes subscriptions or their invoices', () => {
    const rows = table.map(({ call }) => call);
    expect(rows).toEqual(Object.keys(calls));
    expect(withoutRow(rows)).toEqual([]);
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

import { setTimeout as pause } from 'node:timers/promises';
import { type Database, unscoped } from '@eligo/postgres';
import type { BalanceTransactionFacts, NotNow, ProcessorPort, Processors, Rejected, Unknown } from '@eligo/processor';
import type { ProcessorName } from '@eligo/values';
import type { Fault } from './check-books.ts';

/** What was compared with the processors. */
export interface ProcessorCheck {
  readonly faults: Fault[];
  /** The accounts at processors that were asked, and the movements that they listed. */
  readonly accounts: number;
  readonly movements: number;
}

/** From which day on, in UTC; without one each account's list from behind the last day that was compared. */
export interface ProcessorCheckRange {
  readonly from?: string | undefined;
}

const mostFaults = 1_000;
// A quiet account's month takes one call. A month that is compared is noted, and not read again after a break.
const windowDays = 31;
// What ended so long ago is listed whole.
const settledAfterMs = 3_600_000;
const dayMs = 86_400_000;
const feedsAtOnce = 500;
const mostTries = 5;
const longestPauseMs = 10_000;

/**
 * Compares the movements that are stored with those that each processor lists now, to the cent, and the ledger's balance with the sandbox's. Reads the lists one
 * call after the other, oldest month first; notes each whole day that agrees with its sums, so that the next check reads only what is newer. Holds a page of the list
 * at a time. The caller's role is not bound by row-level security.
 */
export async function checkProcessor(
  database: Database,
  processors: Processors,
  { from }: ProcessorCheckRange = {},
): Promise<ProcessorCheck> {
  const faults: Fault[] = [];
  let [accounts, movements] = [0, 0];
  let after: Feed | undefined;
  do {
    const feeds: Feed[] = await database.rows(selectFeeds, null, [
      ...(after ? keyOf(after) : ['', false, 'sandbox', '']),
      feedsAtOnce,
    ]);
    for (const feed of feeds) {
      movements += await checkFeed(database, processors, feed, from, (fault) => {
        if (faults.length < mostFaults) faults.push(fault);
      });
      accounts += 1;
      if (faults.length >= mostFaults) return { faults, accounts, movements };
    }
    after = feeds.length < feedsAtOnce ? undefined : feeds.at(-1);
  } while (after !== undefined);
  return { faults, accounts, movements };
}

interface Feed {
  readonly account_id: string;
  readonly test_mode: boolean;
  readonly processor: ProcessorName;
  readonly processor_account: string;
  readonly begins_at: Date;
  /** The processor's time: what was listed before it is stored. */
  readonly read_from: Date;
  readonly checked_until: Date | null;
}

type Tell = (fault: Fault) => void;

// How many movements its processor listed.
async function checkFeed(
  database: Database,
  processors: Processors,
  feed: Feed,
  from: string | undefined,
  tell: Tell,
): Promise<number> {
  const found = (fault: string, state: Fault['state'], id: string, detail: string) =>
    tell({ state, fault, account_id: feed.account_id, test_mode: feed.test_mode, id, detail });
  const unasked = (why: string) => found('processor_not_compared', 'unsettled', feed.processor_account, why);
  const scope = { accountId: feed.account_id, testMode: feed.test_mode };
  const port = processors.findAt(scope, { processor: feed.processor, account: feed.processor_account });
  if (port === undefined) {
    unasked(`${feed.processor} is not configured here`);
    return 0;
  }
  const begins = Math.floor(feed.begins_at.getTime() / 1_000) * 1_000;
  const compared = feed.checked_until?.getTime() ?? begins;
  const asked = from === undefined ? compared : Date.parse(from);
  let movements = 0;
  let agrees = true;
  const now = Date.now();
  for (let start = Math.max(begins, asked); start < now; ) {
    const end = Math.floor(start / dayMs) * dayMs + windowDays * dayMs;
    const outcome = await compareWindow(database, port, feed, { start, end }, (fault, state, id, detail) => {
      agrees = false;
      found(fault, state, id, detail);
    });
    if (outcome.kind !== 'compared') {
      unasked(outcome.kind === 'rejected' ? `the processor answers ${outcome.code}` : 'the processor does not answer');
      return movements;
    }
    for (const { count } of outcome.days.values()) movements += count;
    if (!agrees) return movements;
    const settled = Math.min(end, feed.read_from.getTime(), now - settledAfterMs);
    // The next check goes on behind the last day that is noted, so none is noted behind days that nobody has compared.
    if (asked <= compared) {
      await noteDays(database, feed, outcome.days, { start, end: Math.floor(settled / dayMs) * dayMs });
    }
    start = end;
  }
  await compareBalance(database, port, feed, found);
  return movements;
}

interface Window {
  readonly start: number;
  readonly end: number;
}

/** What the processor lists of a day. */
interface Day {
  count: number;
  amount: number;
  fee: number;
  net: number;
}

type Found = (fault: string, state: Fault['state'], id: string, detail: string) => void;

// Newest first: each flush is of whole seconds, so that movements of one second are never compared in halves.
async function compareWindow(
  database: Database,
  port: ProcessorPort,
  feed: Feed,
  { start, end }: Window,
  found: Found,
): Promise<{ kind: 'compared'; days: Map<number, Day> } | Rejected | NotNow | Unknown> {
  const days = new Map<number, Day>();
  let listed: BalanceTransactionFacts[] = [];
  let upTo = end;
  let after: string | undefined;
  for (;;) {
    const query = { from: new Date(start), before: new Date(end), after };
    const page = await patiently(() => port.listBalanceTransactions(query));
    if (page.kind !== 'page') return page;
    const last = page.transactions.at(-1);
    listed.push(...page.transactions);
    const isLast = !page.hasMore || last === undefined;
    const downTo = isLast ? start : last.createdAt.getTime() + 1_000;
    const whole = listed.filter(({ createdAt }) => createdAt.getTime() >= downTo);
    listed = listed.filter(({ createdAt }) => createdAt.getTime() < downTo);
    for (const facts of whole) addTo(days, facts);
    if (downTo < upTo) await compareMovements(database, feed, whole, { start: downTo, end: upTo }, found);
    upTo = Math.min(upTo, downTo);
    if (isLast) return { kind: 'compared', days };
    after = last.balanceTransactionId;
  }
}

function addTo(days: Map<number, Day>, { createdAt, amountCents, feeCents, netCents }: BalanceTransactionFacts): void {
  const at = Math.floor(createdAt.getTime() / dayMs) * dayMs;
  const day = days.get(at) ?? { count: 0, amount: 0, fee: 0, net: 0 };
  days.set(at, day);
  day.count += 1;
  day.amount += amountCents;
  day.fee += feeCents;
  day.net += netCents;
}

async function compareMovements(
  database: Database,
  feed: Feed,
  listed: readonly BalanceTransactionFacts[],
  { start, end }: Window,
  found: Found,
): Promise<void> {
  // More than these are more faults than are told.
  const most = listed.length + mostFaults;
  const rows = await database.rows(selectStored, null, [...keyOf(feed), new Date(start), new Date(end), most]);
  const stored = new Map(rows.map((row) => [row.id, row]));
  for (const facts of listed) {
    const id = facts.balanceTransactionId;
    const row = stored.get(id);
    stored.delete(id);
    const says = said(facts.type, facts.amountCents, facts.feeCents, facts.netCents);
    if (row === undefined) {
      const isLate = facts.createdAt < feed.read_from;
      found('movement_not_stored', isLate ? 'wrong' : 'unsettled', id, `the processor lists ${says}`);
      continue;
    }
    const keeps = said(row.type, row.amount_cents, row.fee_cents, row.net_cents);
    if (keeps !== says)
      found('movement_stored_differently', 'wrong', id, `the processor lists ${says}, stored ${keeps}`);
  }
  for (const row of stored.values()) {
    const keeps = said(row.type, row.amount_cents, row.fee_cents, row.net_cents);
    found('movement_not_listed', 'wrong', row.id, `stored ${keeps}, the processor does not list it`);
  }
}

function said(type: string, amount: number | bigint, fee: number | bigint, net: number | bigint): string {
  return `${type} of ${amount}, fee ${fee}, net ${net}`;
}

// Days without movements are noted by the last one.
async function noteDays(database: Database, feed: Feed, days: Map<number, Day>, { start, end }: Window): Promise<void> {
  if (end <= start) return;
  const noted = new Map([...days].filter(([at]) => at < end));
  const last = end - dayMs;
  if (!noted.has(last)) noted.set(last, { count: 0, amount: 0, fee: 0, net: 0 });
  const all = [...noted];
  await database.execute(insertDays, null, [
    ...keyOf(feed),
    feed.begins_at,
    all.map(([at]) => new Date(at).toISOString().slice(0, 10)),
    all.map(([, { count }]) => count),
    all.map(([, { amount }]) => amount),
    all.map(([, { fee }]) => fee),
    all.map(([, { net }]) => net),
  ]);
}

// A real account may have had money before Eligo, which the ledger does not know; the sandbox's accounts have none.
async function compareBalance(database: Database, port: ProcessorPort, feed: Feed, found: Found): Promise<void> {
  if (feed.processor !== 'sandbox') return;
  const balance = await patiently(() => port.retrieveBalance());
  if (balance.kind !== 'found') return;
  const ledger = Number((await database.row(selectBalance, null, keyOf(feed)))?.cents ?? 0);
  if (ledger === balance.amountCents) return;
  const detail = `the processor has ${balance.amountCents}, the ledger ${ledger}`;
  // What the processor moved a moment ago is not read yet: then the two looks of the check differ.
  found('processor_balance_differs', 'wrong', feed.processor_account, detail);
}

// A rate limit or a lost answer ends no check of a year.
async function patiently<Outcome extends { kind: string }>(
  ask: () => Promise<Outcome | NotNow | Unknown>,
): Promise<Outcome | NotNow | Unknown> {
  for (let tries = 1; ; tries++) {
    const outcome = await ask();
    if (outcome.kind !== 'not_now' && outcome.kind !== 'unknown') return outcome;
    if (tries === mostTries) return outcome;
    const waitMs = 'retryAfterMs' in outcome ? Number(outcome.retryAfterMs) : 250 * 2 ** tries;
    await pause(Math.min(waitMs, longestPauseMs));
  }
}

function keyOf(feed: Feed): unknown[] {
  return [feed.account_id, feed.test_mode, feed.processor, feed.processor_account];
}

const selectFeeds = unscoped<Feed>(
  'processor_check.feeds',
  `select f.account_id, f.test_mode, f.processor::text as processor, f.processor_account, f.begins_at, f.read_from,
          (select (max(c.day) + 1)::timestamp at time zone 'UTC' from refunds.checked_days c
            where c.account_id = f.account_id and c.test_mode = f.test_mode and c.processor = f.processor
              and c.processor_account = f.processor_account and c.begins_at <= f.begins_at) as checked_until
     from refunds.ledger_feeds f
    where (f.account_id, f.test_mode, f.processor, f.processor_account) > ($1, $2::boolean, $3::refunds.processor, $4)
    order by f.account_id, f.test_mode, f.processor, f.processor_account limit $5`,
);
const selectStored = unscoped<{ id: string; type: string; amount_cents: bigint; fee_cents: bigint; net_cents: bigint }>(
  'processor_check.stored',
  `select id, type, amount_cents, fee_cents, net_cents from refunds.processor_transactions
    where account_id = $1 and test_mode = $2 and processor = $3 and processor_account = $4 and created_at >= $5 and created_at < $6
    order by created_at desc limit $7`,
);
const insertDays = unscoped<never>(
  'processor_check.note',
  `insert into refunds.checked_days as c (account_id, test_mode, processor, processor_account, begins_at, day, movements, amount_cents, fee_cents, net_cents)
   select $1, $2, $3, $4, $5, d.* from unnest($6::date[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[]) d
   on conflict (account_id, test_mode, processor, processor_account, day) do update
     set begins_at = excluded.begins_at, movements = excluded.movements, amount_cents = excluded.amount_cents, fee_cents = excluded.fee_cents,
         net_cents = excluded.net_cents, checked_at = clock_timestamp()`,
);
const selectBalance = unscoped<{ cents: bigint }>(
  'processor_check.balance',
  `select coalesce(sum(amount_cents), 0)::bigint as cents from refunds.ledger_totals
    where account_id = $1 and test_mode = $2 and processor = $3 and processor_account = $4 and grain = 'month' and ledger_account = 'processor_balance'`,
);

import { type Database, unscoped } from '@eligo/postgres';
import type { ProcessorPort, Processors } from '@eligo/processor';
import { compareBalance } from './compare-balance.ts';
import { type ComparedWindow, compareWindow, type Day, type Window } from './compare-window.ts';
import { allFeeds, beginningOf, dayMs, type Feed, keyOf } from './feeds.ts';
import { type Fault, Findings, type LookAgain } from './findings.ts';

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

// A quiet account's month takes one call. A month that is compared is noted, and not read again after a break.
const windowDays = 31;
// What ended so long ago is listed whole.
const settledAfterMs = 3_600_000;
// Three years of days that differ; the next check goes on.
const mostDaysAgain = 1_000;

/** Compares once. */
export async function checkProcessor(
  database: Database,
  processors: Processors,
  range: ProcessorCheckRange = {},
): Promise<ProcessorCheck> {
  const findings = new Findings();
  const compared = await lookAtProcessor(database, processors, findings, range);
  return { ...compared, faults: findings.faults };
}

/**
 * Compares the movements that are stored with those that each processor lists now, to the cent, and the ledger's balance with the sandbox's. Reads the lists one
 * call after the other, oldest month first; notes each whole day with its sums and whether it agrees, so that the next check reads only what is newer and
 * what differed. Holds a page of the list at a time. The caller's role is not bound by row-level security.
 */
export async function lookAtProcessor(
  database: Database,
  processors: Processors,
  findings: Findings,
  { from, onWindow }: ProcessorCheckRange & { readonly onWindow?: (of: string, movements: number) => void } = {},
): Promise<Omit<ProcessorCheck, 'faults'>> {
  let [accounts, movements] = [0, 0];
  for await (const feed of allFeeds(database)) {
    const scope = { accountId: feed.account_id, testMode: feed.test_mode };
    const port = processors.findAt(scope, { processor: feed.processor, account: feed.processor_account });
    accounts += 1;
    if (port === undefined) {
      findings.add([notCompared(feed, `${feed.processor} is not configured here`, beginOf(feed, from))]);
      continue;
    }
    for await (const { listed } of compareFeed(database, port, feed, from, findings)) {
      movements += listed;
      onWindow?.(`the list of ${feed.processor_account}`, listed);
    }
  }
  return { accounts, movements };
}

// What was compared before, or the day that was asked for; never before the first money.
function beginOf(feed: Feed, from: string | undefined): number {
  const compared = feed.checked_until?.getTime() ?? beginningOf(feed);
  return Math.max(beginningOf(feed), from === undefined ? compared : Date.parse(from));
}

async function* compareFeed(
  database: Database,
  port: ProcessorPort,
  feed: Feed,
  from: string | undefined,
  findings: Findings,
): AsyncGenerator<{ listed: number }> {
  // Of the second look: a processor that no longer answers is not asked for each of a thousand days.
  let ended: Fault | undefined;
  const unlessEnded = (look: LookAgain) => async () => (ended === undefined ? await look() : [ended]);
  for await (const { window, isNoted } of windowsOf(database, feed, from)) {
    const compared = await compareWindow(database, port, feed, window);
    const again = async () => {
      const { faults, endedBy } = await compareWindow(database, port, feed, window);
      ended = endedBy && notCompared(feed, reasonOf(endedBy), window.start);
      return ended === undefined ? faults : [ended];
    };
    findings.add(compared.faults, unlessEnded(again));
    yield { listed: countOf(compared) };
    if (compared.endedBy !== undefined) {
      findings.add([notCompared(feed, reasonOf(compared.endedBy), window.start)]);
      return;
    }
    if (isNoted) await noteDays(database, feed, compared, window);
  }
  if (feed.processor !== 'sandbox') return;
  const look = () => compareBalance(database, port, feed);
  findings.add(await look(), unlessEnded(look));
}

function reasonOf(endedBy: NonNullable<ComparedWindow['endedBy']>): string {
  return endedBy.kind === 'rejected' ? `the processor answers ${endedBy.code}` : 'the processor does not answer';
}

function countOf({ days }: ComparedWindow): number {
  return [...days.values()].reduce((sum, { count }) => sum + count, 0);
}

// The next check goes on behind the last day that is noted, so none is noted behind days that were never compared.
async function* windowsOf(
  database: Database,
  feed: Feed,
  from: string | undefined,
): AsyncGenerator<{ window: Window; isNoted: boolean }> {
  const start = beginOf(feed, from);
  const compared = feed.checked_until?.getTime() ?? beginningOf(feed);
  const again =
    from === undefined
      ? await database.rows(selectDiffering, null, [...keyOf(feed), feed.begins_at, mostDaysAgain])
      : [];
  for (const { day } of again) {
    const at = Date.parse(day);
    const window = { start: Math.max(at, beginningOf(feed)), end: at + dayMs };
    if (at < compared) yield { window, isNoted: true };
  }
  for (let at = start; at < Date.now(); ) {
    const end = Math.floor(at / dayMs) * dayMs + windowDays * dayMs;
    yield { window: { start: at, end }, isNoted: start <= compared };
    at = end;
  }
}

function notCompared(feed: Feed, why: string, start: number): Fault {
  const { account_id, test_mode, processor, processor_account: id } = feed;
  const balance = processor === 'sandbox' ? ', and the balance' : '';
  const detail = `from ${new Date(start).toISOString().slice(0, 10)} on${balance}: ${why}`;
  return { state: 'not_compared', fault: 'processor_not_compared', account_id, test_mode, id, detail };
}

// Days without movements are noted by the last one. What is not settled yet is compared again by the next check.
async function noteDays(
  database: Database,
  feed: Feed,
  { days, differing }: ComparedWindow,
  { start, end }: Window,
): Promise<void> {
  const settled = Math.min(end, feed.read_from.getTime(), Date.now() - settledAfterMs);
  const until = Math.floor(settled / dayMs) * dayMs;
  if (until <= start) return;
  const nothing: Day = { count: 0, amount: 0, fee: 0, net: 0 };
  const noted = [...new Set([...days.keys(), ...differing, until - dayMs])].filter((at) => at < until);
  const dayAt = (at: number) => days.get(at) ?? nothing;
  await database.execute(insertDays, null, [
    ...keyOf(feed),
    feed.begins_at,
    noted.map((at) => new Date(at).toISOString().slice(0, 10)),
    noted.map((at) => dayAt(at).count),
    noted.map((at) => dayAt(at).amount),
    noted.map((at) => dayAt(at).fee),
    noted.map((at) => dayAt(at).net),
    noted.map((at) => differing.has(at)),
  ]);
}

const selectDiffering = unscoped<{ day: string }>(
  'processor_check.differing',
  `select c.day::text as day from refunds.checked_days c
    where c.account_id = $1 and c.test_mode = $2 and c.processor = $3 and c.processor_account = $4 and c.begins_at <= $5 and c.differs
    order by c.day limit $6`,
);
const insertDays = unscoped<never>(
  'processor_check.note',
  `insert into refunds.checked_days as c (account_id, test_mode, processor, processor_account, begins_at, day, movements, amount_cents, fee_cents, net_cents, differs)
   select $1, $2, $3, $4, $5, d.* from unnest($6::date[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[], $11::boolean[]) d
   on conflict (account_id, test_mode, processor, processor_account, day) do update
     set begins_at = excluded.begins_at, movements = excluded.movements, amount_cents = excluded.amount_cents, fee_cents = excluded.fee_cents,
         net_cents = excluded.net_cents, differs = excluded.differs, checked_at = clock_timestamp()`,
);

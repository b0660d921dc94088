import { type Database, unscoped } from '@eligo/postgres';
import type { BalanceTransactionFacts, NotNow, ProcessorPort, Rejected, Unknown } from '@eligo/processor';
import { dayMs, type Feed, keyOf } from './feeds.ts';
import { type Fault, Findings, mostFaults } from './findings.ts';
import { patiently } from './patiently.ts';

/** From a time on and before another, in milliseconds. */
export interface Window {
  readonly start: number;
  readonly end: number;
}

/** What the processor lists of a UTC day. */
export interface Day {
  count: number;
  amount: number;
  fee: number;
  net: number;
}

/** A window of the processor's list, compared with what is stored. */
export interface ComparedWindow {
  /** At most 1,001, of which the last says that there are more; the wrong ones first. */
  readonly faults: Fault[];
  readonly days: ReadonlyMap<number, Day>;
  /** The days with a fault, and those with more than could be read. */
  readonly differing: ReadonlySet<number>;
  /** Why the processor did not list all of the window; undefined if it did. */
  readonly endedBy: Rejected | NotNow | Unknown | undefined;
}

const enough = mostFaults + 1;

type Found = (at: Date, state: Fault['state'], fault: string, id: string, detail: string) => void;

/** Compares a window by identifier, type, amount, fee and net, in both directions. Holds a page of the list at a time. */
export async function compareWindow(
  database: Database,
  port: ProcessorPort,
  feed: Feed,
  window: Window,
): Promise<ComparedWindow> {
  const findings = new Findings(enough);
  const days = new Map<number, Day>();
  const differing = new Set<number>();
  const found: Found = (at, state, fault, id, detail) => {
    differing.add(dayOf(at));
    const { account_id, test_mode } = feed;
    findings.add([{ state, fault, account_id, test_mode, id, detail }]);
  };
  const endedBy = await listWindow(port, window, async (listed, part) => {
    for (const facts of listed) addTo(days, facts);
    const unreadBefore = await compareMovements(database, feed, listed, part, found);
    for (let at = dayOf(new Date(part.start)); at < unreadBefore; at += dayMs) differing.add(at);
  });
  return { faults: findings.faults, days, differing, endedBy };
}

// Newest first: each part is of whole seconds, so that movements of one second are never compared in halves.
async function listWindow(
  port: ProcessorPort,
  { start, end }: Window,
  take: (listed: readonly BalanceTransactionFacts[], part: Window) => Promise<void>,
): Promise<Rejected | NotNow | Unknown | undefined> {
  let listed: BalanceTransactionFacts[] = [];
  let upTo = end;
  for (let after: string | undefined; ; ) {
    const query = { from: new Date(start), before: new Date(end), after };
    const page = await patiently(() => port.listBalanceTransactions(query));
    if (page.kind !== 'page') return page;
    listed.push(...page.transactions);
    const oldest = page.transactions.at(-1)?.createdAt.getTime();
    const isLast = !page.hasMore || page.lastId === undefined;
    const downTo = isLast ? start : Math.min(upTo, oldest === undefined ? upTo : oldest + 1_000);
    const whole = listed.filter(({ createdAt }) => createdAt.getTime() >= downTo);
    listed = listed.filter(({ createdAt }) => createdAt.getTime() < downTo);
    if (downTo < upTo) await take(whole, { start: downTo, end: upTo });
    upTo = downTo;
    if (isLast) return undefined;
    after = page.lastId;
  }
}

function dayOf(at: Date): number {
  return Math.floor(at.getTime() / dayMs) * dayMs;
}

function addTo(days: Map<number, Day>, { createdAt, amountCents, feeCents, netCents }: BalanceTransactionFacts): void {
  const at = dayOf(createdAt);
  const day = days.get(at) ?? { count: 0, amount: 0, fee: 0, net: 0 };
  days.set(at, day);
  day.count += 1;
  day.amount += amountCents;
  day.fee += feeCents;
  day.net += netCents;
}

// Answers before which time stored movements that are not listed were too many to read.
async function compareMovements(
  database: Database,
  feed: Feed,
  listed: readonly BalanceTransactionFacts[],
  { start, end }: Window,
  found: Found,
): Promise<number> {
  const ids = listed.map(({ balanceTransactionId }) => balanceTransactionId);
  const stored = new Map((await database.rows(selectListed, null, [...keyOf(feed), ids])).map((row) => [row.id, row]));
  for (const facts of listed) {
    const [id, at] = [facts.balanceTransactionId, facts.createdAt];
    const row = stored.get(id);
    const says = said(facts.type, facts.amountCents, facts.feeCents, facts.netCents);
    const keeps = row && said(row.type, row.amount_cents, row.fee_cents, row.net_cents);
    const isLate = at < feed.read_from;
    if (keeps === undefined)
      found(at, isLate ? 'wrong' : 'unsettled', 'movement_not_stored', id, `the processor lists ${says}`);
    else if (keeps !== says)
      found(at, 'wrong', 'movement_stored_differently', id, `the processor lists ${says}, stored ${keeps}`);
  }
  const more = await database.rows(selectNotListed, null, [
    ...keyOf(feed),
    ...[new Date(start), new Date(end), ids, enough],
  ]);
  for (const { id, created_at, ...row } of more) {
    const keeps = said(row.type, row.amount_cents, row.fee_cents, row.net_cents);
    found(created_at, 'wrong', 'movement_not_listed', id, `stored ${keeps}, the processor does not list it`);
  }
  return more.length < enough ? Number.NEGATIVE_INFINITY : (more.at(-1)?.created_at.getTime() ?? start);
}

function said(type: string, amount: number | bigint, fee: number | bigint, net: number | bigint): string {
  return `${type} of ${amount}, fee ${fee}, net ${net}`;
}

interface StoredMovement {
  readonly id: string;
  readonly type: string;
  readonly amount_cents: bigint;
  readonly fee_cents: bigint;
  readonly net_cents: bigint;
  readonly created_at: Date;
}

const ofFeed = `select id, type, amount_cents, fee_cents, net_cents, created_at from refunds.processor_transactions
  where account_id = $1 and test_mode = $2 and processor = $3 and processor_account = $4`;
const selectListed = unscoped<StoredMovement>('processor_check.listed', `${ofFeed} and id = any($5::text[])`);
const selectNotListed = unscoped<StoredMovement>(
  'processor_check.not_listed',
  `${ofFeed} and created_at >= $5 and created_at < $6 and id <> all ($7::text[]) order by created_at desc limit $8`,
);

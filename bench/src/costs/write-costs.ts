import type pg from 'pg';
import { loadEach } from '../load-each.ts';
import {
  captureSessions,
  confirmSessions,
  createTexts,
  heldSessions,
  openPages,
  openSessions,
  type Place,
  paidSessions,
  payOnPages,
  refundSessions,
} from '../operations/sessions.ts';
import type { LoadResult } from '../processes/generator.ts';
import { quiet } from '../quiet.ts';
import { type ProcessorTime, usedBetween } from './processor-time.ts';
import { type CountedStatement, countStatements } from './statements.ts';
import type { SentOperation } from './write-operations.ts';
import { written } from './written.ts';

/** A running stack whose writes are measured. */
export interface Measured {
  readonly postgres: pg.Pool;
  processorTime(): ProcessorTime;
  readonly place: Place;
}

/** What one round did and took, the work on its events included. */
export interface RoundCosts {
  readonly count: number;
  readonly perSecond: number;
  /** As many by the time until the last of their events was dealt with. */
  readonly sustainedPerSecond: number;
  /** Milliseconds of processor time of each group of processes, for one operation. */
  readonly processorMs: ProcessorTime;
  readonly walBytes: number;
  /** Transactions that wrote. */
  readonly transactions: number;
}

/** The statements of one operation. */
export interface StatementCosts {
  /** Sent by Eligo. */
  readonly sent: number;
  /** Carried out by triggers, foreign keys and functions. */
  readonly nested: number;
  /** Each by its share of one operation, the one that takes longest first. */
  readonly list: readonly CountedStatement[];
}

/** What an operation's own services send for one of it in transactions that write, up to the answer. */
export interface OwnCosts {
  readonly statements: number;
  readonly transactions: number;
  readonly roundTrips: number;
}

/** What one write costs, its events included. */
export interface WriteCosts extends Omit<RoundCosts, 'count'> {
  /** Statements that Eligo sends, and those that triggers, foreign keys and functions carry out. */
  readonly statements: { readonly sent: number; readonly nested: number };
  /** Undefined of a write that no request begins. */
  readonly own: OwnCosts | undefined;
}

/** Sends this many operations over each connection, and waits until all that follows from them is done. */
export async function measureRound(
  measured: Measured,
  operation: SentOperation,
  perConnection: number,
): Promise<RoundCosts> {
  const { postgres } = measured;
  const sessions = await prepare(measured, operation, perConnection);
  await quiet(postgres);
  return measureWork(
    measured,
    () => send(measured, operation, sessions, perConnection),
    () => quiet(postgres),
  );
}

/** What work takes, and what follows from it until `settle`, which answers when the last of it was dealt with. */
export async function measureWork(
  measured: Pick<Measured, 'postgres' | 'processorTime'>,
  work: () => Promise<{ readonly count: number; readonly perSecond: number }>,
  settle: () => Promise<number> = async () => Date.now(),
): Promise<RoundCosts> {
  const { postgres } = measured;
  const [usedBefore, writtenBefore] = [measured.processorTime(), await written(postgres)];
  const startedAt = Date.now();
  const { count, perSecond } = await work();
  const lastAt = Math.max(await settle(), startedAt + (count * 1_000) / perSecond);
  const used = usedBetween(usedBefore, measured.processorTime());
  const writtenAfter = await written(postgres);
  return {
    count,
    perSecond,
    sustainedPerSecond: (count * 1_000) / (lastAt - startedAt),
    processorMs: Object.fromEntries(Object.entries(used).map(([name, ms]) => [name, ms / count])),
    walBytes: (writtenAfter.walBytes - writtenBefore.walBytes) / count,
    transactions: (writtenAfter.transactions - writtenBefore.transactions) / count,
  };
}

/** Counts the statements of as many operations, those that their events cause included. */
export async function measureStatements(
  measured: Measured,
  operation: SentOperation,
  perConnection: number,
): Promise<StatementCosts> {
  const { postgres } = measured;
  const sessions = await prepare(measured, operation, perConnection);
  await quiet(postgres);
  return statementsOf(postgres, async () => {
    const { count } = await send(measured, operation, sessions, perConnection);
    await quiet(postgres);
    return count;
  });
}

/** Counts the statements of one of so many operations as `work` has done. */
export async function statementsOf(postgres: pg.Pool, work: () => Promise<number>): Promise<StatementCosts> {
  let count = 0;
  const counted = await countStatements(postgres, async () => {
    count = await work();
  });
  const list = counted.map((one) => ({ ...one, calls: one.calls / count, totalMs: one.totalMs / count }));
  const calls = (isSent: boolean) =>
    list.filter((one) => one.isSent === isSent).reduce((sum, one) => sum + one.calls, 0);
  return { sent: calls(true), nested: calls(false), list };
}

async function prepare({ place }: Measured, operation: SentOperation, each: number): Promise<string[][]> {
  if (operation === 'create-session' || operation === 'create-session-keyed') return [];
  if (operation in slotsOf) return openPages(place, each);
  if (operation === 'capture') return heldSessions(place, each);
  return operation === 'confirm' ? openSessions(place, each) : paidSessions(place, each);
}

function send({ place }: Measured, operation: SentOperation, sessions: string[][], each: number): Promise<LoadResult> {
  if (operation === 'create-session') return loadEach(place, createTexts(place, each));
  if (operation === 'create-session-keyed') return loadEach(place, createTexts(place, each, { keyed: true }));
  if (operation === 'page-pay' || operation === 'page-pay-two') return pay(place, sessions, slotsOf[operation]);
  if (operation === 'capture') return captureSessions(place, sessions);
  return operation === 'confirm' ? confirmSessions(place, sessions) : refundSessions(place, sessions);
}

// A payment with all its cards is one operation.
async function pay(
  place: Place,
  pages: string[][],
  slots: (typeof slotsOf)[keyof typeof slotsOf],
): Promise<LoadResult> {
  const paid = await payOnPages(place, pages, slots);
  return { ...paid, perSecond: paid.perSecond / slots.length };
}

const slotsOf = { 'page-pay': ['other'], 'page-pay-two': ['health', 'other'] } as const;

import { setTimeout as pause } from 'node:timers/promises';
import { type ProcessorTime, usedBetween } from '../costs/processor-time.ts';
import { type CountedStatement, countStatements } from '../costs/statements.ts';
import { written } from '../costs/written.ts';
import { loadEach } from '../load-each.ts';
import {
  confirmSessions,
  createTexts,
  openSessions,
  type Place,
  paidSessions,
  refundSessions,
} from '../operations/sessions.ts';
import type { LoadResult } from '../processes/generator.ts';
import { quiet } from '../quiet.ts';
import type { ComparedOperation } from './compared.ts';
import type { Installation } from './installation.ts';

/** One of the two that are compared. */
export interface ComparedSide {
  readonly installation: Installation;
  readonly place: Place;
}

/** What one round of one side did and took, the work on its events included. */
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

/** Sends this many operations over each connection, and waits until all that follows from them is done. */
export async function measureRound(
  side: ComparedSide,
  operation: ComparedOperation,
  perConnection: number,
): Promise<RoundCosts> {
  const { installation } = side;
  const { postgres } = installation;
  const sessions = await prepare(side, operation, perConnection);
  await quiet(postgres);
  const [usedBefore, writtenBefore] = [installation.processorTime(), await written(postgres)];
  const startedAt = Date.now();
  const { count, perSecond } = await send(side, operation, sessions, perConnection);
  const lastAt = Math.max(await quiet(postgres), startedAt + (count * 1_000) / perSecond);
  const used = usedBetween(usedBefore, installation.processorTime());
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
  side: ComparedSide,
  operation: ComparedOperation,
  perConnection: number,
): Promise<StatementCosts> {
  const { postgres } = side.installation;
  const sessions = await prepare(side, operation, perConnection);
  await quiet(postgres);
  let count = 0;
  const counted = await countStatements(postgres, async () => {
    ({ count } = await send(side, operation, sessions, perConnection));
    await quiet(postgres);
  });
  const list = counted.map((one) => ({ ...one, calls: one.calls / count, totalMs: one.totalMs / count }));
  const calls = (isSent: boolean) =>
    list.filter((one) => one.isSent === isSent).reduce((sum, one) => sum + one.calls, 0);
  return { sent: calls(true), nested: calls(false), list };
}

/** Lets a side that stood still finish what became due meanwhile. */
export async function thawed<Result>(installation: Installation, work: () => Promise<Result>): Promise<Result> {
  installation.thaw();
  try {
    await pause(catchUpMs);
    return await work();
  } finally {
    installation.freeze();
  }
}

/** Timers that passed while it stood still fire at once; none of them does more than a few statements. */
const catchUpMs = 200;

async function prepare({ place }: ComparedSide, operation: ComparedOperation, each: number): Promise<string[][]> {
  if (operation === 'create-session') return [];
  return operation === 'confirm' ? openSessions(place, each) : paidSessions(place, each);
}

function send(
  { place }: ComparedSide,
  operation: ComparedOperation,
  sessions: string[][],
  each: number,
): Promise<LoadResult> {
  if (operation === 'create-session') return loadEach(place, createTexts(place, each));
  return operation === 'confirm' ? confirmSessions(place, sessions) : refundSessions(place, sessions);
}

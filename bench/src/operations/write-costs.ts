import pg from 'pg';
import { type Bench, placeOf } from '../bench.ts';
import { type ProcessorTime, processorTime } from '../costs/processor-time.ts';
import { stackGroups } from '../costs/stack-groups.ts';
import { measureRound, measureStatements, measureWork, statementsOf, type WriteCosts } from '../costs/write-costs.ts';
import type { RecordedOperation } from '../costs/write-operations.ts';
import { readRoundTrips } from '../recording/transactions.ts';
import type { Round } from '../rounds.ts';

/** Measures a round of the write, and counts the statements of another. */
export function writeCosts(bench: Bench, operation: RecordedOperation): Promise<WriteCosts> {
  const { sizes } = bench;
  return whileCounted(bench, async (counted) => {
    const measured = { ...counted, place: await placeOf(bench) };
    const perConnection = Math.ceil(sizes.perRound / sizes.connections);
    const { count: _, ...costs } = await measureRound(measured, operation, perConnection);
    const { sent, nested } = await measureStatements(measured, operation, Math.min(perConnection, 8));
    const recording = bench.recordings()[operation];
    if (recording === undefined) throw new Error(`${operation} was not recorded`);
    return { ...costs, statements: { sent, nested }, own: readRoundTrips(recording.transactions) };
  });
}

/** The same of a write that goes on by itself: a round watches it for a while, and another one counts its statements. */
export function costsOfRunning(bench: Bench, round: () => Promise<Round>): Promise<WriteCosts> {
  return whileCounted(bench, async (counted) => {
    const { count: _, ...costs } = await measureWork(counted, round);
    const { sent, nested } = await statementsOf(counted.postgres, async () => (await round()).count);
    return { ...costs, statements: { sent, nested }, own: undefined };
  });
}

async function whileCounted<Result>(
  { stack, processorPid }: Bench,
  work: (counted: { postgres: pg.Pool; processorTime: () => ProcessorTime }) => Promise<Result>,
): Promise<Result> {
  const postgres = new pg.Pool({ connectionString: stack.file.postgres, max: 1, idleTimeoutMillis: 0 });
  try {
    const { rows } = await postgres.query<{ pid: number }>('select pg_backend_pid() as pid');
    const without = new Set(rows.map(({ pid }) => pid));
    const tops = stackGroups(stack.pid, stack.file, processorPid);
    return await work({ postgres, processorTime: () => processorTime(tops, without) });
  } finally {
    await postgres.end();
  }
}

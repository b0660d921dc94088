import pg from 'pg';
import { type Bench, placeOf } from '../bench.ts';
import { processorTime } from '../costs/processor-time.ts';
import { stackGroups } from '../costs/stack-groups.ts';
import { measureRound, measureStatements, type WriteCosts } from '../costs/write-costs.ts';
import type { WriteOperation } from '../costs/write-operations.ts';
import { readRoundTrips } from '../recording/transactions.ts';

/** Measures a round of the write, and counts the statements of another. */
export async function writeCosts(bench: Bench, operation: WriteOperation): Promise<WriteCosts> {
  const { stack, sizes } = bench;
  const postgres = new pg.Pool({ connectionString: stack.file.postgres, max: 1, idleTimeoutMillis: 0 });
  try {
    const { rows } = await postgres.query<{ pid: number }>('select pg_backend_pid() as pid');
    const without = new Set(rows.map(({ pid }) => pid));
    const tops = stackGroups(stack.pid, stack.file, bench.processorPid);
    const measured = { postgres, processorTime: () => processorTime(tops, without), place: await placeOf(bench) };
    const perConnection = Math.ceil(sizes.perRound / sizes.connections);
    const { count: _, ...costs } = await measureRound(measured, operation, perConnection);
    const { sent, nested } = await measureStatements(measured, operation, Math.min(perConnection, 8));
    return { ...costs, statements: { sent, nested }, own: readRoundTrips(bench.recordings()[operation].transactions) };
  } finally {
    await postgres.end();
  }
}

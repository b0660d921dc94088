import { setTimeout as pause } from 'node:timers/promises';
import type { Installation } from '../compare/installation.ts';
import { track } from '../costs/statements.ts';
import { countedReads, type StatementRead } from './reads.ts';

/** What one run of each statement reads that a service sends by itself, jobs and relay alike, by their texts. */
export type BackgroundReads = ReadonlyMap<string, StatementRead>;

/**
 * Watches a stack that started with counting on. At its start each job runs once within moments, and each connection reads the catalog for its first plans;
 * so what is sent again in the five times as long that follow counts from there, without them. Not watched at all, it only stops counting.
 */
export async function backgroundReads({ postgres }: Installation, watchedMs: number): Promise<BackgroundReads> {
  await pause(watchedMs);
  const first = await countedReads(postgres);
  await postgres.query('select pg_stat_statements_reset()');
  await pause(5 * watchedMs);
  const again = await countedReads(postgres);
  await track(postgres, 'none');
  return new Map([...first, ...again].map(([text, read]) => [text, eachTime(read)]));
}

function eachTime({ role, calls, blocks, rows, ms, planMs }: StatementRead): StatementRead {
  return { role, calls: 1, blocks: blocks / calls, rows: rows / calls, ms: ms / calls, planMs: planMs / calls };
}

/**
 * Has the next start count from its beginning; this one does not begin to. A vacuum that happens to run during one row of one side would count for that
 * row alone, so none runs by itself.
 */
export async function countFromStart({ postgres }: Installation): Promise<void> {
  await postgres.query('alter system set autovacuum = off');
  await postgres.query(`alter system set pg_stat_statements.track = 'top'`);
  await postgres.query('select pg_stat_statements_reset()');
}

/** Vacuums on both sides, as autovacuum would by then, the tables of few rows that were written most: queues, keys, inboxes. */
export async function tidy(sides: readonly Installation[]): Promise<void> {
  const [written] = await Promise.all(sides.slice(-1).map((side) => whileThawed(side, writtenOf)));
  if (written === undefined || written.length === 0) return;
  for (const side of sides) {
    await whileThawed(side, async ({ postgres }) => {
      for (const table of written) await postgres.query(`vacuum ${table}`);
    });
  }
}

async function writtenOf({ postgres }: Installation): Promise<string[]> {
  const { rows } = await postgres.query<{ table: string }>(written);
  return rows.map(({ table }) => table);
}

const written = `
  select relid::regclass::text as table from pg_stat_user_tables
  where n_dead_tup > 1000 and pg_table_size(relid) < 32 * 1024 * 1024 and schemaname <> 'public'`;

/** Does the work while the installation's processes run, and stops their clocks again. */
export async function whileThawed<Result>(
  installation: Installation,
  work: (installation: Installation) => Promise<Result>,
): Promise<Result> {
  installation.thaw();
  try {
    // Every timer that came due in the meantime fires at once.
    await pause(afterThawMs);
    return await work(installation);
  } finally {
    installation.freeze();
  }
}

const afterThawMs = 50;

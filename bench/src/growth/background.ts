import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';
import type { Installation } from '../compare/installation.ts';
import { usedBetween } from '../costs/processor-time.ts';
import { ownTime } from '../costs/stack-groups.ts';

/** What was read of each table and its indexes, by the table's name with its schema. Every service has a schema of its own, and catalogs of Postgres are not in it. */
export type TableReads = ReadonlyMap<string, TableRead>;

export interface TableRead {
  /** Rows that were scanned, and entries of indexes that were returned. */
  readonly rows: number;
  /** In memory or not. */
  readonly blocks: number;
}

/** Milliseconds of processor time. */
export interface Cost {
  readonly postgresMs: number;
  readonly eligoMs: number;
}

/**
 * Waits until the stack has done what was due when it started: it then writes no more than an idle one. The jobs of an hour run at the start, so
 * what they find afterward does not depend on how the records were made.
 */
export async function workOffWhatIsDue({ name, postgres }: Installation, lookMs: number): Promise<void> {
  const deadline = performance.now() + workedOffWithinMs;
  const writtenSoFar = async () => {
    const { rows } = await postgres.query<{ rows: number }>(writtenRows);
    return rows[0]?.rows ?? 0;
  };
  let before = await writtenSoFar();
  while (performance.now() < deadline) {
    await pause(lookMs);
    const written = (await writtenSoFar()) - before;
    if (written <= (idleWritesPerSecond * lookMs) / 1_000) return;
    before += written;
  }
  throw new Error(`the ${name} account still has work that was due at the start after ten minutes`);
}

const workedOffWithinMs = 600_000;
// Leases, health and positions of streams. The smallest batch of a job has a hundred rows.
const idleWritesPerSecond = 20;

const writtenRows = `
  select coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0)::float as rows from pg_stat_user_tables where schemaname <> 'public'`;

/** Counts what tables and indexes are read for from here on, also after a restart. */
export async function countReadsFromHere(postgres: pg.Pool): Promise<void> {
  await postgres.query('select pg_stat_reset()');
}

/** What has been read since. */
export async function readsOfTables(postgres: pg.Pool): Promise<TableReads> {
  const { rows } = await postgres.query<TableRead & { table: string }>(tableReads);
  return new Map(rows.map(({ table, ...read }) => [table, read]));
}

// An index-only scan reads no row of the table, so entries of indexes are counted, and rows of a table only where no index led to them.
const tableReads = `
  select t.schemaname || '.' || t.relname as table,
    (t.seq_tup_read + coalesce((select sum(i.idx_tup_read) from pg_stat_user_indexes i where i.relid = t.relid), 0))::float as rows,
    (b.heap_blks_read + b.heap_blks_hit + coalesce(b.idx_blks_read + b.idx_blks_hit, 0)
      + coalesce(b.toast_blks_read + b.toast_blks_hit, 0))::float as blocks
  from pg_stat_user_tables t join pg_statio_user_tables b using (relid) where t.schemaname <> 'public'`;

/** The tables of which a service reads most more rows beside the large account than beside the small one, as lines. */
export function grownTables(small: TableReads, large: TableReads, most: number): string[] {
  const none = { rows: 0, blocks: 0 };
  return [...large]
    .map(([table, after]) => ({ table, after, before: small.get(table) ?? none }))
    .sort((one, other) => other.after.rows - other.before.rows - (one.after.rows - one.before.rows))
    .slice(0, most)
    .map(
      ({ table, before, after }) =>
        `${table}: rows ${before.rows}, ${after.rows}; blocks ${before.blocks}, ${after.blocks}`,
    );
}

/** What a stack takes each second while nobody asks for anything. */
export async function costOfIdleness(installation: Installation, watchedMs: number): Promise<Cost> {
  return whileThawed(installation, async () => {
    const before = installation.processorTime();
    const startedAt = performance.now();
    await pause(watchedMs);
    const used = usedBetween(before, installation.processorTime());
    const seconds = (performance.now() - startedAt) / 1_000;
    const eligoMs = ownTime(used).reduce((sum, [, ms]) => sum + ms, 0);
    return { postgresMs: (used.postgres ?? 0) / seconds, eligoMs: eligoMs / seconds };
  });
}

/** A vacuum that happens to run during one row of one side would count for that row alone, so from the next start on none runs by itself. */
export async function stopAutovacuum(postgres: pg.Pool): Promise<void> {
  await postgres.query('alter system set autovacuum = off');
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

import type pg from 'pg';

/** How far a server has come: the end of its log, and the next transaction that writes. */
export interface Written {
  readonly walBytes: number;
  readonly transactions: number;
}

/** Reads both at once. They are exact at any moment, where Postgres's own counters come seconds late. */
export async function written(postgres: pg.Pool): Promise<Written> {
  const { rows } = await postgres.query<{ wal_bytes: string; transactions: string }>(select);
  const [row] = rows;
  if (row === undefined) throw new Error('Postgres did not say where its log ends');
  return { walBytes: Number(row.wal_bytes), transactions: Number(row.transactions) };
}

const select = `
  select pg_current_wal_insert_lsn() - '0/0'::pg_lsn as wal_bytes, pg_snapshot_xmax(pg_current_snapshot())::text as transactions`;

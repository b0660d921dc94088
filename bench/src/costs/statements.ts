import type pg from 'pg';

/** One statement of all that were counted. */
export interface CountedStatement {
  readonly role: string;
  readonly text: string;
  readonly calls: number;
  /** Milliseconds that it ran for; what its triggers and functions did is part of it, planning is not. */
  readonly totalMs: number;
  /** Sent by a client, and not by a trigger or a function. */
  readonly isSent: boolean;
}

/** The setting that counts statements; a server takes it at its next start. */
export async function preloadCounting(postgres: pg.Pool): Promise<void> {
  await postgres.query(`alter system set shared_preload_libraries = 'pg_stat_statements'`);
  await postgres.query(`alter system set pg_stat_statements.track = 'none'`);
  await postgres.query('create extension if not exists pg_stat_statements');
}

/** Counts the statements that the server carries out during `work`. Nothing is counted in between, so that rounds do not pay for it. */
export async function countStatements(postgres: pg.Pool, work: () => Promise<void>): Promise<CountedStatement[]> {
  await tracked(postgres, 'all', work);
  const { rows } = await postgres.query<CountedStatement>(select);
  return rows;
}

/** Counts from nothing during `work`: statements that were sent, or those of functions and triggers as well. */
export async function tracked(postgres: pg.Pool, what: 'all' | 'top', work: () => Promise<void>): Promise<void> {
  await postgres.query('select pg_stat_statements_reset()');
  await track(postgres, what);
  try {
    await work();
  } finally {
    await track(postgres, 'none');
  }
}

/** Which statements are counted from now on. */
export async function track(postgres: pg.Pool, what: 'all' | 'top' | 'none'): Promise<void> {
  await postgres.query(`alter system set pg_stat_statements.track = '${what}'`);
  await postgres.query('select pg_reload_conf()');
}

// The bench itself is the superuser, as nobody of Eligo's is.
const select = `
  select r.rolname as role, s.query as text, s.calls::integer as calls, s.total_exec_time as "totalMs", s.toplevel as "isSent"
  from pg_stat_statements s join pg_roles r on r.oid = s.userid
  where not r.rolsuper order by s.total_exec_time desc`;

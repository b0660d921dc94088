import { setTimeout as pause } from 'node:timers/promises';
import type { Installation } from '../compare/installation.ts';

/** What an idle service's statements took, jobs and relay alike: blocks that they read, and milliseconds. */
export interface BackgroundCost {
  readonly blocks: number;
  readonly ms: number;
}

/** Starts the stack anew with counting on, and answers what each service's role did by itself: at its start each job runs once within moments. */
export async function backgroundCosts(
  start: () => Promise<Installation>,
  watchedMs: number,
): Promise<{ installation: Installation; costs: Map<string, BackgroundCost> }> {
  const installation = await start();
  const { postgres } = installation;
  await pause(watchedMs);
  const { rows } = await postgres.query<{ role: string; blocks: number; ms: number }>(select);
  await postgres.query(`alter system set pg_stat_statements.track = 'none'`);
  await postgres.query('select pg_reload_conf()');
  return { installation, costs: new Map(rows.map(({ role, blocks, ms }) => [role, { blocks, ms }])) };
}

/** Has the next start count from its beginning. */
export async function countFromStart({ postgres }: Installation): Promise<void> {
  await postgres.query(`alter system set pg_stat_statements.track = 'top'`);
  await postgres.query('select pg_stat_statements_reset()');
}

const select = `
  select r.rolname as role, sum(s.shared_blks_hit + s.shared_blks_read)::float as blocks, sum(s.total_exec_time)::float as ms
  from pg_stat_statements s join pg_roles r on r.oid = s.userid
  where not r.rolsuper and r.rolname not like '%owner' group by 1 order by 1`;

import { setTimeout as pause } from 'node:timers/promises';
import type { Installation } from '../compare/installation.ts';
import { track } from '../costs/statements.ts';

/**
 * The blocks that each service's role has read by itself, jobs and relay alike, in a stack that started with counting on: at its start each job runs
 * once within moments.
 */
export async function backgroundBlocks({ postgres }: Installation, watchedMs: number): Promise<Map<string, number>> {
  await pause(watchedMs);
  const { rows } = await postgres.query<{ role: string; blocks: number }>(select);
  await track(postgres, 'none');
  return new Map(rows.map(({ role, blocks }) => [role, blocks]));
}

/** Has the next start count from its beginning; this one does not begin to. */
export async function countFromStart({ postgres }: Installation): Promise<void> {
  await postgres.query(`alter system set pg_stat_statements.track = 'top'`);
  await postgres.query('select pg_stat_statements_reset()');
}

const select = `
  select r.rolname as role, sum(s.shared_blks_hit + s.shared_blks_read)::float as blocks
  from pg_stat_statements s join pg_roles r on r.oid = s.userid
  where not r.rolsuper and r.rolname not like '%owner' group by 1 order by 1`;

import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';

const withinMs = 120_000;

/** Nothing that a consumer has begun takes longer than this to show. */
const stillForMs = 300;

/**
 * Waits until every event has left and every consumer has dealt with what came: one round's work must not be done in the next. Answers when
 * the last of it was done, in milliseconds since 1970.
 */
export async function quiet(postgres: pg.Pool): Promise<number> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const { rows } = await postgres.query<{ is_quiet: boolean; last_at: Date | null }>(select);
    const [row] = rows;
    if (row?.is_quiet === true) return row.last_at?.getTime() ?? 0;
    if (performance.now() > deadline) throw new Error('events are still under way after two minutes');
    await pause(50);
  }
}

const producers = ['gateway', 'catalog', 'checkout', 'billing', 'refunds'] as const;
const consumers = ['catalog', 'checkout', 'billing', 'refunds', 'webhooks'] as const;

const lastAt = `greatest(${[
  ...producers.map((name) => `(select max(published_at) from ${name}.outbox where payload is not null)`),
  ...consumers.map((name) => `(select max(handled_at) from ${name}.inbox)`),
].join(', ')})`;

const isPublished = producers.map((name) => `not exists (select from ${name}.outbox_queue)`).join(' and ');

const select = `
  select ${isPublished} and coalesce(last_at < now() - interval '${stillForMs} ms', true) as is_quiet, last_at
  from (select ${lastAt} as last_at) as last`;

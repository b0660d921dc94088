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
  const select = await selectFor(postgres);
  for (;;) {
    const { rows } = await postgres.query<{ is_quiet: boolean; last_at: Date | null }>(select);
    const [row] = rows;
    if (row?.is_quiet === true) return row.last_at?.getTime() ?? 0;
    if (performance.now() > deadline) throw new Error('events are still under way after two minutes');
    await pause(50);
  }
}

/** Tells the relays of events that no commit of theirs has announced, for which they would look once in ten seconds. */
export async function wakeRelays(postgres: pg.Pool): Promise<void> {
  await postgres.query(`select pg_notify('eligo_outbox', service) from unnest($1::text[]) service`, [producers]);
}

const producers = ['gateway', 'catalog', 'checkout', 'billing', 'refunds'] as const;
const consumers = ['catalog', 'checkout', 'billing', 'refunds', 'webhooks'] as const;

const selects = new WeakMap<pg.Pool, string>();

// Comparisons measure other versions as well. Before they queued what is to be published, they marked the rows of the outbox.
async function selectFor(postgres: pg.Pool): Promise<string> {
  const known = selects.get(postgres);
  if (known !== undefined) return known;
  const { rows } = await postgres.query<{ queued: boolean }>(
    `select to_regclass('checkout.outbox_queue') is not null as queued`,
  );
  const made = selectOf(rows[0]?.queued === true ? queued : marked);
  selects.set(postgres, made);
  return made;
}

interface Outbox {
  waiting(name: string): string;
  lastAt(name: string): string;
}

const queued: Outbox = {
  waiting: (name) => `select from ${name}.outbox_queue`,
  lastAt: (name) => `select max(ended_at) from ${name}.outbox_positions`,
};

const marked: Outbox = {
  waiting: (name) => `select from ${name}.outbox where published_at is null and payload is not null`,
  lastAt: (name) => `select max(published_at) from ${name}.outbox where payload is not null`,
};

function selectOf(outbox: Outbox): string {
  const lastAt = [
    ...producers.map((name) => outbox.lastAt(name)),
    ...consumers.map((name) => `select max(handled_at) from ${name}.inbox`),
  ];
  return `
    select ${producers.map((name) => `not exists (${outbox.waiting(name)})`).join(' and ')}
      and coalesce(last_at < now() - interval '${stillForMs} ms', true) as is_quiet, last_at
    from (select greatest(${lastAt.map((one) => `(${one})`).join(', ')}) as last_at) as last`;
}

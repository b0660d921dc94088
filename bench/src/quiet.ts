import { setTimeout as pause } from 'node:timers/promises';
import type pg from 'pg';

const withinMs = 120_000;

/** Waits until every event has left and every consumer has dealt with what came: one round's work must not be done in the next. */
export async function quiet(postgres: pg.Pool): Promise<void> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const { rows } = await postgres.query<{ quiet: boolean }>(isQuiet);
    if (rows[0]?.quiet === true) return;
    if (performance.now() > deadline) throw new Error('events are still under way after two minutes');
    await pause(50);
  }
}

const producers = ['gateway', 'catalog', 'checkout', 'billing', 'refunds'] as const;
const consumers = ['catalog', 'checkout', 'billing', 'refunds', 'webhooks'] as const;

const isQuiet = `select ${[
  ...producers.map(
    (name) => `not exists (select from ${name}.outbox where published_at is null and payload is not null)`,
  ),
  ...consumers.map((name) => `not exists (select from ${name}.inbox where handled_at > now() - interval '300 ms')`),
].join(' and ')} as quiet`;

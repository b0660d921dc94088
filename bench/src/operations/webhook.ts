import { setTimeout as pause } from 'node:timers/promises';
import { make, text } from '@eligo/e2e';
import type { Bench } from '../bench.ts';
import { figures } from '../figures.ts';
import { requestText } from '../requests.ts';
import { type Compared, median } from '../rounds.ts';

/** From a change's transaction to the partner's server: the ninety-ninth percentile, at a steady rate of events. */
export async function webhook(bench: Bench): Promise<Compared> {
  const { stack, sizes, load, receiver } = bench;
  const api = stack.api();
  const url = `http://127.0.0.1:${await receiver.ask('open', null)}/hook`;
  const endpoint = await make(api, '/v1/webhooks', 'webhook', { url, events: ['customer.created'] });
  try {
    const body = { customer: { email: 'ada@example.com' } };
    const texts = [requestText('POST', '/v1/customers', stack.file.test_api_key, { body })];
    const p99: number[] = [];
    // The first round warms up.
    for (let round = 0; round <= sizes.rounds; round += 1) {
      const { count } = await load.ask('run', {
        port: stack.port,
        connections: sizes.connections,
        requests: { kind: 'shared', texts, seconds: sizes.seconds },
        perSecond: sizes.eventsPerSecond,
      });
      p99.push(await p99Ms(bench, count));
    }
    const ours = median(p99.slice(1));
    return { ratio: ours, ours, theirs: figures.webhook.goals[stack.topology] };
  } finally {
    await api.ok('DELETE', `/v1/webhooks/${text(endpoint, 'webhook_id')}`);
  }
}

async function p99Ms({ receiver, postgres }: Bench, count: number): Promise<number> {
  const received: (readonly [string, number])[] = [];
  const deadline = performance.now() + 30_000;
  while (received.length < count && performance.now() < deadline) {
    await pause(100);
    received.push(...(await receiver.ask('take', null)));
  }
  if (received.length < count) throw new Error(`of ${count} webhooks ${received.length} came within 30 seconds`);
  // The row's time is that of its transaction's beginning, on the same clock: the commit itself counts as well.
  const { rows } = await postgres.query<{ event_id: string; created_at: Date }>(
    'select event_id, created_at from checkout.outbox where event_id = any($1)',
    [received.map(([id]) => id)],
  );
  const writtenAt = new Map(rows.map((row) => [row.event_id, row.created_at.getTime()]));
  const latencies = received
    .map(([id, at]) => at - (writtenAt.get(id) ?? Number.NaN))
    .sort((one, other) => one - other);
  return latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN;
}

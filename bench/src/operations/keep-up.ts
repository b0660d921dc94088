import { setTimeout as pause } from 'node:timers/promises';
import { make, text } from '@eligo/e2e';
import { type Bench, placeOf } from '../bench.ts';
import { figures } from '../figures.ts';
import type { Compared } from '../rounds.ts';
import { confirmSessions, openSessions } from './sessions.ts';

/**
 * Confirms at the highest rate for a minute, with an endpoint that wants everything: from a change's transaction to the partner's server, the ninety-ninth
 * percentile. Fails when a webhook is lost or a confirm is refused.
 */
export async function keepUp(bench: Bench): Promise<Compared> {
  const { stack, sizes, receiver, postgres } = bench;
  const api = stack.api();
  await receiver.ask('take', null);
  const url = `http://127.0.0.1:${await receiver.ask('open', null)}/hook`;
  const place = await placeOf(bench);
  const open = (most: number) => openSessions(place, Math.ceil(most / sizes.connections));
  const { perSecond } = await confirmSessions(place, await open(sizes.perRound));
  let sessions = await open((perSecond * sizes.keepUpMs) / 1_000);
  const endpoint = await make(api, '/v1/webhooks', 'webhook', { url, events: ['*'] });
  try {
    const { rows } = await postgres.query<{ now: Date }>('select clock_timestamp() as now');
    const since = rows[0]?.now ?? new Date();
    for (let restMs = sizes.keepUpMs; ; sessions = await open(Math.max(sizes.perRound, (perSecond * restMs) / 1_000))) {
      const done = await confirmSessions(place, sessions);
      restMs -= (done.count * 1_000) / done.perSecond;
      if (restMs <= 0) break;
    }
    const latencies = await latenciesMs(bench, since);
    const ours = latencies[Math.floor(latencies.length * 0.99)] ?? Number.NaN;
    return { ratio: ours, ours, theirs: figures['keep-up'].goals[stack.topology] };
  } finally {
    await api.ok('DELETE', `/v1/webhooks/${text(endpoint, 'webhook_id')}`);
  }
}

async function latenciesMs({ receiver, postgres }: Bench, since: Date): Promise<number[]> {
  // The time of its transaction's beginning, on the same clock: the commit and the answer count as well.
  const { rows } = await postgres.query<{ event_id: string; created_at: Date }>(
    `select event_id, created_at from checkout.outbox where created_at >= $1 and type not like 'command.%'`,
    [since],
  );
  const receivedAt = new Map<string, number>();
  const deadline = performance.now() + 60_000;
  const isMissing = () => rows.filter(({ event_id }) => !receivedAt.has(event_id)).length;
  while (isMissing() > 0 && performance.now() < deadline) {
    await pause(100);
    for (const [id, at] of await receiver.ask('take', null)) if (!receivedAt.has(id)) receivedAt.set(id, at);
  }
  if (isMissing() > 0) throw new Error(`of ${rows.length} webhooks ${isMissing()} did not come within a minute`);
  return rows
    .map(({ event_id, created_at }) => (receivedAt.get(event_id) ?? Number.NaN) - created_at.getTime())
    .sort((one, other) => one - other);
}

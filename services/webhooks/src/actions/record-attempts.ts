import { type Database, type Scope, type Tx, withTx } from '@eligo/postgres';
import { type AttemptResult, isSuccess } from '../domain/delivery.ts';
import { type EndpointHealth, healthAfter, isGivenUp } from '../domain/health.ts';
import { recordAttempts as recordRows, releaseDeliveries } from '../store/deliveries.ts';
import { clearHealth, lockHealth, saveHealth } from '../store/endpoints.ts';
import { disableEndpoint } from './disable-endpoint.ts';

/** Attempts of one account that ended, and claims that are given back unused. */
export interface EndedWork {
  readonly results: readonly AttemptResult[];
  readonly released: readonly { deliveryId: string; epoch: number }[];
}

/**
 * Records what became of attempts, and what it says about their endpoints: one that answers is healthy, one that has failed too long or says
 * that it is gone is disabled. Endpoints that work are not written to. Returns the health of those that do not, by endpoint.
 */
export function recordAttempts(
  database: Database,
  scope: Scope,
  work: EndedWork,
  now: Date,
): Promise<ReadonlyMap<string, EndpointHealth>> {
  return withTx(
    database,
    scope,
    async (tx) => {
      const writes = [recordRows(tx, scope, work.results)];
      if (work.released.length > 0) writes.push(releaseDeliveries(tx, scope, work.released));
      await Promise.all(writes);
      return updateHealth(tx, scope, work.results, now);
    },
    { retrySerialization: 3 },
  );
}

async function updateHealth(
  tx: Tx,
  scope: Scope,
  results: readonly AttemptResult[],
  now: Date,
): Promise<ReadonlyMap<string, EndpointHealth>> {
  const byEndpoint = Map.groupBy(results, ({ webhookId }) => webhookId);
  const answering = [...byEndpoint].filter(([, own]) => own.some(isSuccess)).map(([id]) => id);
  const failing = [...byEndpoint.keys()].filter((id) => !answering.includes(id));
  const [known] = await Promise.all([
    failing.length > 0 ? lockHealth(tx, scope, failing.sort()) : new Map<string, EndpointHealth>(),
    answering.length > 0 ? clearHealth(tx, scope, answering) : undefined,
  ]);
  const changed = new Map<string, EndpointHealth>();
  for (const [webhookId, health] of known) {
    const own = byEndpoint.get(webhookId) ?? [];
    const unreachable = own.filter((result) => result.unreachable).length;
    const after = healthAfter(health, { succeeded: 0, unreachable, failed: own.length }, now);
    changed.set(webhookId, after);
    await saveHealth(tx, scope, webhookId, after);
    if (own.some(({ gone }) => gone)) await disableEndpoint(tx, scope, webhookId, 'the receiver answered 410', now);
    else if (isGivenUp(after, now)) {
      await disableEndpoint(tx, scope, webhookId, 'the receiver has not answered with success for five days', now);
    }
  }
  return changed;
}

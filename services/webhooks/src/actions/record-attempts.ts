import { type Database, type Scope, type Tx, withTx } from '@eligo/postgres';
import { type AttemptResult, isSuccess } from '../domain/delivery.ts';
import { type EndpointHealth, healthAfter, isGivenUp } from '../domain/health.ts';
import { recordAttempts as recordRows } from '../store/deliveries.ts';
import { clearHealth, lockHealth, saveHealth } from '../store/endpoints.ts';
import { releaseLanes } from '../store/lanes.ts';
import { disableEndpoint } from './disable-endpoint.ts';

/** Attempts of one account that ended, and lanes that the process has nothing more of in hand. */
export interface EndedWork {
  readonly results: readonly AttemptResult[];
  readonly freedLanes: readonly string[];
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
  owner: string,
): Promise<ReadonlyMap<string, EndpointHealth>> {
  return withTx(
    database,
    scope,
    async (tx) => {
      const [failing] = await Promise.all([
        updateHealth(tx, scope, work.results, now),
        recordRows(tx, scope, work.results),
        work.freedLanes.length > 0 ? releaseLanes(tx, scope, work.freedLanes, owner) : undefined,
      ]);
      return failing;
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
    const after = healthAfter(health, unreachable, now);
    changed.set(webhookId, after);
    await saveHealth(tx, scope, webhookId, after);
    if (own.some(({ gone }) => gone)) await disableEndpoint(tx, scope, webhookId, 'the receiver answered 410', now);
    else if (isGivenUp(after, now)) {
      await disableEndpoint(tx, scope, webhookId, 'the receiver has not answered with success for five days', now);
    }
  }
  return changed;
}

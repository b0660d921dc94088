import { type Database, type Scope, type Tx, withTx } from '@eligo/postgres';
import { type AttemptResult, isSuccess } from '../domain/delivery.ts';
import { type EndpointHealth, healthAfter, isGivenUp } from '../domain/health.ts';
import { recordAttempts as recordRows } from '../store/deliveries.ts';
import { lockHealth, saveHealth } from '../store/endpoints.ts';
import { releaseLanes } from '../store/lanes.ts';
import { disableEndpoint } from './disable-endpoint.ts';

/** Attempts of one account that ended, and lanes that the process has nothing more of in hand. */
export interface EndedWork {
  readonly results: readonly AttemptResult[];
  readonly freedLanes: readonly string[];
}

/** What else is known once attempts are recorded. */
export interface Recorded {
  /** The health of endpoints that do not answer. */
  readonly failing: ReadonlyMap<string, EndpointHealth>;
  /** Endpoints for which deliveries may wait: some of theirs were lost, or they answer again. */
  readonly waiting: readonly string[];
  /** Endpoints that are disabled now. */
  readonly disabled: readonly string[];
}

/**
 * Records what became of attempts, and what it says about their endpoints: one that answers is healthy, one that has failed too long or says
 * that it is gone is disabled, whatever else it answers. Endpoints that work are not written to. One that answers again has a backlog, of which only the probe was sent.
 */
export function recordAttempts(
  database: Database,
  scope: Scope,
  work: EndedWork,
  now: Date,
  owner: string,
): Promise<Recorded> {
  const byEndpoint = Map.groupBy(work.results, ({ webhookId }) => webhookId);
  const isAnswering = (own: readonly AttemptResult[]) => own.some(isSuccess) && !own.some(({ gone }) => gone);
  const answering = [...byEndpoint].filter(([, own]) => isAnswering(own)).map(([id]) => id);
  for (const webhookId of answering) byEndpoint.delete(webhookId);
  return withTx(
    database,
    scope,
    async (tx) => {
      const [{ failing, disabled }, recovered, waiting] = await Promise.all([
        byEndpoint.size > 0 ? updateHealth(tx, scope, byEndpoint, now) : noHealth,
        recordRows(tx, scope, work.results, answering),
        work.freedLanes.length > 0 ? releaseLanes(tx, scope, work.freedLanes, { owner, at: now }) : [],
      ]);
      return { failing, waiting: [...waiting, ...recovered], disabled };
    },
    { retrySerialization: 3 },
  );
}

const noHealth: Pick<Recorded, 'failing' | 'disabled'> = { failing: new Map(), disabled: [] };

async function updateHealth(
  tx: Tx,
  scope: Scope,
  failing: ReadonlyMap<string, readonly AttemptResult[]>,
  now: Date,
): Promise<Pick<Recorded, 'failing' | 'disabled'>> {
  const known = await lockHealth(tx, scope, [...failing.keys()].sort());
  const changed = new Map<string, EndpointHealth>();
  const disabled: string[] = [];
  for (const [webhookId, health] of known) {
    const own = failing.get(webhookId) ?? [];
    const unreachable = own.filter((result) => result.unreachable).length;
    const lastStartedAt = new Date(Math.max(...own.map(({ startedAt }) => startedAt.getTime())));
    const after = healthAfter(health, { unreachable, lastStartedAt }, now);
    changed.set(webhookId, after);
    await saveHealth(tx, scope, webhookId, after);
    const isGone = own.some(({ gone }) => gone);
    if (!isGone && !isGivenUp(after, now)) continue;
    const reason = isGone ? 'the receiver returned 410' : 'no successful delivery for five days';
    await disableEndpoint(tx, scope, webhookId, reason, now);
    disabled.push(webhookId);
  }
  return { failing: changed, disabled };
}

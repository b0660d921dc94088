import { type Database, type Scope, withTx } from '@eligo/postgres';
import type { DeliveryInHand } from '../domain/delivery.ts';
import { claimDeliveries as claimRows, type LaneRequest, lockLapsedLanes, recoverLanes } from '../store/lanes.ts';
import { liveSecrets } from '../store/secrets.ts';

/** What a claim brought. */
export interface Claim {
  readonly deliveries: readonly DeliveryInHand[];
  /** Endpoints to which another process is sending, or whose lanes another transaction has locked. */
  readonly passedOver: readonly string[];
  /** Endpoints of a dead process: a page of what it was handed waits again, and another claim follows. */
  readonly recovering: readonly string[];
}

/**
 * Takes due deliveries of one account's endpoints, with what it takes to sign them. Where a process died with deliveries in its hands, it recovers a page of these
 * instead: a claim does not grow with what one endpoint was sent, and the other endpoints do not wait for it.
 */
export function claimDeliveries(
  database: Database,
  scope: Scope,
  requests: readonly LaneRequest[],
  claimant: { owner: string; at: Date; leaseMs: number },
): Promise<Claim> {
  const webhookIds = requests.map(({ webhookId }) => webhookId);
  return withTx(database, scope, async (tx) => {
    const [recovering, claimed, secrets] = await Promise.all([
      lockLapsedLanes(tx, scope, webhookIds, claimant.owner),
      claimRows(tx, scope, requests, claimant),
      liveSecrets(tx, scope, webhookIds),
    ]);
    if (recovering.length > 0) await recoverLanes(tx, scope, recovering, claimant.at);
    const deliveries = claimed.deliveries.map((claim) => ({
      ...claim,
      sealedSecrets: secrets.get(claim.webhookId) ?? [],
    }));
    const passedOver = webhookIds.filter((id) => !claimed.webhookIds.has(id) && !recovering.includes(id));
    return { deliveries, passedOver, recovering };
  });
}

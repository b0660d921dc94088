import { type Database, type Scope, withTx } from '@eligo/postgres';
import type { DeliveryInHand } from '../domain/delivery.ts';
import {
  claimDeliveries as claimRows,
  type LaneRequest,
  lanesHeldByOthers,
  recoverLapsedLanes,
} from '../store/lanes.ts';
import { liveSecrets } from '../store/secrets.ts';

/** What a claim brought: deliveries, and the endpoints that another process is sending to. */
export interface Claim {
  readonly deliveries: readonly DeliveryInHand[];
  readonly heldByOthers: readonly string[];
}

/** Takes due deliveries of one account's endpoints, with what it takes to sign them. */
export function claimDeliveries(
  database: Database,
  scope: Scope,
  requests: readonly LaneRequest[],
  claimant: { owner: string; at: Date; leaseMs: number },
): Promise<Claim> {
  const webhookIds = requests.map(({ webhookId }) => webhookId);
  return withTx(database, scope, async (tx) => {
    const [, claims, secrets, heldByOthers] = await Promise.all([
      recoverLapsedLanes(tx, scope, webhookIds, claimant),
      claimRows(tx, scope, requests, claimant),
      liveSecrets(tx, scope, webhookIds),
      lanesHeldByOthers(tx, scope, webhookIds, claimant.owner),
    ]);
    const deliveries = claims.map((claim) => ({ ...claim, sealedSecrets: secrets.get(claim.webhookId) ?? [] }));
    return { deliveries, heldByOthers };
  });
}

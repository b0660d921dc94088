import { type Database, type Scope, withTx } from '@eligo/postgres';
import type { ClaimedDelivery } from '../domain/delivery.ts';
import { claimDeliveries as claimRows } from '../store/deliveries.ts';
import { liveSecrets } from '../store/secrets.ts';

/** A delivery in hand and the sealed secrets that sign it, the oldest first. */
export interface DeliveryInHand extends ClaimedDelivery {
  readonly sealedSecrets: readonly string[];
}

/** Takes due deliveries of one account under a lease, with what it takes to sign them. */
export function claimDeliveries(
  database: Database,
  scope: Scope,
  rooms: readonly { webhookId: string; room: number }[],
  at: Date,
  leaseMs: number,
): Promise<DeliveryInHand[]> {
  return withTx(database, scope, async (tx) => {
    const [claims, secrets] = await Promise.all([
      claimRows(tx, scope, rooms, at, leaseMs),
      liveSecrets(
        tx,
        scope,
        rooms.map(({ webhookId }) => webhookId),
      ),
    ]);
    return claims.map((claim) => ({ ...claim, sealedSecrets: secrets.get(claim.webhookId) ?? [] }));
  });
}

import { type Database, type Scope, withTx } from '@eligo/postgres';
import { changedTargets, type TargetChange } from '../store/changed-targets.ts';
import { renewLanes as renewRows } from '../store/lanes.ts';

/** A lane in use. */
export interface LaneInUse {
  readonly webhookId: string;
  /** A delivery that is not after the oldest one that the process was handed and has in hand, nor after any that it will be handed. */
  readonly oldest: string;
  /** Those for which the waiting deliveries were claimed. */
  readonly urls: readonly string[];
}

/** Endpoints for which lost deliveries wait again, and URLs to which nothing more may be sent. */
export interface Renewed {
  readonly waiting: readonly string[];
  readonly changes: readonly TargetChange[];
}

/**
 * Renews lanes that the process uses, and reads which of their endpoints were changed, disabled or deleted since the claim. Deliveries in hand carry
 * the URL of their claim, and the 256 of a slow endpoint take minutes to send.
 */
export function renewLanes(
  database: Database,
  scope: Scope,
  lanes: readonly LaneInUse[],
  claimant: { owner: string; at: Date; leaseMs: number },
): Promise<Renewed> {
  const targets = lanes.flatMap(({ webhookId, urls }) => urls.map((url) => ({ webhookId, url })));
  return withTx(database, scope, async (tx) => {
    const [waiting, changes] = await Promise.all([
      renewRows(tx, scope, lanes, claimant),
      targets.length > 0 ? changedTargets(tx, scope, targets) : [],
    ]);
    return { waiting, changes };
  });
}

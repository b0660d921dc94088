import type { Scope } from '@eligo/postgres';
import type { DeliveryInHand } from '../../actions/claim-deliveries.ts';

/** What one endpoint has in this process: deliveries waiting their turn, and how many are under way. */
export interface Lane {
  readonly scope: Scope;
  readonly webhookId: string;
  readonly waiting: DeliveryInHand[];
  underWay: number;
  /** Whether there may be due deliveries that were not claimed yet. */
  dirty: boolean;
}

/** Bounds of what one process holds at once. */
export interface LaneLimits {
  /** Requests under way to one endpoint: a slow one takes no more than this from the others. */
  readonly perEndpointUnderWay: number;
  /** Deliveries of one endpoint that are claimed at all. */
  readonly perEndpoint: number;
  /** Deliveries that are claimed over all endpoints. */
  readonly total: number;
}

/** The endpoints that have work in this process. */
export class Lanes {
  readonly limits: LaneLimits;
  readonly #lanes = new Map<string, Lane>();
  #held = 0;

  constructor(limits: LaneLimits) {
    this.limits = limits;
  }

  /** Deliveries in hand over all lanes. */
  get held(): number {
    return this.#held;
  }

  /** Notes that an endpoint may have due deliveries. */
  wake(scope: Scope, webhookId: string): void {
    this.#laneOf(scope, webhookId).dirty = true;
  }

  /**
   * Accounts with an endpoint that may have due deliveries and has room for them, and how much each endpoint may take. A lane asks again
   * when half of it is free, so that a busy endpoint is claimed for in batches and not one by one.
   */
  wanting(): { scope: Scope; rooms: { webhookId: string; room: number }[] }[] {
    const wanting = [...this.#lanes.values()].filter(
      (lane) => lane.dirty && this.#heldBy(lane) * 2 <= this.limits.perEndpoint,
    );
    const left = this.limits.total - this.#held;
    if (wanting.length === 0 || left <= 0) return [];
    const share = Math.max(1, Math.floor(left / wanting.length));
    const chosen = wanting.slice(0, left);
    const byScope = Map.groupBy(chosen, ({ scope }) => scopeKey(scope));
    return [...byScope.values()].map((lanes) => ({
      scope: (lanes[0] as Lane).scope,
      rooms: lanes.map((lane) => ({
        webhookId: lane.webhookId,
        room: Math.min(share, this.limits.perEndpoint - this.#heldBy(lane)),
      })),
    }));
  }

  /** Marks that these endpoints are being claimed for: what comes due from now on marks them anew. */
  claiming(scope: Scope, rooms: readonly { webhookId: string; room: number }[]): void {
    for (const { webhookId, room } of rooms) {
      this.#laneOf(scope, webhookId).dirty = false;
      this.#held += room;
    }
  }

  /** Puts claimed deliveries into their lanes. A lane that got all it asked for may have more. */
  claimed(
    scope: Scope,
    rooms: readonly { webhookId: string; room: number }[],
    claims: readonly DeliveryInHand[],
  ): Lane[] {
    for (const { room } of rooms) this.#held -= room;
    const byEndpoint = Map.groupBy(claims, ({ webhookId }) => webhookId);
    const lanes: Lane[] = [];
    for (const { webhookId, room } of rooms) {
      const got = byEndpoint.get(webhookId) ?? [];
      const lane = this.#laneOf(scope, webhookId);
      lane.waiting.push(...got);
      this.#held += got.length;
      if (got.length === room) lane.dirty = true;
      if (got.length > 0) lanes.push(lane);
      this.#forgetIdle(lane);
    }
    return lanes;
  }

  /** The next delivery that this lane may send, which is then under way; undefined when it has none or enough are under way. */
  next(lane: Lane): DeliveryInHand | undefined {
    if (lane.underWay >= this.limits.perEndpointUnderWay) return undefined;
    const delivery = lane.waiting.shift();
    if (delivery !== undefined) lane.underWay += 1;
    return delivery;
  }

  /** Marks that a delivery of the lane is no longer under way. */
  ended(lane: Lane): void {
    lane.underWay -= 1;
    this.#held -= 1;
    this.#forgetIdle(lane);
  }

  /** Takes back what waits behind an endpoint that turned out to be down. */
  dropWaiting(scope: Scope, webhookId: string): DeliveryInHand[] {
    const lane = this.#lanes.get(laneKey(scope, webhookId));
    if (lane === undefined) return [];
    const dropped = lane.waiting.splice(0);
    this.#held -= dropped.length;
    lane.dirty = false;
    this.#forgetIdle(lane);
    return dropped;
  }

  /** All lanes. */
  all(): Lane[] {
    return [...this.#lanes.values()];
  }

  #heldBy(lane: Lane): number {
    return lane.waiting.length + lane.underWay;
  }

  #laneOf(scope: Scope, webhookId: string): Lane {
    const key = laneKey(scope, webhookId);
    let lane = this.#lanes.get(key);
    if (lane === undefined) {
      lane = { scope, webhookId, waiting: [], underWay: 0, dirty: false };
      this.#lanes.set(key, lane);
    }
    return lane;
  }

  #forgetIdle(lane: Lane): void {
    if (!lane.dirty && this.#heldBy(lane) === 0) this.#lanes.delete(laneKey(lane.scope, lane.webhookId));
  }
}

/** One text for an account and mode. */
export function scopeKey(scope: Scope): string {
  return `${scope.accountId} ${scope.testMode}`;
}

function laneKey(scope: Scope, webhookId: string): string {
  return `${scopeKey(scope)} ${webhookId}`;
}

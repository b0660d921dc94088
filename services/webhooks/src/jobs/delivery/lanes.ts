import type { Scope } from '@eligo/postgres';
import type { DeliveryInHand } from '../../actions/claim-deliveries.ts';
import type { LaneRequest } from '../../store/lanes.ts';

/** What this process has of one endpoint. */
export interface Lane {
  readonly scope: Scope;
  readonly webhookId: string;
  /** Everything that was claimed and is not yet recorded, by delivery. */
  readonly inHand: Set<string>;
  /** What of it waits its turn. */
  readonly waiting: DeliveryInHand[];
  underWay: number;
  /** Whether there may be due deliveries that were not claimed yet. */
  dirty: boolean;
  /** Whether the lane is being claimed for, or given up: either ends before the other begins. */
  state: 'at_rest' | 'claiming' | 'releasing';
}

/** Bounds of what one process holds at once. */
export interface LaneLimits {
  /** Requests under way to one endpoint: a slow one takes no more than this from the others. */
  readonly perEndpointUnderWay: number;
  /** Requests under way over all endpoints. */
  readonly underWay: number;
  /** Deliveries of one endpoint in hand. */
  readonly perEndpoint: number;
  /** Deliveries over all endpoints in hand. */
  readonly total: number;
  /** Deliveries that are asked for at once: the first are on their way while the next are read. */
  readonly atOnce: number;
}

/** The endpoints that have work in this process. */
export class Lanes {
  readonly limits: LaneLimits;
  readonly #lanes = new Map<string, Lane>();
  readonly #ready = new Set<Lane>();
  #held = 0;
  #underWay = 0;

  constructor(limits: LaneLimits) {
    this.limits = limits;
  }

  /** Notes that an endpoint may have due deliveries. */
  wake(scope: Scope, webhookId: string): void {
    this.laneOf(scope, webhookId).dirty = true;
  }

  /**
   * Accounts with an endpoint that may have due deliveries and has room for them. A lane asks again when half of it is free, so that a busy
   * endpoint is claimed for in batches and not one by one.
   */
  wanting(): { scope: Scope; requests: LaneRequest[] }[] {
    const wanting = [...this.#lanes.values()].filter(
      (lane) => lane.dirty && lane.state === 'at_rest' && lane.inHand.size * 2 <= this.limits.perEndpoint,
    );
    const left = Math.min(this.limits.total - this.#held, this.limits.atOnce);
    if (wanting.length === 0 || left <= 0) return [];
    const share = Math.max(1, Math.floor(left / wanting.length));
    const byScope = Map.groupBy(wanting.slice(0, left), ({ scope }) => scopeKey(scope));
    return [...byScope.values()].map((lanes) => ({
      scope: (lanes[0] as Lane).scope,
      requests: lanes.map(({ webhookId, inHand }) => ({
        webhookId,
        inHand: [...inHand],
        room: Math.min(share, this.limits.perEndpoint - inHand.size),
      })),
    }));
  }

  /** Marks that these endpoints are being claimed for: what comes due from now on marks them anew. */
  claiming(scope: Scope, requests: readonly LaneRequest[]): void {
    for (const { webhookId, room } of requests) {
      const lane = this.laneOf(scope, webhookId);
      lane.dirty = false;
      lane.state = 'claiming';
      this.#held += room;
    }
  }

  /** Puts claimed deliveries into their lanes. A lane that got all it asked for may have more. */
  claimed(scope: Scope, requests: readonly LaneRequest[], deliveries: readonly DeliveryInHand[]): void {
    const byEndpoint = Map.groupBy(deliveries, ({ webhookId }) => webhookId);
    for (const { webhookId, room } of requests) {
      const got = byEndpoint.get(webhookId) ?? [];
      const lane = this.laneOf(scope, webhookId);
      lane.state = 'at_rest';
      this.#held += got.length - room;
      for (const delivery of got) {
        lane.waiting.push(delivery);
        lane.inHand.add(delivery.deliveryId);
      }
      if (got.length === room) lane.dirty = true;
      this.ready(lane);
      this.#forgetIdle(lane);
    }
  }

  /** Says that this lane may have something to send. */
  ready(lane: Lane): void {
    if (lane.waiting.length > 0 && lane.underWay < this.limits.perEndpointUnderWay) this.#ready.add(lane);
  }

  /** The next delivery to be sent, which is then under way: the lanes take turns. Undefined when none may be sent now. */
  next(): { lane: Lane; delivery: DeliveryInHand } | undefined {
    if (this.#underWay >= this.limits.underWay) return undefined;
    for (const lane of this.#ready) {
      this.#ready.delete(lane);
      const delivery = lane.waiting.shift();
      if (delivery === undefined) continue;
      lane.underWay += 1;
      this.#underWay += 1;
      this.ready(lane);
      return { lane, delivery };
    }
    return undefined;
  }

  /** Marks that a delivery of the lane is no longer under way. */
  ended(lane: Lane): void {
    lane.underWay -= 1;
    this.#underWay -= 1;
    this.ready(lane);
  }

  /** Of the lanes of these deliveries, those that have nothing else in hand and nothing that may be due; they are given up until `done`. */
  releasedBy(scope: Scope, deliveries: readonly { webhookId: string; deliveryId: string }[]): string[] {
    const byEndpoint = Map.groupBy(deliveries, ({ webhookId }) => webhookId);
    return [...byEndpoint].flatMap(([webhookId, own]) => {
      const lane = this.laneOf(scope, webhookId);
      const isFree = lane.state !== 'claiming' && !lane.dirty && lane.inHand.size === own.length;
      if (isFree) lane.state = 'releasing';
      return isFree ? [webhookId] : [];
    });
  }

  /** Takes these out of hand: they are recorded, or will be found again. */
  done(scope: Scope, deliveries: readonly { webhookId: string; deliveryId: string }[]): void {
    for (const { webhookId, deliveryId } of deliveries) {
      const lane = this.laneOf(scope, webhookId);
      if (lane.inHand.delete(deliveryId)) this.#held -= 1;
      if (lane.state === 'releasing' && lane.inHand.size === 0) lane.state = 'at_rest';
      this.#forgetIdle(lane);
    }
  }

  /** Takes what waits in this lane out of hand, unsent; it stays due. */
  dropWaiting(scope: Scope, webhookId: string): void {
    const lane = this.laneOf(scope, webhookId);
    lane.dirty = false;
    this.done(scope, lane.waiting.splice(0));
  }

  /** All lanes. */
  all(): Lane[] {
    return [...this.#lanes.values()];
  }

  laneOf(scope: Scope, webhookId: string): Lane {
    const key = laneKey(scope, webhookId);
    let lane = this.#lanes.get(key);
    if (lane === undefined) {
      lane = { scope, webhookId, inHand: new Set(), waiting: [], underWay: 0, dirty: false, state: 'at_rest' };
      this.#lanes.set(key, lane);
    }
    return lane;
  }

  #forgetIdle(lane: Lane): void {
    if (!lane.dirty && lane.inHand.size === 0 && lane.state === 'at_rest')
      this.#lanes.delete(laneKey(lane.scope, lane.webhookId));
  }
}

/** One text for an account and mode. */
export function scopeKey(scope: Scope): string {
  return `${scope.accountId} ${scope.testMode}`;
}

/** One text for an endpoint. */
export function laneKey(scope: Scope, webhookId: string): string {
  return `${scopeKey(scope)} ${webhookId}`;
}

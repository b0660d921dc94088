import type { Scope } from '@eligo/postgres';
import type { DeliveryInHand } from '../../domain/delivery.ts';
import type { TargetChange } from '../../store/changed-targets.ts';
import type { LaneRequest } from '../../store/lanes.ts';
import { isOpen, newReservation, type Reservation, withoutThatOf } from './reservations.ts';

/** What this process has of one endpoint. */
export interface Lane {
  readonly scope: Scope;
  readonly webhookId: string;
  /** Everything that was claimed and is not yet recorded, by delivery. */
  readonly inHand: Set<string>;
  /** What of it was handed over. Only the lane's mark tells another process of it, where a claimed delivery has a time at which it is due. */
  readonly handed: Set<string>;
  /** What of it waits its turn. */
  readonly waiting: DeliveryInHand[];
  underWay: number;
  /** Whether there may be due deliveries that were not claimed yet. */
  dirty: boolean;
  /** Whether the lane is being claimed for, or given up: either ends before the other begins. */
  state: 'at_rest' | 'claiming' | 'releasing';
  /** Of transactions that may plan deliveries for it and have not ended: it is not given up before. */
  reservations: readonly Reservation[];
  /** Whether its receiver answered that it is gone: nothing more is claimed or sent until that is recorded. */
  isGone: boolean;
}

/** Bounds of what one process holds at once. */
export interface LaneLimits {
  /** Requests in flight to one endpoint: a slow one takes no more than this from the others. */
  readonly perEndpointUnderWay: number;
  /** Requests in flight over all endpoints. An account begins another only while it has fewer than are free: half of all alone, a third each of two. */
  readonly underWay: number;
  /** Deliveries of one endpoint in hand. */
  readonly perEndpoint: number;
  /** Deliveries held over all endpoints, shared between accounts like requests in flight. */
  readonly total: number;
  /** Deliveries that are asked for at once: the first are on their way while the next are read. */
  readonly atOnce: number;
}

/** What this process has of one account, in both modes. */
interface Share {
  readonly lanes: Map<string, Lane>;
  /** Lanes that may have something to send. */
  readonly ready: Set<Lane>;
  held: number;
  /** Of it, in test mode. */
  heldInTest: number;
  underWay: number;
}

/**
 * The endpoints that have work in this process. Accounts take turns, and the endpoints of each; whoever takes much leaves as much to the others,
 * so that no number of slow endpoints of one account keeps another's waiting. Many such accounts, one after another, can hold all there is until
 * the first of their requests times out; the shares are even from then on.
 */
export class Lanes {
  readonly limits: LaneLimits;
  /** Whether an account with much in hand in a mode was left out last time, because it has to wait. */
  areHeld = false;
  readonly #isHeld: (scope: Scope) => boolean;
  readonly #shares = new Map<string, Share>();
  readonly #ready = new Set<Share>();
  #held = 0;
  #underWay = 0;

  constructor(limits: LaneLimits, isHeld: (scope: Scope) => boolean = () => false) {
    this.limits = limits;
    this.#isHeld = isHeld;
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
    const free = this.limits.total - this.#held;
    const left = Math.min(free, this.limits.atOnce);
    const wanting = [...this.#shares.values()].flatMap((share) => {
      const lanes = [...share.lanes.values()].filter((lane) => this.#wants(lane));
      const room = free - share.held;
      return lanes.length > 0 && room > 0 ? [{ lanes, room }] : [];
    });
    if (wanting.length === 0 || left <= 0) return [];
    const each = Math.max(1, Math.floor(left / wanting.length));
    return wanting.slice(0, left).flatMap(({ lanes, room }) => {
      const most = Math.min(each, room);
      const perLane = Math.max(1, Math.floor(most / lanes.length));
      const byMode = Map.groupBy(lanes.slice(0, most), ({ scope }) => scope.testMode);
      return [...byMode.values()].map((asking) => ({
        scope: (asking[0] as Lane).scope,
        requests: asking.map(({ webhookId, inHand }) => ({
          webhookId,
          inHand: [...inHand],
          room: Math.min(perLane, this.limits.perEndpoint - inHand.size),
        })),
      }));
    });
  }

  /** Marks that these endpoints are being claimed for: what comes due from now on marks them anew. */
  claiming(scope: Scope, requests: readonly LaneRequest[]): void {
    const share = this.#shareOf(scope);
    for (const { webhookId, room } of requests) {
      const lane = this.laneOf(scope, webhookId);
      lane.dirty = false;
      lane.state = 'claiming';
      this.#hold(scope, room);
      toTheEnd(share.lanes, laneKey(scope, webhookId), lane);
    }
    toTheEnd(this.#shares, scope.accountId, share);
  }

  /**
   * How many of `most` deliveries each of these endpoints may be handed as they are planned: none where older ones may wait, and all together no
   * more than the account's share. What is planned at the same time for other accounts may exceed the total by a batch for each.
   */
  rooms(scope: Scope, endpoints: readonly { readonly webhookId: string }[], most: number): Map<string, number> {
    let left = this.limits.total - this.#held - this.#shareOf(scope).held;
    const rooms = new Map<string, number>();
    const reservation = newReservation();
    for (const { webhookId } of endpoints) {
      const lane = this.laneOf(scope, webhookId);
      const room = Math.min(left, most, this.limits.perEndpoint - lane.inHand.size);
      if (room > 0 && !lane.dirty && !lane.isGone && lane.state === 'at_rest') {
        lane.reservations = [...lane.reservations.filter(isOpen), reservation];
        rooms.set(webhookId, room);
        left -= room;
      }
      this.#forgetIdle(this.#shareOf(scope), lane);
    }
    return rooms;
  }

  /** Puts deliveries that were planned for this process into their lanes. */
  handedOver(scope: Scope, deliveries: readonly DeliveryInHand[]): void {
    for (const [webhookId, own] of Map.groupBy(deliveries, (delivery) => delivery.webhookId)) {
      const lane = this.laneOf(scope, webhookId);
      const share = this.#shareOf(scope);
      lane.reservations = withoutThatOf(own, lane.reservations);
      this.#hold(scope, put(lane, own));
      this.#noteReady(share, lane);
    }
  }

  /** Puts claimed deliveries into their lanes. A lane that got all it asked for may have more. */
  claimed(scope: Scope, requests: readonly LaneRequest[], deliveries: readonly DeliveryInHand[]): void {
    const share = this.#shareOf(scope);
    const byEndpoint = Map.groupBy(deliveries, ({ webhookId }) => webhookId);
    for (const { webhookId, room } of requests) {
      const got = byEndpoint.get(webhookId) ?? [];
      const lane = this.laneOf(scope, webhookId);
      lane.state = 'at_rest';
      this.#hold(scope, put(lane, got) - room);
      if (got.length === room) lane.dirty = true;
      this.#noteReady(share, lane);
      this.#forgetIdle(share, lane);
    }
  }

  /** The next delivery to be sent, which is then in flight: accounts take turns, and their lanes. Undefined when none may be sent now. */
  next(): { lane: Lane; delivery: DeliveryInHand } | undefined {
    this.areHeld = false;
    for (const share of this.#ready) {
      if (share.underWay >= this.limits.underWay - this.#underWay) continue;
      const heldModes = this.#heldModes(share);
      for (const lane of share.ready) {
        if (heldModes.includes(lane.scope.testMode)) {
          this.areHeld = true;
          continue;
        }
        share.ready.delete(lane);
        const delivery = lane.isGone ? undefined : lane.waiting.shift();
        if (delivery === undefined) continue;
        lane.underWay += 1;
        share.underWay += 1;
        this.#underWay += 1;
        this.#noteReady(share, lane);
        this.#ready.delete(share);
        if (share.ready.size > 0) this.#ready.add(share);
        return { lane, delivery };
      }
      if (share.ready.size === 0) this.#ready.delete(share);
    }
    return undefined;
  }

  // The modes in which the account has much in hand and has to wait.
  #heldModes(share: Share): readonly boolean[] {
    const [first] = share.ready;
    if (first === undefined) return [];
    const modes = [true, false].filter((testMode) => heldIn(share, testMode) > fewHeld);
    return modes.filter((testMode) => this.#isHeld({ ...first.scope, testMode }));
  }

  /** Marks that a delivery of the lane is no longer in flight. */
  ended(lane: Lane): void {
    const share = this.#shareOf(lane.scope);
    lane.underWay -= 1;
    share.underWay -= 1;
    this.#underWay -= 1;
    this.#noteReady(share, lane);
    this.#forgetIdle(share, lane);
  }

  /** Of the lanes of these deliveries, those that have nothing else in hand and nothing that may be due; they are given up until `done`. */
  releasedBy(scope: Scope, deliveries: readonly { webhookId: string; deliveryId: string }[]): string[] {
    const byEndpoint = Map.groupBy(deliveries, ({ webhookId }) => webhookId);
    return [...byEndpoint].flatMap(([webhookId, own]) => {
      const lane = this.laneOf(scope, webhookId);
      const isFree = lane.state !== 'claiming' && !lane.dirty && lane.inHand.size === own.length && !isPlanned(lane);
      if (isFree) lane.state = 'releasing';
      return isFree ? [webhookId] : [];
    });
  }

  /** Takes these out of hand: they are recorded, or will be found again. */
  done(scope: Scope, deliveries: readonly { webhookId: string; deliveryId: string }[]): void {
    const share = this.#shareOf(scope);
    for (const { webhookId, deliveryId } of deliveries) {
      const lane = this.laneOf(scope, webhookId);
      if (lane.inHand.delete(deliveryId)) this.#hold(scope, -1);
      lane.handed.delete(deliveryId);
      if (lane.state === 'releasing' && lane.inHand.size === 0) lane.state = 'at_rest';
      this.#forgetIdle(share, lane);
    }
  }

  /** Takes what waits in this lane out of hand, unsent; it stays due. */
  dropWaiting(scope: Scope, webhookId: string): void {
    const lane = this.laneOf(scope, webhookId);
    lane.dirty = false;
    this.done(scope, lane.waiting.splice(0));
  }

  /** Sends what waits for one URL of an endpoint to its present URL. Takes it out of hand, unsent, if the endpoint gets nothing more. */
  redirect(scope: Scope, { webhookId, from, to }: TargetChange): void {
    const lane = this.laneOf(scope, webhookId);
    const waiting = lane.waiting.splice(0);
    for (const delivery of waiting) {
      if (delivery.url !== from) lane.waiting.push(delivery);
      else if (to !== undefined) lane.waiting.push({ ...delivery, url: to });
    }
    if (to === undefined)
      this.done(
        scope,
        waiting.filter(({ url }) => url === from),
      );
  }

  /** Marks that the receiver of the lane answered that it is gone, and takes what waits out of hand, unsent. */
  close(lane: Lane): void {
    lane.isGone = true;
    this.dropWaiting(lane.scope, lane.webhookId);
  }

  /** Marks that the answer is recorded. What came meanwhile is dropped and looked for anew: the endpoint may have been enabled again. */
  reopen(scope: Scope, webhookId: string): void {
    const lane = this.laneOf(scope, webhookId);
    lane.isGone = false;
    this.dropWaiting(scope, webhookId);
    this.wake(scope, webhookId);
  }

  /** Marks that the lane is given up until `released`, unless something of it is in hand, or is claimed or planned for it: then it is false. */
  releaseIdle(scope: Scope, webhookId: string): boolean {
    const lane = this.laneOf(scope, webhookId);
    const isIdle = !lane.dirty && lane.inHand.size === 0 && lane.state === 'at_rest' && !isPlanned(lane);
    if (isIdle) lane.state = 'releasing';
    return isIdle;
  }

  /** Marks that the lane has been given up, or could not be. */
  released(scope: Scope, webhookId: string): void {
    const lane = this.laneOf(scope, webhookId);
    lane.state = 'at_rest';
    this.#forgetIdle(this.#shareOf(scope), lane);
  }

  /** All lanes. */
  all(): Lane[] {
    return [...this.#shares.values()].flatMap(({ lanes }) => [...lanes.values()]);
  }

  laneOf(scope: Scope, webhookId: string): Lane {
    const { lanes } = this.#shareOf(scope);
    const key = laneKey(scope, webhookId);
    let lane = lanes.get(key);
    if (lane === undefined) {
      lane = {
        scope,
        webhookId,
        inHand: new Set(),
        handed: new Set(),
        waiting: [],
        underWay: 0,
        dirty: false,
        state: 'at_rest',
        reservations: [],
        isGone: false,
      };
      lanes.set(key, lane);
    }
    return lane;
  }

  #shareOf({ accountId }: Scope): Share {
    let share = this.#shares.get(accountId);
    if (share === undefined) {
      share = { lanes: new Map(), ready: new Set(), held: 0, heldInTest: 0, underWay: 0 };
      this.#shares.set(accountId, share);
    }
    return share;
  }

  #wants(lane: Lane): boolean {
    return lane.dirty && !lane.isGone && lane.state === 'at_rest' && lane.inHand.size * 2 <= this.limits.perEndpoint;
  }

  #hold(scope: Scope, more: number): void {
    const share = this.#shareOf(scope);
    share.held += more;
    if (scope.testMode) share.heldInTest += more;
    this.#held += more;
  }

  #noteReady(share: Share, lane: Lane): void {
    if (lane.isGone || lane.waiting.length === 0 || lane.underWay >= this.limits.perEndpointUnderWay) return;
    share.ready.add(lane);
    this.#ready.add(share);
  }

  #forgetIdle(share: Share, lane: Lane): void {
    if (lane.dirty || lane.inHand.size > 0 || lane.underWay > 0 || lane.state !== 'at_rest' || isPlanned(lane)) return;
    share.lanes.delete(laneKey(lane.scope, lane.webhookId));
    if (share.lanes.size === 0) this.#shares.delete(lane.scope.accountId);
  }
}

/** An account with so few deliveries in hand in a mode is never held in it: an ordinary one's are on their way at once. */
const fewHeld = 64;

function heldIn({ held, heldInTest }: Share, testMode: boolean): number {
  return testMode ? heldInTest : held - heldInTest;
}

function isPlanned(lane: Lane): boolean {
  return lane.reservations.some(isOpen);
}

/**
 * The place up to which nothing of a lane is in hand that was handed over, or is being planned: at most `atMost`, which is made now. A claimed delivery does
 * not hold it back, which may be a retry of three days ago.
 */
export function oldestHanded({ handed, reservations }: Lane, atMost: string): string {
  let oldest = atMost;
  for (const id of handed) if (id < oldest) oldest = id;
  for (const { after } of reservations.filter(isOpen)) if (after < oldest) oldest = after;
  return oldest;
}

// Those that are in hand already are left out; gives how many were put in.
function put(lane: Lane, deliveries: readonly DeliveryInHand[]): number {
  const before = lane.inHand.size;
  for (const delivery of deliveries) {
    if (lane.inHand.has(delivery.deliveryId)) continue;
    lane.waiting.push(delivery);
    lane.inHand.add(delivery.deliveryId);
    if (delivery.dueAt === null) lane.handed.add(delivery.deliveryId);
  }
  return lane.inHand.size - before;
}

/** An account that had its turn goes last. */
function toTheEnd<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
  map.delete(key);
  map.set(key, value);
}

/** One text for an account and mode. */
export function scopeKey(scope: Scope): string {
  return `${scope.accountId} ${scope.testMode}`;
}

/** One text for an endpoint. */
export function laneKey(scope: Scope, webhookId: string): string {
  return `${scopeKey(scope)} ${webhookId}`;
}

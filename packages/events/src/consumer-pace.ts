import type { ConsumerInfo } from 'nats';

/** What the server says of a durable consumer. */
export type ConsumerState = Pick<ConsumerInfo, 'name' | 'num_pending' | 'num_ack_pending'> & {
  readonly ack_floor: Pick<ConsumerInfo['ack_floor'], 'consumer_seq'>;
};

/**
 * Says how many events a repair may publish now. Republished events precede new ones in the stream, so they delay the new ones. The repair leaves each consumer at
 * most three seconds of work, by the consumer's measured rate, also while the consumer is away: after a restart it finds only that much. The repair waits five minutes
 * for a consumer that has events and handles less than ten a second, or ten minutes if the consumer was faster before. Such a consumer does not run, or fails on
 * everything. The repair then ignores it until it handles ten a second again.
 */
export class ConsumerPace {
  readonly #list: () => Promise<readonly ConsumerState[]>;
  readonly #patienceMs: number;
  readonly #now: () => number;
  readonly #tracks = new Map<string, Track>();

  constructor(
    list: () => Promise<readonly ConsumerState[]>,
    {
      patienceMs = PATIENCE_MS,
      now = () => performance.now(),
    }: { patienceMs?: number | undefined; now?: () => number } = {},
  ) {
    this.#list = list;
    this.#patienceMs = patienceMs;
    this.#now = now;
  }

  /** How many events more leave no consumer too far behind, at most so many; 0 when the repair has to wait. */
  async room(most: number): Promise<number> {
    const consumers = await this.#list();
    const nowMs = this.#now();
    const names = new Set(consumers.map(({ name }) => name));
    for (const name of this.#tracks.keys()) if (!names.has(name)) this.#tracks.delete(name);
    let room = most;
    for (const consumer of consumers) {
      const track = this.#look(consumer, nowMs);
      if (!track.isGivenUp) room = Math.min(room, mostBefore(track.perSecond) - track.waiting);
    }
    return room < Math.min(LEAST_SLICE, most) ? 0 : Math.floor(room);
  }

  #look({ name, ack_floor, num_pending, num_ack_pending }: ConsumerState, nowMs: number): Track {
    const waiting = num_pending + num_ack_pending;
    const before = this.#tracks.get(name);
    // One that was made anew counts from the beginning, as does one that an earlier repair looked at: between repairs nothing was measured.
    const isKnown = before !== undefined && ack_floor.consumer_seq >= before.floor;
    if (!isKnown || nowMs - before.lookedAtMs > LOOKED_AT_LATELY_MS) {
      const track = newTrack(ack_floor.consumer_seq, waiting, nowMs);
      this.#tracks.set(name, track);
      return track;
    }
    const handledBefore = handledInAll(before);
    const fell = Math.max(before.waiting - waiting, 0);
    const ms = nowMs - before.lookedAtMs;
    const isBusy = before.waiting > 0 && waiting > 0;
    const fallen = before.fallen + fell;
    Object.assign(before, { floor: ack_floor.consumer_seq, waiting, fallen, lookedAtMs: nowMs });
    measure(before, { fell, ms, isBusy });
    if (isBusy) judge(before, { handled: handledInAll(before) - handledBefore, ms }, this.#patienceMs);
    return before;
  }
}

interface Track {
  /** The floor when it was first looked at, and now. */
  readonly start: number;
  floor: number;
  waiting: number;
  lookedAtMs: number;
  /** By how much what waits has fallen in all. */
  fallen: number;
  perSecond: number;
  /** Since the rate was last measured. */
  window: { fell: number; ms: number; isBusy: boolean };
  /** The floor at the end of the last window in which it moved. */
  moved: { floor: number; atMs: number };
  /** While it had events to handle, since it was last judged. */
  judged: Seen;
  isGivenUp: boolean;
}

interface Seen {
  handled: number;
  ms: number;
}

function newTrack(floor: number, waiting: number, nowMs: number): Track {
  return {
    ...{ start: floor, floor, waiting, lookedAtMs: nowMs, fallen: 0 },
    ...{ perSecond: UNKNOWN_PER_SECOND, isGivenUp: false, moved: { floor, atMs: nowMs } },
    ...{ window: { fell: 0, ms: 0, isBusy: true }, judged: { handled: 0, ms: 0 } },
  };
}

// The floor stays at the oldest event in work, and what waits grows by what is published: the larger sum is nearer to what was handled. Each event counts once, also where the
// floor passes those that were counted while it stayed.
function handledInAll({ fallen, floor, start }: Track): number {
  return Math.max(fallen, floor - start);
}

function mostBefore(perSecond: number): number {
  return Math.min(Math.max(perSecond * SECONDS_BEFORE, FEWEST_BEFORE), MOST_BEFORE);
}

// A consumer that had nothing to do for a part of the time can do more than it did. A floor that stayed for long and then moved far was so far for all of that time.
function measure(track: Track, seen: { readonly fell: number; readonly ms: number; readonly isBusy: boolean }): void {
  const { window, moved } = track;
  window.fell += seen.fell;
  window.ms += seen.ms;
  window.isBusy &&= seen.isBusy;
  if (window.ms < WINDOW_MS) return;
  const ofFloor = (track.floor - moved.floor) / (track.lookedAtMs - moved.atMs);
  const perSecond = Math.max(window.fell / window.ms, ofFloor) * 1_000;
  track.perSecond = window.isBusy ? (track.perSecond + perSecond) / 2 : Math.max(track.perSecond, perSecond);
  track.window = { fell: 0, ms: 0, isBusy: true };
  if (track.floor > moved.floor) track.moved = { floor: track.floor, atMs: track.lookedAtMs };
}

function judge(track: Track, seen: Seen, patienceMs: number): void {
  const { judged } = track;
  judged.handled += seen.handled;
  judged.ms += seen.ms;
  if (judged.ms < (track.isGivenUp ? Math.min(RETURN_MS, patienceMs) : patienceMs)) return;
  track.isGivenUp = judged.handled * 1_000 < LEAST_PER_SECOND * judged.ms;
  track.judged = { handled: 0, ms: 0 };
}

/** Two seconds less than new events may wait: for the relay, and for a rate that has fallen since it was measured. */
const SECONDS_BEFORE = 3;
/** What a consumer of ten a second handles in that time, and what the server gives a consumer at once. */
const FEWEST_BEFORE = 30;
const MOST_BEFORE = 512;
/** A slice costs a few statements, whatever its size. */
const LEAST_SLICE = 8;
/** Long enough for some events of a consumer of 40 a second, and short beside the three seconds. */
const WINDOW_MS = 500;
/** The slowest that is expected. One for whom a repair has nothing keeps it. */
const UNKNOWN_PER_SECOND = 40;
/** A repair in progress looks once a second at least. */
const LOOKED_AT_LATELY_MS = 10_000;
const LEAST_PER_SECOND = 10;
/** A crashed container is started again after five minutes at the latest. */
const PATIENCE_MS = 300_000;
/** One that is started again and again handles some events each time. */
const RETURN_MS = 60_000;

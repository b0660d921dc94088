import type { Random } from '../chaos/random.ts';
import type { RunningShop } from '../crashes/running-shop.ts';
import { record, text } from '../records.ts';
import { make } from '../shop.ts';
import { type ChangedKept, makeChange, planChanges } from './changes.ts';
import { beginEnd, type EndingKept, payByHand, planEnd } from './ends.ts';
import type { FaultyProcessor } from './faulty-processor.ts';
import { insist } from './insist.ts';
import { beginningOf, type Kept, type Offer, sellInMidRun, sellOnClock } from './kinds.ts';
import type { WallClock } from './wall-clock.ts';

/** Subscriptions on one clock, and all that will happen there. */
export interface Lane {
  readonly clock: string;
  readonly kept: readonly (Kept | ChangedKept | EndingKept)[];
  /** Those that are sold on the way. */
  readonly late: readonly Kept[];
  readonly stops: readonly Stop[];
}

/** A time to which the clock goes, and what is done there. */
interface Stop {
  readonly at: Date;
  readonly act?: (running: RunningShop) => Promise<unknown>;
}

export interface LaneSize {
  /** The number of the first subscription, which says its kind, and how many there are. */
  readonly first: number;
  readonly subscriptions: number;
  readonly months: number;
}

const clocks = '/v1/test_helpers/test_clocks';
const dayMs = 86_400_000;
const hourMs = 3_600_000;
// The last day of a month, so that shorter months follow; and the 15th.
const starts = ['2030-01-31T09:30:00Z', '2030-01-15T00:00:00Z'];

/** Sells half of the subscriptions at once and the others some days later, and plans how the clock goes on. */
export async function openLane(running: RunningShop, offer: Offer, random: Random, size: LaneSize): Promise<Lane> {
  const start = new Date(random.pick(starts));
  const made = await make(running.api, clocks, 'test_clock', { frozen_time: start.toISOString() });
  const clock = text(made, 'test_clock_id');
  const half = Math.ceil(size.subscriptions / 2);
  const kept: Kept[] = [];
  for (let place = 0; place < half; place++) {
    kept.push(await sellOnClock(running, offer, clock, start, size.first + place));
  }
  const later = new Date(start.getTime() + random.between(1, 27) * dayMs + random.between(0, 23) * hourMs);
  await advance(running, clock, later);
  for (let place = half; place < size.subscriptions; place++) {
    kept.push(await sellOnClock(running, offer, clock, later, size.first + place));
  }
  const end = endOf(start, size.months);
  const planned = kept.map((of) => {
    if (of.changing !== undefined) return { ...of, changes: planChanges(random, of, of.changing, later, end) };
    if (of.losesClass !== undefined) return { ...of, losesClassAt: within(random, later, end) };
    const ending = of.ending && planEnd(random, of, of.ending, later, end);
    return ending === undefined ? of : { ...of, end: ending };
  });
  const late: Kept[] = [];
  const sales = planSales(random, later, end, size.months).map((at, count) => ({
    at,
    act: async (on: RunningShop) => void late.push(await sellInMidRun(on, offer, clock, at, size.first + count)),
  }));
  return { clock, kept: planned, late, stops: [...plan(random, planned, later, end), ...sales].toSorted(inTime) };
}

const inTime = (one: Stop, other: Stop) => one.at.getTime() - other.at.getTime();

// Within the middle third, at a whole second.
function within(random: Random, from: Date, end: Date): Date {
  const ms = from.getTime() + ((1 + random.next()) / 3) * (end.getTime() - from.getTime());
  return new Date(Math.round(ms / 1_000) * 1_000);
}

// One in four months, or one.
function planSales(random: Random, from: Date, end: Date, months: number): Date[] {
  const lastMs = end.getTime() - dayMs;
  return Array.from({ length: Math.max(Math.floor(months / 4), 1) }, () => {
    const at = from.getTime() + random.next() * (lastMs - from.getTime());
    return new Date(Math.round(at / 1_000) * 1_000);
  });
}

function endOf(start: Date, months: number): Date {
  return new Date(beginningOf({ anchor: start }, months).getTime() + hourMs);
}

// Uneven steps, from an hour to more than two periods; and for some periods of a weak card the times at which it is declined and pays again.
function plan(random: Random, kept: Lane['kept'], from: Date, end: Date): Stop[] {
  const stops: Stop[] = [{ at: end }];
  for (let at = from.getTime(); at < end.getTime(); ) {
    at += random.pick([hourMs, dayMs, 3 * dayMs, 9 * dayMs, 20 * dayMs, 70 * dayMs]) * (0.5 + random.next());
    if (at < end.getTime()) stops.push({ at: new Date(at) });
  }
  for (const of of kept) {
    if ('changes' in of) {
      for (const change of of.changes) stops.push({ at: change.at, act: (running) => makeChange(running, of, change) });
    }
    if ('end' in of) stops.push({ at: of.end.at, act: (running) => beginEnd(running, of) });
    if (of.losesClassAt !== undefined) stops.push({ at: of.losesClassAt, act: (running) => loseClass(running, of) });
    if (of.weak === undefined || of.ending !== undefined) continue;
    const { field, bad, good, isPaidByHand = false } = of.weak;
    for (let n = 1; beginningOf(of, n + 1) < end; n++) {
      if (n > 1 && random.next() < 0.6) continue;
      const renewal = beginningOf(of, n).getTime();
      const declinesAt = Math.max(renewal - random.between(1, 6 * 24) * hourMs, from.getTime());
      // The last try is seven days after the first.
      const paysAt = renewal + random.between(1, 6 * 24) * hourMs;
      const path = `/v1/subscriptions/${of.id}`;
      const give =
        (card: string) =>
        ({ api }: RunningShop) =>
          insist(`PATCH ${path}`, () => api.patch(path, { subscription: { [field]: card } }), 200);
      const pays = isPaidByHand ? (running: RunningShop) => payByHand(running, of, good) : give(good);
      stops.push({ at: new Date(declinesAt), act: give(bad) }, { at: new Date(paysAt), act: pays });
    }
  }
  return stops.toSorted(inTime);
}

// It does not take the class back: each period that begins later is another card's.
async function loseClass({ api }: RunningShop, { losesClass }: Kept): Promise<void> {
  const path = `/v1/products/${losesClass}`;
  const body = { product: { hsa_fsa_eligibility: 'not_eligible' } };
  await insist(`PATCH ${path}`, () => api.patch(path, body), 200);
}

/** Goes from stop to stop while processes die and the processor fails. Answers how often the clock was refused to go back. */
export async function runLane(
  running: RunningShop,
  lane: Lane,
  random: Random,
  { processor, wallClock }: { readonly processor: FaultyProcessor; readonly wallClock: WallClock },
  onStep: () => void,
): Promise<number> {
  let refused = 0;
  for (const { at, act } of lane.stops) {
    if (random.next() < 0.5) await processor.disturb(random);
    if (random.next() < 0.4) wallClock.jump(random);
    await advance(running, lane.clock, at, wallClock);
    if (act !== undefined) await whileCorrecting(wallClock, () => act(running));
    if (random.next() < 0.1) {
      const back = new Date(at.getTime() - random.between(1, 40 * dayMs)).toISOString();
      const goBack = () => running.api.post(`${clocks}/${lane.clock}/advance`, { test_clock: { frozen_time: back } });
      await insist('going back', goBack, 422);
      refused += 1;
    }
    onStep();
  }
  return refused;
}

// The partner asks again and again, as an advance that dies is asked for again.
async function advance({ api }: RunningShop, clock: string, to: Date, wallClock?: WallClock): Promise<void> {
  const body = { test_clock: { frozen_time: to.toISOString() } };
  for (let asked = 0; asked < 60; asked++) {
    const ask = () => insist('an advance', () => api.post(`${clocks}/${clock}/advance`, body), 200);
    const answer = await whileCorrecting(wallClock, ask);
    if (record(answer.body, 'test_clock').status === 'ready') return;
  }
  throw new Error(`the clock ${clock} does not reach ${to.toISOString()}`);
}

// A process that died held a subscription by a clock that was ahead, or is to ask for a charge again by it.
async function whileCorrecting<Result>(wallClock: WallClock | undefined, work: () => Promise<Result>): Promise<Result> {
  const correcting = setInterval(() => wallClock?.goAhead(), correctedAfterMs);
  try {
    return await work();
  } finally {
    clearInterval(correcting);
  }
}

// Some times as long as an advance takes that meets no trouble.
const correctedAfterMs = 1_500;

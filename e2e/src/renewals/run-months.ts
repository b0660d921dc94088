import { randomOf } from '../chaos/random.ts';
import type { RunningShop } from '../crashes/running-shop.ts';
import { runCli } from '../run-cli.ts';
import type { DunningEnd } from './ends.ts';
import { faultyProcessor } from './faulty-processor.ts';
import { type Billed, holdAgainstModel } from './hold-against-model.ts';
import { type KillPlan, type Kills, killAlong } from './kills.ts';
import { makeOffer } from './kinds.ts';
import { type Lane, openLane, runLane } from './lane.ts';
import { makeUp, type OverduePlan, openWaves } from './overdue.ts';
import { progressOf } from './progress.ts';
import type { WallClock } from './wall-clock.ts';

export interface MonthsPlan extends KillPlan {
  readonly seed: number;
  readonly subscriptions: number;
  readonly onEachClock: number;
  readonly months: number;
  readonly clocksAtOnce: number;
  readonly overdue: OverduePlan;
  /** What the account has become of a subscription after the last try of its dunning. */
  readonly dunningEnd: DunningEnd;
  readonly wallClock: WallClock;
}

/** What happened. */
export interface MonthsReport extends Billed {
  readonly seed: number;
  readonly subscriptions: number;
  /** Those of them that ended, and those that were sold on the way beside them. */
  readonly ended: number;
  readonly soldLate: number;
  /** By the wall clock, and made up for. */
  readonly overdue: number;
  readonly months: number;
  readonly clocks: number;
  readonly advances: number;
  /** How often a clock was asked to go back, and was not. */
  readonly refusedToGoBack: number;
  /** How often the wall clock of the processes jumped. */
  readonly jumps: number;
  readonly kills: Kills;
  readonly allKills: number;
  readonly faults: Readonly<Record<string, number>>;
  readonly allFaults: number;
  readonly seconds: number;
}

/**
 * Sells subscriptions of all kinds on test clocks and has months go by in uneven steps, while processes are killed in the middle of renewals, cards are declined for
 * days, the wall clock jumps, and the processor times out and answers late. Others, by the wall clock, turn out to be overdue. Then holds what was billed against the model. The seed says what is killed, when, and what fails; `say` hears how far it is.
 */
export async function runMonths(
  running: RunningShop,
  planned: MonthsPlan,
  say: (text: string) => void,
): Promise<MonthsReport> {
  const startedAt = performance.now();
  const seconds = () => Math.round((performance.now() - startedAt) / 1_000);
  const { seed, subscriptions, months, onEachClock, clocksAtOnce, wallClock } = planned;
  const { account } = running;
  // Its customers are mailed that a payment failed, and that their subscription has ended.
  const settings = ['--notice-name', 'Shop', '--notice-mode', 'test', '--dunning-end', planned.dunningEnd];
  await runCli(running.eligo, ['accounts', 'update', account, ...settings]);
  const offer = await makeOffer(running);
  const lanes: Lane[] = [];
  const firsts = Array.from({ length: Math.ceil(subscriptions / onEachClock) }, (_, lane) => lane * onEachClock);
  await eachOf(firsts, clocksAtOnce, async (first) => {
    const size = { first, subscriptions: Math.min(onEachClock, subscriptions - first), months };
    lanes.push(await openLane(running, offer, randomOf(seed + first), size));
  });
  const waves = await openWaves(running, offer, planned.overdue);
  const advances = lanes.reduce((sum, { stops }) => sum + stops.length, 0);
  say(`${subscriptions} subscriptions sold on ${lanes.length} clocks, ${advances} advances planned, ${seconds()} s`);

  const processor = faultyProcessor(running);
  const progress = progressOf(advances);
  let refusedToGoBack = 0;
  const going = eachOf([...lanes.entries()], clocksAtOnce, async ([place, lane]) => {
    refusedToGoBack += await runLane(running, lane, randomOf(seed + 7 * place), { processor, wallClock }, () =>
      progress.step(),
    );
    say(`clock ${place + 1} of ${lanes.length} at its end, ${seconds()} s`);
  }).finally(() => {
    wallClock.goAhead();
    progress.end();
  });
  const [kills] = await Promise.all([
    killAlong(running, randomOf(seed), processor, planned, progress),
    going,
    makeUp(running, waves, progress, wallClock),
  ]);
  await processor.forget();
  say(`all clocks at their end, ${seconds()} s`);

  const sold = [
    ...lanes.map(({ kept, late, stops }) => ({ kept: [...kept, ...late], until: stops.at(-1)?.at as Date })),
    ...waves.map(({ kept }) => ({ kept, until: new Date() })),
  ];
  const billed = await holdAgainstModel(running, sold, wallClock, planned.dunningEnd);
  const sumOf = (counts: Readonly<Record<string, number>>) => Object.values(counts).reduce((sum, n) => sum + n, 0);
  return {
    ...{
      seed,
      subscriptions,
      ended: lanes.flatMap(({ kept }) => kept).filter((of) => 'end' in of).length,
      soldLate: lanes.flatMap(({ late }) => late).length,
      overdue: planned.overdue.subscriptions,
      months,
      clocks: lanes.length,
      advances,
      refusedToGoBack,
      jumps: wallClock.jumps,
      ...billed,
    },
    ...{ kills, allKills: sumOf(kills), faults: processor.hits, allFaults: sumOf(processor.hits), seconds: seconds() },
  };
}

async function eachOf<Item>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await work(next);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

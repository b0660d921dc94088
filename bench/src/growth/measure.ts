import type { Installation } from '../compare/installation.ts';
import { usedBetween } from '../costs/processor-time.ts';
import { ownTime } from '../costs/stack-groups.ts';
import { loadEach } from '../load-each.ts';
import type { LoadGenerator } from '../processes/generator.ts';
import type { Worker } from '../processes/worker.ts';
import { quiet } from '../quiet.ts';
import { median } from '../rounds.ts';
import { type Cost, whileThawed } from './background.ts';
import type { GrowthCase, GrowthRecords, GrowthRequest } from './cases.ts';
import type { MadeRecord } from './made-records.ts';
import { sideOfGoal } from './outcome.ts';
import { readsDuring, readsOfOne, type StatementReads } from './reads.ts';

/** One of the two accounts that a case is measured on. */
export interface GrowthSide {
  readonly installation: Installation;
  readonly records: GrowthRecords;
  readonly makes: readonly GrowthRequest[];
  readonly request: GrowthRequest;
  /** Over so many connections, where they would wait for each other otherwise. */
  readonly connections?: number | undefined;
}

/** What something costs on either account, medians of the rounds, and the medians of the rounds' own ratios. */
export interface GrowthCosts {
  readonly small: Cost;
  readonly large: Cost;
  readonly postgres: Ratio;
  readonly eligo: Ratio;
}

/** What one operation of a case costs. */
export interface GrowthMeasure extends GrowthCosts {
  /** What Postgres reads for one operation: no clock and no neighbor changes it. */
  readonly reads: { readonly small: StatementReads; readonly large: StatementReads };
}

/** The median of the rounds' own ratios, and how far the true one may be from it either way. */
export interface Ratio {
  readonly value: number;
  readonly within: number;
}

/** How a case is measured. */
export interface GrowthPace {
  readonly load: Worker<LoadGenerator>;
  readonly connections: number;
  /** What a ratio may be at most. */
  readonly goal: number;
  /** Rounds at least, and at most: as many as tell on which side of the goal a ratio is. */
  readonly rounds: readonly [number, number];
  /** Processor time that each side of a round takes at least. */
  readonly roundMs: number;
}

/** So many copies take turns: those of either account are in memory after the first round. */
const copiesInUse = 40;

/** A side of a case on the account that was copied. */
export function sideOf(
  installation: Installation,
  records: GrowthRecords,
  { connections, makes, request }: GrowthCase,
): GrowthSide {
  return { installation, records, connections, makes, request };
}

/** Measures both sides in turns. A round of both does as many operations, so that what comes once in a while comes as often. */
export async function measureGrowth(small: GrowthSide, large: GrowthSide, usual: GrowthPace): Promise<GrowthMeasure> {
  const pace = { ...usual, connections: large.connections ?? usual.connections };
  const first = Math.ceil(firstRound / pace.connections);
  await turn(small, first, pace);
  const { postgresMs, eligoMs } = await turn(large, first, pace);
  const operations = Math.ceil(pace.roundMs / Math.max(postgresMs + eligoMs, shortestMs));
  const perConnection = Math.min(Math.max(Math.ceil(operations / pace.connections), first), longestRound);
  // Code that has run less often has not been compiled for speed yet, and what is read was not in memory.
  const warming = Math.ceil(Math.min(warmingOperations, warmingMs / (postgresMs + eligoMs)) / pace.connections);
  const reads = {
    small: await countedTurn(small, Math.max(perConnection, warming), pace),
    large: await countedTurn(large, Math.max(perConnection, warming), pace),
  };
  const turnOf = (side: GrowthSide) => () => turn(side, perConnection, pace);
  return { ...(await costsInTurns(turnOf(small), turnOf(large), pace)), reads };
}

/**
 * What the turns of both sides cost. The side that was second is first in the next round: a machine that slows down slows both. Rounds are added until
 * it is certain on which side of the goal the ratios are.
 */
export async function costsInTurns(
  turnOfSmall: () => Promise<Cost>,
  turnOfLarge: () => Promise<Cost>,
  pace: Pick<GrowthPace, 'rounds' | 'goal'>,
): Promise<GrowthCosts> {
  const rounds: { small: Cost; large: Cost }[] = [];
  const ratios = () => ({
    postgres: ratioOf(rounds.map((round) => round.large.postgresMs / round.small.postgresMs)),
    eligo: ratioOf(rounds.map((round) => round.large.eligoMs / round.small.eligoMs)),
  });
  const isCertain = () =>
    Object.values(ratios()).every(
      ({ value, within }) => sideOfGoal({ ratio: value, within, goal: pace.goal }) !== 'undecided',
    );
  const [fewest, most] = pace.rounds;
  while (rounds.length < fewest || (rounds.length < most && !isCertain())) {
    const isOdd = rounds.length % 2 === 1;
    const early = await (isOdd ? turnOfLarge : turnOfSmall)();
    const late = await (isOdd ? turnOfSmall : turnOfLarge)();
    rounds.push(isOdd ? { small: late, large: early } : { small: early, large: late });
  }
  const of = (read: (round: (typeof rounds)[number]) => number) => median(rounds.map(read));
  return {
    small: { postgresMs: of((round) => round.small.postgresMs), eligoMs: of((round) => round.small.eligoMs) },
    large: { postgresMs: of((round) => round.large.postgresMs), eligoMs: of((round) => round.large.eligoMs) },
    ...ratios(),
  };
}

/** The notch of a box plot: two medians whose notches do not meet differ, with a confidence of 95 %. One round says nothing of its own spread. */
export function ratioOf(ratios: readonly number[]): Ratio {
  const sorted = ratios.toSorted((one, other) => one - other);
  const at = (share: number) => {
    const place = (sorted.length - 1) * share;
    const [low = Number.NaN, high = low] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
    return low + (high - low) * (place - Math.floor(place));
  };
  const within = sorted.length < 2 ? Number.NaN : (1.57 * (at(0.75) - at(0.25))) / Math.sqrt(sorted.length);
  return { value: median(ratios), within };
}

const firstRound = 64;
/** Each connection of a pool plans a statement five times before it keeps the plan, and Node compiles what has run some hundred times. */
const warmingOperations = 600;
const warmingMs = 1_000;
const longestRound = 400;
const shortestMs = 0.1;

async function turn(side: GrowthSide, perConnection: number, pace: GrowthPace): Promise<Cost> {
  const { installation } = side;
  return whileThawed(installation, async () => {
    const texts = await textsOf(side, perConnection, pace);
    await quiet(installation.postgres);
    const before = installation.processorTime();
    const { count } = await loadEach({ load: pace.load, port: installation.port }, texts);
    await quiet(installation.postgres);
    const used = usedBetween(before, installation.processorTime());
    const eligoMs = ownTime(used).reduce((sum, [, ms]) => sum + ms, 0);
    return { postgresMs: (used.postgres ?? 0) / count, eligoMs: eligoMs / count };
  });
}

/** Sends so many requests that do not count. */
export async function warmUp(side: GrowthSide, pace: GrowthPace, requests: number): Promise<void> {
  for (let left = requests; left > 0; left -= longestRound * pace.connections) {
    await turn(side, Math.min(longestRound, Math.ceil(left / pace.connections)), pace);
  }
}

// No other turn pays for counting.
function countedTurn(side: GrowthSide, perConnection: number, pace: GrowthPace): Promise<StatementReads> {
  const { installation } = side;
  return whileThawed(installation, async () => {
    const texts = await textsOf(side, perConnection, pace);
    await quiet(installation.postgres);
    let operations = 0;
    const statements = await readsDuring(installation.postgres, async () => {
      operations = (await loadEach({ load: pace.load, port: installation.port }, texts)).count;
      await quiet(installation.postgres);
    });
    return readsOfOne(statements, operations);
  });
}

async function textsOf({ installation, records, makes, request }: GrowthSide, perConnection: number, pace: GrowthPace) {
  const copies = Math.min(records.copies, copiesInUse);
  const lists = Array.from({ length: pace.connections }, (_, connection) =>
    Array.from({ length: perConnection }, (__, at) => 1 + ((connection * perConnection + at) % copies)),
  );
  const texts = (one: GrowthRequest, made: readonly MadeRecord[] = []) =>
    lists.map((list, connection) =>
      list.map((copy, at) => one({ records, copy, made: made[connection * perConnection + at] })),
    );
  let made: MadeRecord[] | undefined;
  for (const one of makes) {
    const bodies = await pace.load.ask('bodies', {
      port: installation.port,
      connections: pace.connections,
      requests: { kind: 'each', texts: texts(one, made) },
    });
    made = bodies.map(madeIn);
  }
  return texts(request, made);
}

// Every record that a case makes is answered under its envelope.
function madeIn(body: string): MadeRecord {
  const [[envelope, record] = ['', {}]] = Object.entries(JSON.parse(body) as Record<string, Record<string, unknown>>);
  return { envelope, record };
}

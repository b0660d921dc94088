import type { Installation } from '../compare/installation.ts';
import { usedBetween } from '../costs/processor-time.ts';
import { ownTime } from '../costs/stack-groups.ts';
import { loadEach } from '../load-each.ts';
import type { LoadGenerator } from '../processes/generator.ts';
import type { Worker } from '../processes/worker.ts';
import { quiet } from '../quiet.ts';
import { median } from '../rounds.ts';
import type { GrowthCase, GrowthRecords, GrowthRequest } from './cases.ts';

/** One of the two accounts that a case is measured on. */
export interface GrowthSide {
  readonly installation: Installation;
  readonly records: GrowthRecords;
  readonly makes: readonly GrowthRequest[];
  readonly request: GrowthRequest;
  /** Over so many connections, where they would wait for each other otherwise. */
  readonly connections?: number | undefined;
}

/** Milliseconds of processor time of one operation. */
export interface GrowthCost {
  readonly postgresMs: number;
  readonly eligoMs: number;
}

/** What one case costs on either account, medians of the rounds, and the medians of the rounds' own ratios. */
export interface GrowthMeasure {
  readonly small: GrowthCost;
  readonly large: GrowthCost;
  readonly postgresRatio: number;
  readonly eligoRatio: number;
}

/** How a case is measured. */
export interface GrowthPace {
  readonly load: Worker<LoadGenerator>;
  readonly connections: number;
  readonly rounds: number;
  /** Processor time that a round takes at least: it is counted in hundredths of a second. */
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
  const rounds: { small: GrowthCost; large: GrowthCost }[] = [];
  for (let round = 0; round < pace.rounds; round += 1) {
    rounds.push({ small: await turn(small, perConnection, pace), large: await turn(large, perConnection, pace) });
  }
  const of = (read: (round: (typeof rounds)[number]) => number) => median(rounds.map(read));
  return {
    small: { postgresMs: of((round) => round.small.postgresMs), eligoMs: of((round) => round.small.eligoMs) },
    large: { postgresMs: of((round) => round.large.postgresMs), eligoMs: of((round) => round.large.eligoMs) },
    postgresRatio: of((round) => round.large.postgresMs / round.small.postgresMs),
    eligoRatio: of((round) => round.large.eligoMs / round.small.eligoMs),
  };
}

const firstRound = 64;
const longestRound = 400;
const shortestMs = 0.1;

async function turn(side: GrowthSide, perConnection: number, pace: GrowthPace): Promise<GrowthCost> {
  const { installation } = side;
  installation.thaw();
  try {
    const texts = await textsOf(side, perConnection, pace);
    await quiet(installation.postgres);
    const before = installation.processorTime();
    const { count } = await loadEach({ load: pace.load, port: installation.port }, texts);
    await quiet(installation.postgres);
    const used = usedBetween(before, installation.processorTime());
    const eligoMs = ownTime(used).reduce((sum, [, ms]) => sum + ms, 0);
    return { postgresMs: (used.postgres ?? 0) / count, eligoMs: eligoMs / count };
  } finally {
    installation.freeze();
  }
}

async function textsOf({ installation, records, makes, request }: GrowthSide, perConnection: number, pace: GrowthPace) {
  const copies = Math.min(records.copies, copiesInUse);
  const lists = Array.from({ length: pace.connections }, (_, connection) =>
    Array.from({ length: perConnection }, (__, at) => 1 + ((connection * perConnection + at) % copies)),
  );
  const texts = (one: GrowthRequest, ids: readonly string[] = []) =>
    lists.map((list, connection) =>
      list.map((copy, at) => one({ records, copy, id: ids[connection * perConnection + at] })),
    );
  let ids: string[] | undefined;
  for (const one of makes) {
    const made = await pace.load.ask('bodies', {
      port: installation.port,
      connections: pace.connections,
      requests: { kind: 'each', texts: texts(one, ids) },
    });
    ids = made.map(idOf);
  }
  return texts(request, ids);
}

// Every record that a case makes is answered under its envelope, with an identifier of that name.
function idOf(body: string): string {
  const [[envelope, record] = ['', {}]] = Object.entries(JSON.parse(body) as Record<string, Record<string, unknown>>);
  const id = record[`${envelope}_id`];
  if (typeof id !== 'string') throw new Error(`an answer without ${envelope}_id`);
  return id;
}

import { setTimeout as pause } from 'node:timers/promises';
import { apiClient } from '@eligo/testkit';
import {
  type Measured,
  measureRound,
  measureStatements,
  type RoundCosts,
  type StatementCosts,
} from '../costs/write-costs.ts';
import type { ComparedOperation } from '../costs/write-operations.ts';
import type { Topology } from '../figures.ts';
import { homesFolder } from '../homes.ts';
import type { Comparison, Options } from '../options.ts';
import type { LoadGenerator } from '../processes/generator.ts';
import { startProgram, stopAll, type Worker, type WorkerMethods } from '../processes/worker.ts';
import { median } from '../rounds.ts';
import { openBenchShop } from '../seed/shop.ts';
import { type Checkout, openCheckout, presentCheckout } from './checkout.ts';
import { type Installation, startInstallation } from './installation.ts';
import { startStub } from './start-stub.ts';

/** One of the two that are compared. */
interface ComparedSide extends Measured {
  readonly installation: Installation;
}

/** What one operation costs on either side. */
export interface ComparisonRow {
  readonly operation: ComparedOperation;
  readonly topology: Topology;
  readonly ours: SideCosts;
  readonly theirs: SideCosts;
  /** Ours by theirs, the median of the rounds' own ratios. */
  readonly ratio: number;
  readonly sustainedRatio: number;
}

/** Medians over the rounds of one side. */
export interface SideCosts extends Omit<RoundCosts, 'count'> {
  readonly name: string;
  readonly statements: StatementCosts;
}

/** Brings up both codes in each topology, and measures them in turns: A B A B. */
export async function runComparison(
  comparison: Comparison,
  options: Pick<Options, 'sizes' | 'topologies'>,
  onRow: (row: ComparisonRow) => void,
): Promise<void> {
  const within = homesFolder();
  const other = openCheckout(comparison.with, within);
  try {
    for (const topology of options.topologies) {
      await compareIn(topology, [presentCheckout, other], comparison, options.sizes, onRow);
    }
  } finally {
    other.remove();
  }
}

async function compareIn(
  topology: Topology,
  checkouts: readonly [Checkout, Checkout],
  comparison: Comparison,
  sizes: Options['sizes'],
  onRow: (row: ComparisonRow) => void,
): Promise<void> {
  const workers: Worker<WorkerMethods>[] = [];
  const installations: Installation[] = [];
  try {
    const load = await startProgram<LoadGenerator>(workers, 'generator');
    const bringUp = async (checkout: Checkout): Promise<ComparedSide> => {
      const stub = comparison.processor === 'stub' ? await startStub(workers) : undefined;
      const installation = await startInstallation({
        checkout,
        within: homesFolder(),
        topology,
        ...(stub && { stub }),
      });
      installations.push(installation);
      const { file, port } = installation;
      const shop = await openBenchShop(apiClient(file.gateway, file.test_api_key), sizes.connections);
      return { ...installation, installation, place: { load, port, apiKey: file.test_api_key, shop } };
    };
    // Both start before either is measured, and stop before the other is.
    const starting = [bringUp(checkouts[0]), bringUp(checkouts[1])] as const;
    await Promise.allSettled(starting);
    const [ours, theirs] = await Promise.all(starting);
    for (const { installation } of [ours, theirs]) installation.freeze();
    for (const operation of comparison.only) {
      onRow({ operation, topology, ...(await compareOperation(operation, ours, theirs, sizes)) });
    }
  } finally {
    for (const installation of installations) installation.thaw();
    await Promise.all(installations.map((installation) => installation.end()));
    await stopAll(workers);
  }
}

async function compareOperation(
  operation: ComparedOperation,
  ours: ComparedSide,
  theirs: ComparedSide,
  sizes: Options['sizes'],
): Promise<Omit<ComparisonRow, 'operation' | 'topology'>> {
  const paces = [await warmUp(ours, operation, sizes), await warmUp(theirs, operation, sizes)] as const;
  const rounds: { ours: RoundCosts; theirs: RoundCosts }[] = [];
  for (let round = 0; round < sizes.rounds; round += 1) {
    rounds.push({
      ours: await thawed(ours.installation, () => measureRound(ours, operation, paces[0])),
      theirs: await thawed(theirs.installation, () => measureRound(theirs, operation, paces[1])),
    });
  }
  const count = (side: ComparedSide) =>
    thawed(side.installation, () => measureStatements(side, operation, countedPerConnection));
  const ratioOf = (rate: (costs: RoundCosts) => number) =>
    median(rounds.map((pair) => rate(pair.ours) / rate(pair.theirs)));
  return {
    ours: medians(
      ours,
      rounds.map((pair) => pair.ours),
      await count(ours),
    ),
    theirs: medians(
      theirs,
      rounds.map((pair) => pair.theirs),
      await count(theirs),
    ),
    ratio: ratioOf(({ perSecond }) => perSecond),
    sustainedRatio: ratioOf(({ sustainedPerSecond }) => sustainedPerSecond),
  };
}

/** Enough to average what comes once in a while. */
const countedPerConnection = 8;

/** Code that has run less often has not been compiled for speed yet; a side that is slow is not waited for any longer. */
const longestWarmUpMs = 8_000;

// Answers how many operations of each connection fill a round.
async function warmUp(side: ComparedSide, operation: ComparedOperation, sizes: Options['sizes']): Promise<number> {
  return thawed(side.installation, async () => {
    const { connections, seconds, warmUp: enough } = sizes;
    const deadline = performance.now() + longestWarmUpMs;
    let perConnection = Math.ceil(firstRound / connections);
    for (let done = 0; ; ) {
      const { count, perSecond } = await measureRound(side, operation, perConnection);
      done += count;
      perConnection = Math.max(1, Math.round((perSecond * seconds) / connections));
      if (done >= enough.writes || performance.now() > deadline) return perConnection;
    }
  });
}

const firstRound = 64;

function medians({ installation }: ComparedSide, rounds: readonly RoundCosts[], statements: StatementCosts): SideCosts {
  const of = (read: (costs: RoundCosts) => number) => median(rounds.map(read));
  const groups = Object.keys(rounds[0]?.processorMs ?? {});
  return {
    name: installation.name,
    perSecond: of((costs) => costs.perSecond),
    sustainedPerSecond: of((costs) => costs.sustainedPerSecond),
    processorMs: Object.fromEntries(groups.map((name) => [name, of((costs) => costs.processorMs[name] ?? 0)])),
    walBytes: of((costs) => costs.walBytes),
    transactions: of((costs) => costs.transactions),
    statements,
  };
}

// Lets a side that stood still finish what became due meanwhile.
async function thawed<Result>(installation: Installation, work: () => Promise<Result>): Promise<Result> {
  installation.thaw();
  try {
    await pause(catchUpMs);
    return await work();
  } finally {
    installation.freeze();
  }
}

/** Timers that passed while it stood still fire at once; none of them does more than a few statements. */
const catchUpMs = 200;

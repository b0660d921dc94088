import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { homeAt, removeHome } from '@eligo/stack';
import { presentCheckout } from '../compare/checkout.ts';
import { type Installation, startInstallation } from '../compare/installation.ts';
import { startStub } from '../compare/start-stub.ts';
import type { Topology } from '../figures.ts';
import { homesFolder, newHome } from '../homes.ts';
import type { LoadGenerator } from '../processes/generator.ts';
import { startProgram, stopAll, type Worker, type WorkerMethods } from '../processes/worker.ts';
import {
  costOfIdleness,
  countReadsFromHere,
  readsOfTables,
  stopAutovacuum,
  type TableReads,
  tidy,
  whileThawed,
  workOffWhatIsDue,
} from './background.ts';
import { type GrowthRecords, growthCases, notMeasured } from './cases.ts';
import { idleness, jobNames, jobRows } from './job-rows.ts';
import {
  costsInTurns,
  type GrowthCosts,
  type GrowthMeasure,
  type GrowthPace,
  measureGrowth,
  sideOf,
  warmUp,
} from './measure.ts';
import { outcomeOf } from './outcome.ts';
import { grownStatements } from './reads.ts';
import { growthRecords } from './records.ts';
import { type GrowthFailure, type GrowthReport, type GrowthRow, growthGoal, recordsFailure } from './row.ts';
import { type SpecialCase, type SpecialSizes, specialCases, specialNames } from './special.ts';

/** What is measured of growth. */
export interface GrowthOptions {
  readonly topology: Topology;
  /** Only the rows whose names contain one of these. */
  readonly filter: readonly string[] | undefined;
  /** Records in each table of the small and of the large account. */
  readonly records: readonly [number, number];
  readonly special: SpecialSizes;
  readonly connections: number;
  readonly rounds: readonly [number, number];
  readonly roundMs: number;
  /** How many statements or tables are told of each row that is not within its goal. */
  readonly statements: number;
  /** Requests to each side before the first that counts. */
  readonly warmUp: number;
  /** How long an idle stack is watched in each turn. */
  readonly watchedMs: number;
  /** Keeps what was seeded. */
  readonly home: string | undefined;
}

/** What is sent before the first row, and how much of it. */
const warmUpShares: Readonly<Record<string, number>> = {
  'prices.get': 1,
  'checkout_sessions.create': 0.02,
  'checkout_sessions.refund': 0.01,
};

/** Is told of each row, and of each that could not be measured, as it comes. */
export interface GrowthListener {
  onRow(row: GrowthRow): void;
  onFailure(failure: GrowthFailure): void;
}

/** Brings up an installation with few records and one with many, and measures every case on both in turns. */
export async function runGrowth(options: GrowthOptions, listener: GrowthListener): Promise<GrowthReport> {
  const home = options.home ?? newHome();
  const workers: Worker<WorkerMethods>[] = [];
  const running: Installation[] = [];
  const rows: GrowthRow[] = [];
  const failures: GrowthFailure[] = [];
  const note = (row: GrowthRow) => {
    rows.push(row);
    listener.onRow(row);
  };
  const fail = (failure: GrowthFailure) => {
    failures.push(failure);
    listener.onFailure(failure);
  };
  const wanted = (name: string) => options.filter?.some((text) => name.includes(text)) !== false;
  const bringUp = async (name: 'small' | 'large', records: number) => {
    const folder = join(home, name);
    mkdirSync(folder, { recursive: true });
    const stub = await startStub(workers);
    const start = () =>
      startInstallation({
        checkout: { ...presentCheckout, name },
        within: homesFolder(),
        topology: options.topology,
        keptHome: folder,
        // Mails wait: how many are sent in a round would depend on the machine.
        stub: { ...stub, variables: { ...stub.variables, ELIGO_MAIL_FOLDER: '' } },
      });
    const seeding = await start();
    const made = await growthRecords(seeding, join(folder, 'growth.json'), records, (why) =>
      fail(recordsFailure(name, why)),
    ).finally(async () => {
      await stopAutovacuum(seeding.postgres).finally(() => seeding.end());
    });
    const isWatched = jobNames.some(wanted);
    if (isWatched) {
      const working = await start();
      try {
        await workOffWhatIsDue(working, options.watchedMs);
        await countReadsFromHere(working.postgres);
      } finally {
        await working.end();
      }
    }
    const installation = await start();
    running.push(installation);
    if (isWatched) await pause(watchedTurns * options.watchedMs);
    const jobs: TableReads = isWatched ? await readsOfTables(installation.postgres) : new Map();
    installation.freeze();
    return { installation, records: made, jobs };
  };
  // A stack whose clock stands still does not see that its parent has ended.
  const interrupted = () => {
    for (const installation of running) installation.thaw();
    process.exit(130);
  };
  for (const signal of signals) process.once(signal, interrupted);
  try {
    const load = await startProgram<LoadGenerator>(workers, 'generator');
    const pace: GrowthPace = { load, goal: growthGoal, ...options };
    const small = await bringUp('small', options.records[0]);
    const large = await bringUp('large', options.records[1]);
    const measure = async (
      { name, lists }: Pick<SpecialCase, 'name' | 'lists'>,
      ...sides: [Parameters<typeof measureGrowth>[0], Parameters<typeof measureGrowth>[1]]
    ) => {
      try {
        const measured = await measureGrowth(...sides, pace);
        for (const row of rowsOf({ name, lists }, measured, options.statements)) note(row);
      } catch (error) {
        fail({ name, why: (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '' });
      }
    };
    for (const row of jobRows(small.jobs, large.jobs, options.statements)) {
      if (wanted(row.name)) note(row);
    }
    if (wanted(idleness)) {
      const turnOf = (side: Up) => () => costOfIdleness(side.installation, options.watchedMs);
      // A turn of it takes as long as a whole row of another kind.
      const [fewest, most] = options.rounds;
      const rounds = [fewest, Math.min(most, 3 * fewest)] as const;
      const costs = await costsInTurns(turnOf(small), turnOf(large), { ...pace, rounds });
      for (const row of costRows({ name: idleness }, costs)) note(row);
    }
    const cases = growthCases().filter(({ name }) => wanted(name));
    // What all requests share is compiled for speed before the first is measured, and the newest records of the lists are ordinary ones on both sides.
    for (const side of [small, large]) {
      for (const one of growthCases().filter(({ name }) => name in warmUpShares)) {
        const requests = Math.ceil(options.warmUp * (warmUpShares[one.name] ?? 0));
        await warmUp(sideOf(side.installation, side.records, one), pace, requests);
      }
    }
    for (const one of cases) {
      await tidy([small.installation, large.installation]);
      await measure(
        one,
        sideOf(small.installation, small.records, one),
        sideOf(large.installation, large.records, one),
      );
    }
    const special = specialNames.some(wanted) ? await ofSpecialRecords(large, options) : [];
    for (const one of special) {
      if (!wanted(one.name)) continue;
      const side = { installation: large.installation, records: large.records };
      const { connections } = one;
      await measure(one, { ...side, ...one.small, connections }, { ...side, ...one.large, connections });
    }
    return { rows, failures, notMeasured };
  } finally {
    for (const signal of signals) process.off(signal, interrupted);
    for (const installation of running) {
      installation.thaw();
      await installation.end();
    }
    await stopAll(workers);
    if (options.home === undefined) for (const name of ['small', 'large']) removeHome(homeAt(join(home, name)));
    if (options.home === undefined) removeHome(homeAt(home));
  }
}

const signals = ['SIGINT', 'SIGTERM'] as const;

type Up = { readonly installation: Installation; readonly records: GrowthRecords };

// They are taken from the records of the large account, anew with each run.
async function ofSpecialRecords({ installation, records }: Up, options: GrowthOptions) {
  return whileThawed(installation, () => specialCases(installation, records, options.special));
}

type Named = Pick<GrowthRow, 'name'> & { readonly lists?: GrowthRow['lists'] | undefined };

function rowsOf(named: Named, measure: GrowthMeasure, statements: number): GrowthRow[] {
  const { small, large } = measure.reads;
  const [postgres, eligo] = costRows(named, measure);
  const row = { ...postgres, reads: { blocks: [small.blocks, large.blocks], rows: [small.rows, large.rows] } } as const;
  return [{ ...row, grown: outcomeOf(row) === 'within' ? [] : grownStatements(small, large, statements) }, eligo];
}

function costRows({ name, lists }: Named, costs: GrowthCosts): [GrowthRow, GrowthRow] {
  const { small, large, postgres, eligo } = costs;
  const ratioOfCosts = ({ value, within }: GrowthCosts['postgres']) => ({ ratio: value, within, goal: growthGoal });
  const both = { name, ...(lists === undefined ? {} : { lists }) };
  return [
    { ...both, part: 'Postgres', small: small.postgresMs, large: large.postgresMs, ...ratioOfCosts(postgres) },
    { ...both, part: 'Eligo', small: small.eligoMs, large: large.eligoMs, ...ratioOfCosts(eligo) },
  ];
}

/** How long a start is watched, as times of one turn: each job has run once within moments, and those of some seconds and of a minute several times. */
const watchedTurns = 6;

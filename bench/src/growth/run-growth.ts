import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { homeAt, removeHome, serviceNames } from '@eligo/stack';
import { presentCheckout } from '../compare/checkout.ts';
import { type Installation, startInstallation } from '../compare/installation.ts';
import { startStub } from '../compare/start-stub.ts';
import type { Topology } from '../figures.ts';
import { homesFolder, newHome } from '../homes.ts';
import type { LoadGenerator } from '../processes/generator.ts';
import { startProgram, stopAll, type Worker, type WorkerMethods } from '../processes/worker.ts';
import { backgroundBlocks, countFromStart } from './background.ts';
import { type GrowthRecords, growthCases, notMeasured } from './cases.ts';
import { type GrowthPace, measureGrowth, sideOf } from './measure.ts';
import { growthRecords } from './records.ts';
import { type SpecialSizes, specialCases } from './special.ts';

/** What is measured of growth. */
export interface GrowthOptions {
  readonly topology: Topology;
  /** Only the rows whose names contain this. */
  readonly filter: string | undefined;
  /** Records in each table of the small and of the large account. */
  readonly records: readonly [number, number];
  readonly special: SpecialSizes;
  readonly connections: number;
  readonly rounds: number;
  readonly roundMs: number;
  /** How long the idle stacks are watched. */
  readonly watchedMs: number;
  /** Keeps what was seeded. */
  readonly home: string | undefined;
}

/** One row: what one operation costs in the large account by what it costs in the small one. */
export interface GrowthRow {
  readonly name: string;
  readonly part: 'Postgres' | 'Eligo' | 'Postgres blocks';
  readonly small: number;
  readonly large: number;
  readonly ratio: number;
  readonly goal: number;
}

/** Large ÷ small, at most. */
const growthGoal = 1.15;

/** A row that cannot be measured is one that has to be looked at: it is reported with what went wrong, and the others go on. */
export interface GrowthReport {
  readonly rows: readonly GrowthRow[];
  readonly failures: readonly string[];
  readonly notMeasured: Readonly<Record<string, string>>;
}

/** Brings up an installation with few records and one with many, and measures every case on both in turns. */
export async function runGrowth(options: GrowthOptions, onRow: (row: GrowthRow) => void): Promise<GrowthReport> {
  const home = options.home ?? newHome();
  const workers: Worker<WorkerMethods>[] = [];
  const running: Installation[] = [];
  const rows: GrowthRow[] = [];
  const failures: string[] = [];
  const note = (row: GrowthRow) => {
    rows.push(row);
    onRow(row);
  };
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
        stub,
      });
    const seeding = await start();
    const made = await growthRecords(seeding, join(folder, 'growth.json'), records, (short) =>
      failures.push(`${name}: ${short}`),
    ).finally(async () => {
      await countFromStart(seeding).finally(() => seeding.end());
    });
    const installation = await start();
    running.push(installation);
    const blocks = await backgroundBlocks(installation, options.watchedMs);
    installation.freeze();
    return { installation, records: made, blocks };
  };
  try {
    const load = await startProgram<LoadGenerator>(workers, 'generator');
    const pace: GrowthPace = { load, ...options };
    const small = await bringUp('small', options.records[0]);
    const large = await bringUp('large', options.records[1]);
    const wanted = (name: string) => options.filter === undefined || name.includes(options.filter);
    const measure = async (
      name: string,
      ...sides: [Parameters<typeof measureGrowth>[0], Parameters<typeof measureGrowth>[1]]
    ) => {
      try {
        const { small: few, large: many, postgresRatio, eligoRatio } = await measureGrowth(...sides, pace);
        note({
          name,
          part: 'Postgres',
          small: few.postgresMs,
          large: many.postgresMs,
          ratio: postgresRatio,
          goal: growthGoal,
        });
        note({ name, part: 'Eligo', small: few.eligoMs, large: many.eligoMs, ratio: eligoRatio, goal: growthGoal });
      } catch (error) {
        failures.push(`${name}: ${(error instanceof Error ? error.message : String(error)).split('\n')[0]}`);
      }
    };
    for (const row of backgroundRows(small.blocks, large.blocks)) if (wanted(row.name)) note(row);
    for (const one of growthCases().filter(({ name }) => wanted(name))) {
      await measure(
        one.name,
        sideOf(small.installation, small.records, one),
        sideOf(large.installation, large.records, one),
      );
    }
    for (const one of await ofSpecialRecords(large, options)) {
      if (!wanted(one.name)) continue;
      const side = { installation: large.installation, records: large.records };
      const { connections } = one;
      await measure(one.name, { ...side, ...one.small, connections }, { ...side, ...one.large, connections });
    }
    return { rows, failures, notMeasured };
  } finally {
    for (const installation of running) {
      installation.thaw();
      await installation.end();
    }
    await stopAll(workers);
    if (options.home === undefined) for (const name of ['small', 'large']) removeHome(homeAt(join(home, name)));
    if (options.home === undefined) removeHome(homeAt(home));
  }
}

type Up = { readonly installation: Installation; readonly records: GrowthRecords };

// They are taken from the records of the large account, anew with each run.
async function ofSpecialRecords({ installation, records }: Up, options: GrowthOptions) {
  installation.thaw();
  try {
    return await specialCases(installation, records, options.special);
  } finally {
    installation.freeze();
  }
}

function backgroundRows(small: ReadonlyMap<string, number>, large: ReadonlyMap<string, number>): GrowthRow[] {
  return ['gateway', ...serviceNames].map((service) => {
    const blocks = (byRole: ReadonlyMap<string, number>) =>
      [...byRole].filter(([role]) => role.endsWith(service)).reduce((sum, [, read]) => sum + read, 0);
    const [few, many] = [blocks(small), blocks(large)];
    return {
      name: `jobs and relay of ${service}`,
      part: 'Postgres blocks',
      small: few,
      large: many,
      ratio: many / few,
      goal: growthGoal,
    };
  });
}

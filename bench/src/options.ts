import { parseArgs } from 'node:util';
import { type ComparedOperation, comparedOperations } from './costs/write-operations.ts';
import { groups, type Operation, operations, type Topology, topologies } from './figures.ts';
import type { GrowthOptions } from './growth/run-growth.ts';
import { NotUnderstood } from './not-understood.ts';

/** What the bench was asked to do. */
export interface Options {
  readonly json: boolean;
  readonly write: boolean;
  readonly only: readonly Operation[];
  readonly topologies: readonly Topology[];
  readonly sizes: Sizes;
  /** A home whose data is kept and used again; without it one is made and removed. */
  readonly home: string | undefined;
  /** The other code that this one is compared with; then nothing else is measured. */
  readonly compare: Comparison | undefined;
  /** What is measured of growth, in each topology; then nothing else is measured. */
  readonly growth: Omit<GrowthOptions, 'topology'> | undefined;
}

/** Two installations side by side, this code's and another's. */
export interface Comparison {
  /** A commit, or a folder that is ready to start. */
  readonly with: string;
  readonly only: readonly ComparedOperation[];
  readonly processor: 'stub' | 'sandbox';
  /** How many of the statements that cost most are printed for each side and operation. */
  readonly statements: number;
}

/** How much is measured. */
export interface Sizes {
  readonly rounds: number;
  /** Operations of either side before the first round that counts. */
  readonly warmUp: { readonly reads: number; readonly writes: number };
  readonly seconds: number;
  readonly connections: number;
  /** Operations of a round that uses up what was prepared for it. */
  readonly perRound: number;
  /** Prices of the small, the usual and the large account. */
  readonly prices: readonly [number, number, number];
  /** Subscriptions that are due, where few are and where all are. */
  readonly renewals: readonly [number, number];
  /** For how long confirms keep coming at the highest rate while their webhooks are timed. */
  readonly keepUpMs: number;
  /** For how long an idle stack is watched. */
  readonly idleMs: number;
  /** Webhook events per second. */
  readonly eventsPerSecond: number;
  /** Events of the processor per second. */
  readonly processorEventsPerSecond: number;
}

const usage = `usage: npm run bench -- [--only <operation>]… [--topology all-in-one|split] [--rounds 5] [--seconds 2]
  [--home <folder>] [--json] [--write] [--tiny]
  [--only growth [--filter <text>,…] [--records 1000000] [--statements 5]]
  [--compare <commit or folder> [--processor stub|sandbox] [--statements 10]]
operations: ${operations.join(', ')}; or all of: ${Object.keys(groups).join(', ')};
  with --compare: ${comparedOperations.join(', ')}`;

/** Reads the command line; throws with the usage when it is not understood. */
export function readOptions(args: readonly string[]): Options {
  const { values } = parse(args);
  const number = (text: string | undefined, usual: number) => {
    const value = text === undefined ? usual : Number(text);
    if (!Number.isFinite(value) || value <= 0) throw new NotUnderstood(usage);
    return value;
  };
  const tiny = values.tiny === true;
  const seconds = number(values.seconds, tiny ? 0.2 : 2);
  const only = values.only?.flatMap((names) => names.split(','));
  const isGrowth = only?.includes('growth') === true;
  const isComparison = values.compare !== undefined;
  // Counts too small to mean anything would replace what was measured.
  if (tiny && values.write === true) throw new NotUnderstood(`--write does not go with --tiny\n${usage}`);
  return {
    json: values.json === true,
    write: values.write === true,
    only:
      isComparison || isGrowth
        ? []
        : chosen(
            only?.flatMap((name) => groups[name] ?? name),
            operations,
          ),
    growth: isGrowth
      ? {
          filter: values.filter?.split(','),
          records: [tiny ? 50 : 1_000, number(values.records, tiny ? 200 : 1_000_000)],
          special: tiny
            ? { sessionsOfCustomer: 40, pricesOfProduct: 40, lines: 5, refunds: 4 }
            : { sessionsOfCustomer: 20_000, pricesOfProduct: 10_000, lines: 100, refunds: 200 },
          connections: tiny ? 4 : 16,
          rounds: growthRounds(number(values.rounds, tiny ? 1 : 5)),
          roundMs: tiny ? 10 : 150,
          statements: values.statements === undefined ? 0 : number(values.statements, 0),
          warmUp: tiny ? 0 : 10_000,
          watchedMs: tiny ? 1_000 : 15_000,
          home: values.home,
        }
      : undefined,
    compare:
      values.compare === undefined
        ? undefined
        : {
            with: values.compare,
            only: chosen(only, comparedOperations),
            processor: processorOf(values.processor),
            statements: values.statements === undefined ? 0 : number(values.statements, 0),
          },
    topologies: chosen(values.topology, topologies),
    home: values.home,
    sizes: {
      rounds: number(values.rounds, tiny ? 1 : 5),
      warmUp: tiny ? { reads: 0, writes: 0 } : { reads: 20_000, writes: 1_000 },
      seconds,
      connections: tiny ? 4 : 16,
      perRound: Math.ceil(tiny ? 8 : seconds * 200),
      prices: tiny ? [400, 800, 1_200] : [10_000, 100_000, 1_000_000],
      renewals: tiny ? [60, 400] : [1_000, 100_000],
      keepUpMs: tiny ? 1_000 : 60_000,
      idleMs: tiny ? 4_000 : 30_000,
      eventsPerSecond: tiny ? 20 : 200,
      processorEventsPerSecond: tiny ? 50 : 500,
    },
  };
}

// Nine times as many, a third of the spread, where they are too far apart to say. One says nothing of that, and is for a look at what is read.
function growthRounds(fewest: number): [number, number] {
  return [fewest, fewest === 1 ? 1 : fewest * 9];
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        json: { type: 'boolean' },
        write: { type: 'boolean' },
        tiny: { type: 'boolean' },
        only: { type: 'string', multiple: true },
        topology: { type: 'string', multiple: true },
        rounds: { type: 'string' },
        seconds: { type: 'string' },
        home: { type: 'string' },
        compare: { type: 'string' },
        processor: { type: 'string' },
        statements: { type: 'string' },
        filter: { type: 'string' },
        records: { type: 'string' },
      },
    });
  } catch (error) {
    throw new NotUnderstood(`${error instanceof Error ? error.message : error}\n${usage}`);
  }
}

function processorOf(given = 'stub'): Comparison['processor'] {
  if (given !== 'stub' && given !== 'sandbox') throw new NotUnderstood(usage);
  return given;
}

function chosen<Name extends string>(given: readonly string[] | undefined, all: readonly Name[]): readonly Name[] {
  if (given === undefined) return all;
  const found = all.filter((name) => given.includes(name));
  if (found.length !== new Set(given).size) throw new NotUnderstood(usage);
  return found;
}

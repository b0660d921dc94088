import type { Topology } from '../figures.ts';

/** One row: what one operation costs in the large account by what it costs in the small one. */
export interface GrowthRow {
  readonly name: string;
  readonly part: 'Postgres' | 'Eligo' | 'Postgres rows';
  readonly small: number;
  readonly large: number;
  readonly ratio: number;
  /** How far the true ratio may be from it either way; of rows nothing is uncertain. */
  readonly within?: number;
  readonly goal: number;
  /** Blocks that Postgres reads for one operation, and rows that its statements answer or change; of jobs, rows and entries of indexes that they read. */
  readonly reads?: { readonly blocks: readonly [number, number]; readonly rows: readonly [number, number] };
  /** How many identifiers the answers of both sides list, where an exception allows a cost for each. */
  readonly lists?: readonly [number, number];
  /** Of a row past its goal: the statements or tables of which most more is read. */
  readonly grown?: readonly string[];
}

/** Large ÷ small, at most. */
export const growthGoal = 1.15;

/** The records of an account that could not be made, or an operation that could not be measured. The other rows are measured all the same. */
export interface GrowthFailure {
  readonly name: string;
  readonly why: string;
}

/** A failure to make all records of an account. */
export const recordsFailure = (account: string, why: string): GrowthFailure => ({
  name: `${ofRecords}${account}`,
  why,
});
export const isOfRecords = ({ name }: GrowthFailure) => name.startsWith(ofRecords);
const ofRecords = 'records of the account ';

export interface GrowthReport {
  readonly rows: readonly GrowthRow[];
  readonly failures: readonly GrowthFailure[];
  readonly notMeasured: Readonly<Record<string, string>>;
}

/** Where a row was measured, and by which run: its day, commit, machine, records and rounds. */
export interface OfRun {
  readonly topology: Topology;
  readonly run: string;
}

/** What the runs so far have measured. */
export interface KeptGrowth {
  readonly rows: readonly (GrowthRow & OfRun)[];
  readonly failures: readonly (GrowthFailure & OfRun)[];
}

import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Topology, topologies } from '../figures.ts';
import { growthCases } from './cases.ts';
import { growthDocument } from './growth-text.ts';
import { jobNames } from './job-rows.ts';
import { type GrowthFailure, type GrowthRow, isOfRecords, type KeptGrowth, type OfRun } from './row.ts';
import { specialNames } from './special.ts';

/** The rows as they are kept, what people add to them, and where people read both. */
export interface GrowthFiles {
  readonly kept: string;
  readonly notes: string;
  readonly read: string;
}

const folder = join(import.meta.dirname, '..', '..');

export const growthFiles: GrowthFiles = {
  kept: join(folder, 'growth.json'),
  notes: join(folder, 'growth-notes.md'),
  read: join(folder, 'GROWTH.md'),
};

/** Replaces a row of this topology in the kept ones, and writes the document anew. */
export function keepRow(files: GrowthFiles, row: GrowthRow, of: OfRun): void {
  const { rows, failures } = readGrowth(files);
  const isOther = (one: GrowthRow & OfRun) =>
    one.name !== row.name || one.part !== row.part || one.topology !== of.topology;
  writeGrowth(files, {
    rows: [...rows.filter(isOther), { ...row, ...of }],
    failures: failures.filter((one) => one.name !== row.name || one.topology !== of.topology),
  });
}

/** Notes that an operation could not be measured. What an earlier run measured of it in this topology no longer holds. */
export function keepFailure(files: GrowthFiles, failure: GrowthFailure, of: OfRun): void {
  const { rows, failures } = readGrowth(files);
  const isOther = (one: { name: string; topology: Topology }) =>
    one.name !== failure.name || one.topology !== of.topology;
  writeGrowth(files, {
    rows: rows.filter(isOther),
    failures: [...failures.filter(isOther), { ...failure, ...of }],
  });
}

/** Forgets what an earlier run said of the records that it made in this topology: this run says it anew. */
export function forgetRecords(files: GrowthFiles, topology: Topology): void {
  const { rows, failures } = readGrowth(files);
  writeGrowth(files, { rows, failures: failures.filter((one) => one.topology !== topology || !isOfRecords(one)) });
}

/** What earlier runs have measured. */
export function readGrowth({ kept }: GrowthFiles): KeptGrowth {
  if (!existsSync(kept)) return { rows: [], failures: [] };
  const { rows, failures } = JSON.parse(readFileSync(kept, 'utf8')) as KeptGrowth;
  // Of one round nothing is known of its spread, which JSON cannot tell but as null.
  const isUnknown = ({ within }: { within?: number | null }) => within === null;
  return { rows: rows.map((row) => (isUnknown(row) ? { ...row, within: Number.NaN } : row)), failures };
}

/** Writes both files, the rows in the order in which they are measured. */
export function writeGrowth(files: GrowthFiles, growth: KeptGrowth): void {
  const names = [...jobNames, ...growthCases().map(({ name }) => name), ...specialNames];
  const places = new Map(names.map((name, place) => [name, place]));
  const placeOf = ({ name, topology }: { name: string; topology: Topology }) =>
    topologies.indexOf(topology) * (names.length + 1) + (places.get(name) ?? names.length);
  const sorted: KeptGrowth = {
    rows: growth.rows.toSorted((a, b) => placeOf(a) - placeOf(b) || partOrder(a) - partOrder(b)),
    failures: growth.failures.toSorted((a, b) => placeOf(a) - placeOf(b)),
  };
  writeWhole(files.kept, `{"rows":${lines(sorted.rows)},"failures":${lines(sorted.failures)}}\n`);
  const notes = existsSync(files.notes) ? readFileSync(files.notes, 'utf8') : '';
  writeWhole(files.read, growthDocument(sorted, notes));
}

// A line for each, so that a change shows the rows that were measured.
function lines(all: readonly object[]): string {
  return all.length === 0 ? '[]' : `[\n${all.map((one) => JSON.stringify(one)).join(',\n')}\n]`;
}

function partOrder({ part }: GrowthRow): number {
  return part === 'Eligo' ? 1 : 0;
}

// A run that is ended in the middle of it leaves what was there.
function writeWhole(file: string, text: string): void {
  const next = `${file}.next`;
  writeFileSync(next, text);
  renameSync(next, file);
}

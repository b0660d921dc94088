import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { operations, type Row, topologies } from './figures.ts';

/** A row and the run that measured it: its day, commit, machine and rounds. */
export interface Result extends Row {
  readonly run: string;
}

const folder = join(import.meta.dirname, '..');

/** Where the results are kept, and where people read them. */
export const resultFiles = { kept: join(folder, 'results.json'), read: join(folder, 'RESULTS.md') };

/** The results of earlier runs. */
export function readResults(file: string = resultFiles.kept): Result[] {
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : [];
}

export function keepResults(results: readonly Result[], file: string = resultFiles.kept): void {
  const next = `${file}.next`;
  writeFileSync(next, `${JSON.stringify(results, null, 2)}\n`);
  renameSync(next, file);
}

/** The results with this row in place of the one of the same operation and topology, in the order in which they are printed. */
export function withResult(results: readonly Result[], row: Result): Result[] {
  const isOther = ({ operation, topology }: Row) => operation !== row.operation || topology !== row.topology;
  const place = ({ operation, topology }: Row) =>
    topologies.indexOf(topology) * operations.length + operations.indexOf(operation);
  return [...results.filter(isOther), row].sort((a, b) => place(a) - place(b));
}

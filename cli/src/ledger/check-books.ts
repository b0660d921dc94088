import { readFileSync } from 'node:fs';
import { type Database, unscoped } from '@eligo/postgres';
import { requireUnbound } from '../unbound-role.ts';

/** A place where the books do not agree. `unsettled` is on its way; `wrong` must never be. */
export interface Fault {
  readonly state: 'wrong' | 'unsettled';
  readonly fault: string;
  readonly account_id: string | null;
  readonly test_mode: boolean | null;
  readonly id: string;
  readonly detail: string;
}

/** What the processor has: the independent witness, as `/sandbox/charges` and `/sandbox/refunds` list it. */
export interface ProcessorList {
  readonly charges: readonly unknown[];
  readonly refunds: readonly unknown[];
}

/**
 * Compares sessions, intents, attempts, charges, ledger, keys, locks, events and refunds with each other and, when its list is given, with the
 * processor, to the cent. At most 1,000 faults, the wrong ones first. `database` is open as a role that row-level security does not bind: any
 * other would see no rows, and find nothing.
 */
export async function checkBooks(database: Database, processor: ProcessorList | undefined): Promise<Fault[]> {
  await requireUnbound(database);
  return database.rows(books, null, [processor === undefined ? null : JSON.stringify(processor)]);
}

const books = unscoped<Fault>('books.check', readFileSync(new URL('books.sql', import.meta.url), 'utf8'));

import { type Database, unscoped } from '@eligo/postgres';
import { requireUnbound } from '../unbound-role.ts';
import { checkoutChecks } from './checks/checkout-checks.ts';
import { sandboxChecks } from './checks/sandbox-checks.ts';
import { type Fault, Findings } from './findings.ts';
import { checkRanges, type RangeOptions, type Rows } from './ranges.ts';
import { type ProcessorList, StoredList } from './sandbox-list.ts';

export type BooksCheckOptions = Pick<RangeOptions, 'size' | 'onRange'>;

/**
 * Compares sessions, intents, attempts, charges, keys, locks, events and refunds with each other and, when its list is given, with the
 * processor, to the cent. At most 1,000 faults, the wrong ones first. `database` is open as a role that row-level security does not bind: any
 * other would see no rows, and find nothing.
 */
export async function checkBooks(
  database: Database,
  processor: ProcessorList | undefined,
  options: BooksCheckOptions = {},
): Promise<Fault[]> {
  const books = await openBooks(database, processor);
  const findings = new Findings();
  try {
    await books.look(findings, options);
    return findings.faults;
  } finally {
    await books.close();
  }
}

/** The same, range by range: no statement and no memory grows with the books. What was found can be looked at again until they are closed. */
export interface OpenBooks {
  look(findings: Findings, options?: BooksCheckOptions): Promise<void>;
  close(): Promise<void>;
}

export async function openBooks(database: Database, processor: ProcessorList | undefined): Promise<OpenBooks> {
  await requireUnbound(database);
  const rows: Rows = (name, text, values) => database.rows(unscoped<never>(name, text), null, values);
  const list = processor && (await StoredList.open(database, processor));
  return {
    async look(findings, options = {}) {
      // First what the list is compared with: what is charged later is not in it.
      if (list !== undefined) await compareWithList(list, findings, options);
      for (const check of checkoutChecks) await checkRanges(rows, check, findings, options);
    },
    close: async () => list?.close(),
  };
}

async function compareWithList(list: StoredList, findings: Findings, options: BooksCheckOptions): Promise<void> {
  await list.load(options.onRange);
  let again: Promise<void> | undefined;
  // Once for all places that are looked at again.
  const beforeAgain = () => (again ??= list.load(options.onRange));
  for (const check of sandboxChecks) await checkRanges(list.rows, check, findings, { ...options, beforeAgain });
}

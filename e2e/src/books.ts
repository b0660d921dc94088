import { checkBooks, checkLedger, type Fault } from '@eligo/cli';
import { openDatabase } from '@eligo/postgres';
import type { Constellation } from '@eligo/testkit';
import { records } from './records.ts';

/** What `eligo ledger check` finds in a constellation, with the sandbox's own list as the witness. */
export async function booksOf(eligo: Constellation): Promise<Fault[]> {
  const [charges, refunds] = await Promise.all([
    eligo.sandbox('GET', '/sandbox/charges'),
    eligo.sandbox('GET', '/sandbox/refunds'),
  ]);
  const database = openDatabase({ url: eligo.database.adminUrl, applicationName: 'books', max: 1 });
  try {
    const books = await checkBooks(database, { charges: records(charges, 'data'), refunds: records(refunds, 'data') });
    if (books.length > 0) return books;
    // The ledger reads the processor's balance every few seconds, so what it still waits for is no fault here.
    return (await checkLedger(database)).filter(({ state }) => state === 'wrong');
  } finally {
    await database.close();
  }
}

/** Waits until nothing is in flight any more and every book agrees; throws with the faults that stay. */
export async function booksAgree(eligo: Constellation, withinMs = 40_000): Promise<void> {
  const deadline = performance.now() + withinMs;
  for (let firmLooks = 0; ; ) {
    const faults = await booksOf(eligo);
    if (faults.length === 0) return;
    // Records and list are read one after the other, so that what was settled between the two seems wrong once: only what stays is a fault.
    firmLooks = faults.some(({ state }) => state === 'unsettled') ? 0 : firmLooks + 1;
    if (performance.now() > deadline || firmLooks > 2) throw new Error(`the books do not agree:\n${describe(faults)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

function describe(faults: readonly Fault[]): string {
  return faults.map(({ state, fault, id, detail }) => `  ${state} ${fault} ${id}: ${detail}`).join('\n');
}

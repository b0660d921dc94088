import { checkBooks, checkLedger, type Fault, listOfSandbox } from '@eligo/cli';
import { openDatabase } from '@eligo/postgres';
import type { Constellation } from '@eligo/testkit';

/** What `eligo ledger check` finds in a constellation, with the sandbox's own list as the witness; of the ledger only once nothing else is found. */
export async function booksOf(eligo: Constellation): Promise<Fault[]> {
  return look(eligo, (books) => books.length === 0);
}

async function look(eligo: Constellation, isForLedger: (books: readonly Fault[]) => boolean): Promise<Fault[]> {
  const database = openDatabase({ url: eligo.database.adminUrl, applicationName: 'books', max: 1 });
  try {
    const books = await checkBooks(database, listOfSandbox(eligo.processor));
    if (!isForLedger(books)) return books;
    // The ledger reads the processor's balance every few seconds, so what it still waits for is no fault here.
    return [...books, ...(await checkLedger(database)).filter(({ state }) => state === 'wrong')];
  } finally {
    await database.close();
  }
}

/** Waits until nothing is in flight any more and every book agrees; throws with the faults that stay. Resolves with what was in flight last. */
export async function booksAgree(eligo: Constellation, withinMs = 40_000): Promise<string> {
  const deadline = performance.now() + withinMs;
  let last = '';
  for (let firmLooks = 0; ; ) {
    const faults = await booksOf(eligo);
    if (faults.length === 0) return last;
    last = describe(faults);
    // Records and list are read one after the other, so that what was settled between the two seems wrong once: only what stays is a fault.
    firmLooks = faults.some(({ state }) => state === 'unsettled') ? 0 : firmLooks + 1;
    if (performance.now() > deadline || firmLooks > 2) throw new Error(`the books do not agree:\n${describe(faults)}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Stops a constellation with whose tests nothing went wrong in the books: what they leave unsettled, such as a hold, is no fault. */
export async function stopWithBooks(eligo: Constellation | undefined): Promise<void> {
  if (eligo === undefined) return;
  try {
    for (let looks = 1; ; looks += 1) {
      const faults = (await look(eligo, () => true)).filter(({ state }) => state === 'wrong');
      if (faults.length === 0) return;
      // What is settled between two reads seems wrong in one look.
      if (looks === 4) throw new Error(`the books do not agree:\n${describe(faults)}`);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  } finally {
    await eligo.stop();
  }
}

function describe(faults: readonly Fault[]): string {
  return faults.map(({ state, fault, id, detail }) => `  ${state} ${fault} ${id}: ${detail}`).join('\n');
}

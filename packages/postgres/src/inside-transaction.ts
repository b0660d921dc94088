import { AsyncLocalStorage } from 'node:async_hooks';

/** Whether the caller runs inside the function of a `withTx` that has not ended. */
export function insideTransaction(): boolean {
  return running.getStore()?.open === true;
}

/** Throws inside a transaction: what leaves the process must not happen between BEGIN and COMMIT (reliability, rule ii). */
export function refuseInsideTransaction(what = 'a call out of the process'): void {
  if (insideTransaction()) throw new Error(`${what} inside a transaction`);
}

/** The mark that a transaction puts on its async context; `open` ends with it, also for what it left running. */
export interface TransactionMark {
  open: boolean;
}

/** Runs the function with its async context marked. */
export function runMarked<T>(mark: TransactionMark, run: () => T): T {
  return running.run(mark, run);
}

const running = new AsyncLocalStorage<TransactionMark>();

import type { ProcessorAccount } from '@eligo/values';
import type { Processors } from './open-processors.ts';
import type { ProcessorScope } from './processor-account.ts';

/** The rows of a service whose processor account is not stored, because a release that did not store it wrote them. */
export interface RowsWithoutAccount {
  /** The next account and mode after this one that has such rows, or undefined. */
  next(after: ProcessorScope): Promise<ProcessorScope | undefined>;
  /** Stores the account in a page of such rows, at the most. Returns true if there may be more. */
  fill(scope: ProcessorScope, account: ProcessorAccount): Promise<boolean>;
}

/** A job that stores the processor account of such rows: where new money goes, which is where all money went until the account was stored. */
export interface FillAccounts {
  readonly name: string;
  readonly everyMs: number;
  run(signal: AbortSignal): Promise<boolean>;
}

// Pages in one run, so that a stop need not wait; a run that was not enough is followed by the next at once.
const mostPages = 20;
// The release before this one writes such rows as long as one of its processes serves.
const everyMs = 60_000;
const beforeAll: ProcessorScope = { accountId: '', testMode: false };

/**
 * Makes the job. Rows of an account that no processor is configured for stay as they are, and `onNotConfigured` is told of the account: they are filled once
 * one is configured, which must be the one that took the money.
 */
export function fillProcessorAccounts(
  processors: Processors,
  rows: RowsWithoutAccount,
  onNotConfigured: (scope: ProcessorScope) => void,
): FillAccounts {
  // Kept between runs, so that accounts that cannot be filled do not keep a run from those behind them.
  let after = beforeAll;
  return {
    name: 'fill-processor-accounts',
    everyMs,
    async run(signal) {
      for (let page = 0; page < mostPages && !signal.aborted; page++) {
        const scope = await rows.next(after);
        if (scope === undefined) {
          after = beforeAll;
          return false;
        }
        const account = processors.findOf(scope)?.account;
        if (account === undefined) onNotConfigured(scope);
        if (account === undefined || !(await rows.fill(scope, account))) after = scope;
      }
      return true;
    },
  };
}

import type { Database } from '@eligo/postgres';
import type { CallerContext } from '@eligo/proto/caller/v1/caller';
import type { CallerInit, CallOptions } from '@eligo/rpc';
import type { Job } from '@eligo/service';
import type { Change, ChangeQueue } from './change-queue.ts';

/** What of each account is told to a service. */
export interface Telling<Value, Services> {
  /** The name of its job. */
  readonly job: string;
  readonly queue: ChangeQueue<Value>;
  /** The modes in which it is told, one call for each. */
  readonly testModes: readonly boolean[];
  /** Returns once the service has recorded a change. Telling it twice changes nothing. */
  tell(services: Services, change: Change<Value>, call: CallOptions): Promise<unknown>;
}

const pageSize = 100;
/** A service that does not answer takes six seconds of a run for each call of a change; the next run goes on behind these changes. */
const failuresInARow = 3;

/** How long a service has for one call. */
const timeoutMs = 2_000;

/** Tells a service each change of accounts, until it has recorded it. */
export function tellChanges<Value, Services>(
  { job, queue, testModes, tell }: Telling<Value, Services>,
  database: Database,
  services: Services,
  callerFor: (init: CallerInit) => CallerContext,
): Job {
  // Where the next run begins, so that changes that fail do not hold up those behind them.
  let reached = 0n;

  async function settle(change: Change<Value>): Promise<void> {
    for (const testMode of testModes) {
      const caller = callerFor({ accountId: change.accountId, testMode });
      await tell(services, change, { caller, timeoutMs });
    }
    await queue.remove(database, change);
  }

  /** Tells the changes behind a version until all are told, or several in a row fail. Answers the failures. */
  async function tellFrom(after: bigint, signal: AbortSignal): Promise<unknown[]> {
    const failures: unknown[] = [];
    let inARow = 0;
    let last: Change<Value> | undefined;
    do {
      const changes = await queue.page(database, last?.version ?? after, pageSize);
      for (const change of changes) {
        if (signal.aborted) return [];
        const failure = await settle(change).then(
          () => undefined,
          (cause: unknown) => ({ cause }),
        );
        inARow = failure === undefined ? 0 : inARow + 1;
        if (failure !== undefined) failures.push(failure.cause);
        if (inARow < failuresInARow) continue;
        reached = change.version;
        return failures;
      }
      last = changes.length === pageSize ? changes.at(-1) : undefined;
    } while (last !== undefined);
    return failures;
  }

  return {
    name: job,
    // A notice of the change wakes the job; this finds what was not told then.
    everyMs: 60_000,
    async run(signal) {
      const after = reached;
      reached = 0n;
      const failures = await tellFrom(after, signal);
      if (failures.length > 0) throw failures[0];
      // Those before the first one are tried again at once.
      return after > 0n;
    },
  };
}

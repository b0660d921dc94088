import type { Database } from '@eligo/postgres';
import type { CallerContext } from '@eligo/proto/caller/v1/caller';
import type { CallerInit } from '@eligo/rpc';
import type { Job } from '@eligo/service';
import type { Peers } from '../peers.ts';
import { markStatementTold, type StatementToTell, statementsToTell } from './statements-to-tell.ts';

export const tellStatementsJob = 'tell_statements';

const page = 100;
const callMs = 2_000;
/** A checkout that does not answer takes six seconds of a run; the next run goes on behind these. */
const failuresInARow = 3;

/** Sends each account's substantiation to checkout, which needs it to charge renewals. Sending it twice changes nothing. */
export function tellStatements(
  database: Database,
  checkout: Pick<Peers['checkout'], 'recordHealthCardStatement'>,
  callerFor: (init: CallerInit) => CallerContext,
): Job {
  const tell = async (statement: StatementToTell) => {
    const { accountId, substantiation, version } = statement;
    const caller = callerFor({ accountId, testMode: false });
    const request = { substantiation: substantiation ?? '', version };
    await checkout.recordHealthCardStatement(request, { caller, timeoutMs: callMs });
    await markStatementTold(database, statement);
  };
  // Where the next run begins, so that statements that fail do not hold up those behind them.
  let reached = 0n;

  /** Sends the statements behind a version until all are told, or several in a row fail. Answers the failures. */
  async function tellFrom(after: bigint, signal: AbortSignal): Promise<unknown[]> {
    const failures: unknown[] = [];
    let inARow = 0;
    let last: StatementToTell | undefined;
    do {
      const statements = await statementsToTell(database, last?.version ?? after, page);
      for (const statement of statements) {
        if (signal.aborted) return [];
        const failure = await tell(statement).then(
          () => undefined,
          (cause: unknown) => ({ cause }),
        );
        inARow = failure === undefined ? 0 : inARow + 1;
        if (failure !== undefined) failures.push(failure.cause);
        if (inARow < failuresInARow) continue;
        reached = statement.version;
        return failures;
      }
      last = statements.length === page ? statements.at(-1) : undefined;
    } while (last !== undefined);
    return failures;
  }

  return {
    name: tellStatementsJob,
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

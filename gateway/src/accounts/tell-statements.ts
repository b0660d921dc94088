import type { Database } from '@eligo/postgres';
import type { CallerContext } from '@eligo/proto/caller/v1/caller';
import type { CallerInit } from '@eligo/rpc';
import type { Job } from '@eligo/service';
import type { Peers } from '../peers.ts';
import { markStatementTold, type StatementToTell, statementsToTell } from './statements-to-tell.ts';

export const tellStatementsJob = 'tell_statements';

const page = 100;
const callMs = 2_000;

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
  return {
    name: tellStatementsJob,
    // A notice of the change wakes the job; this finds what was not told then.
    everyMs: 60_000,
    async run(signal) {
      const failures: unknown[] = [];
      let last: StatementToTell | undefined;
      do {
        const statements = await statementsToTell(database, last?.version ?? 0n, page);
        for (const statement of statements) {
          if (signal.aborted) return;
          // A statement that fails does not hold up those of other accounts.
          await tell(statement).catch((error: unknown) => failures.push(error));
        }
        last = statements.length === page ? statements.at(-1) : undefined;
      } while (last !== undefined);
      if (failures.length > 0) throw failures[0];
    },
  };
}

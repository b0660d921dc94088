import type { Database } from '@eligo/postgres';
import type { CallerContext } from '@eligo/proto/caller/v1/caller';
import type { CallerInit } from '@eligo/rpc';
import type { Job } from '@eligo/service';
import type { Peers } from '../peers.ts';
import { statementsToTell } from './change-queue.ts';
import { tellChanges, tellTimeoutMs } from './tell-changes.ts';

export const tellStatementsJob = 'tell_statements';

/** Sends each account's substantiation to checkout, which needs it to charge renewals. */
export function tellStatements(
  database: Database,
  checkout: Pick<Peers['checkout'], 'recordHealthCardStatement'>,
  callerFor: (init: CallerInit) => CallerContext,
): Job {
  return tellChanges(database, {
    name: tellStatementsJob,
    queue: statementsToTell,
    async tell({ accountId, value: substantiation, version }) {
      const caller = callerFor({ accountId, testMode: false });
      const request = { substantiation: substantiation ?? '', version };
      await checkout.recordHealthCardStatement(request, { caller, timeoutMs: tellTimeoutMs });
    },
  });
}

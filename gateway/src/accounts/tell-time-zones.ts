import type { Database } from '@eligo/postgres';
import type { CallerContext } from '@eligo/proto/caller/v1/caller';
import type { CallerInit } from '@eligo/rpc';
import type { Job } from '@eligo/service';
import type { Peers } from '../peers.ts';
import { timeZonesToTell } from './change-queue.ts';
import { tellChanges, tellTimeoutMs } from './tell-changes.ts';

export const tellTimeZonesJob = 'tell_time_zones';

/** Sends the time zone of each account to billing, whose receipts and mails name its days. It holds in both modes. */
export function tellTimeZones(
  database: Database,
  billing: Pick<Peers['billing'], 'recordTimeZone'>,
  callerFor: (init: CallerInit) => CallerContext,
): Job {
  return tellChanges(database, {
    name: tellTimeZonesJob,
    queue: timeZonesToTell,
    async tell({ accountId, value: timeZone, version }) {
      for (const testMode of [false, true]) {
        const caller = callerFor({ accountId, testMode });
        await billing.recordTimeZone({ timeZone, version }, { caller, timeoutMs: tellTimeoutMs });
      }
    },
  });
}

import type { Database } from '@eligo/postgres';
import type { CallerContext } from '@eligo/proto/caller/v1/caller';
import type { CallerInit } from '@eligo/rpc';
import type { Job } from '@eligo/service';
import type { Peers } from '../peers.ts';
import { shopNamesToTell } from './change-queue.ts';
import { tellChanges, tellTimeoutMs } from './tell-changes.ts';

export const tellShopNamesJob = 'tell_shop_names';

/** Sends what shoppers call each account's shop to billing, whose mails about renewals name it. */
export function tellShopNames(
  database: Database,
  billing: Pick<Peers['billing'], 'recordShopName'>,
  callerFor: (init: CallerInit) => CallerContext,
): Job {
  return tellChanges(database, {
    name: tellShopNamesJob,
    queue: shopNamesToTell,
    async tell({ accountId, value: name, version }) {
      const caller = callerFor({ accountId, testMode: false });
      await billing.recordShopName({ name, version }, { caller, timeoutMs: tellTimeoutMs });
    },
  });
}

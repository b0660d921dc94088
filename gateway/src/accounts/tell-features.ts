import type { Database } from '@eligo/postgres';
import type { CallerContext } from '@eligo/proto/caller/v1/caller';
import type { CallerInit } from '@eligo/rpc';
import type { Job } from '@eligo/service';
import type { Peers } from '../peers.ts';
import { featuresToTell } from './change-queue.ts';
import { tellChanges, tellTimeoutMs } from './tell-changes.ts';

export const tellFeaturesJob = 'tell_features';

/** Sends what each account can do to billing, which needs it to judge what a renewal is made of. It holds in both modes. */
export function tellFeatures(
  database: Database,
  billing: Pick<Peers['billing'], 'recordAccountFeatures'>,
  callerFor: (init: CallerInit) => CallerContext,
): Job {
  return tellChanges(database, {
    name: tellFeaturesJob,
    queue: featuresToTell,
    async tell({ accountId, value: features, version }) {
      for (const testMode of [false, true]) {
        const caller = callerFor({ accountId, testMode });
        await billing.recordAccountFeatures({ features, version }, { caller, timeoutMs: tellTimeoutMs });
      }
    },
  });
}

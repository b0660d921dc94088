import { type Database, withTx } from '@eligo/postgres';
import { exhaustDeliveries as exhaust, findEndpointsToExhaust } from '../store/deliveries.ts';
import { holdDisabled } from '../store/endpoints.ts';

/** Gives up what was still to be sent to endpoints that are disabled or deleted, a part of each at a time. True when there may be more. */
export async function exhaustDeliveries(database: Database, signal?: AbortSignal): Promise<boolean> {
  const endpoints = await findEndpointsToExhaust(database, mostEndpoints);
  let isMore = endpoints.length === mostEndpoints;
  for (const { scope, webhookId } of endpoints) {
    if (signal?.aborted) return false;
    const isLeft = await withTx(database, scope, async (tx) => {
      // An update may have enabled it in the meantime: then what is left of it is sent.
      return (await holdDisabled(tx, scope, webhookId)) && exhaust(tx, scope, webhookId, 'the endpoint was disabled');
    });
    isMore ||= isLeft;
  }
  return isMore;
}

const mostEndpoints = 100;

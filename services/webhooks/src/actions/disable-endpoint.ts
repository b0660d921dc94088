import { append } from '@eligo/events';
import type { Scope, Tx } from '@eligo/postgres';
import { endpointMessage } from '../messages/records.ts';
import { exhaustDeliveries } from '../store/deliveries.ts';
import { disableEndpoint as disableRow } from '../store/endpoints.ts';

/**
 * Disables an endpoint and gives up what was still to be sent to it, which can be retried for as long as its events are kept (of a long backlog
 * the first part; a job does the rest); an event tells the account's other endpoints. Does nothing when it is disabled already.
 */
export async function disableEndpoint(
  tx: Tx,
  scope: Scope,
  webhookId: string,
  reason: string,
  at: Date,
): Promise<void> {
  const endpoint = await disableRow(tx, scope, webhookId, at);
  if (endpoint === undefined) return;
  await exhaustDeliveries(tx, scope, webhookId, reason);
  await append(tx, {
    type: 'webhook.disabled',
    aggregateId: webhookId,
    accountId: scope.accountId,
    testMode: scope.testMode,
    object: { case: 'webhook', value: endpointMessage(endpoint) },
  });
}

import { create } from '@bufbuild/protobuf';
import { renderEvent } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import { afterCommit, type Scope, withTx } from '@eligo/postgres';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import type { Delivery } from '../domain/delivery.ts';
import type { NewEvent } from '../domain/stored-event.ts';
import { endpointMessage } from '../messages/records.ts';
import { findDelivery, insertWaitingDeliveries, restartDeliveries } from '../store/deliveries.ts';
import { letRetryThrough, lockEndpoint } from '../store/endpoints.ts';
import { insertEvents } from '../store/events.ts';

/**
 * Sends a `webhook.test` event to one endpoint, whatever types it wants, through the machine that sends every other. It goes before waiting deliveries, and an
 * endpoint that has been failing is tried at once.
 */
export function testEndpoint(context: Context, scope: Scope, webhookId: string, requestId: string): Promise<Delivery> {
  return withTx(context.database, scope, async (tx) => {
    const endpoint = await lockEndpoint(tx, scope, webhookId);
    if (endpoint === undefined) throw new Failure('webhook_not_found');
    if (endpoint.status !== 'enabled') throw new Failure('conflict', { detail: 'The endpoint is disabled.' });
    const now = context.clock.now();
    const event = create(EventSchema, {
      eventId: newId('event'),
      type: 'webhook.test',
      accountId: scope.accountId,
      testMode: scope.testMode,
      aggregateId: webhookId,
      occurredAtMs: BigInt(now.getTime()),
      object: { case: 'webhook', value: endpointMessage(endpoint) },
    });
    const deliveryId = newId('delivery');
    const stored: NewEvent = {
      eventId: event.eventId,
      eventType: event.type,
      recordId: webhookId,
      body: Buffer.from(JSON.stringify(renderEvent(event))),
      requestId,
      traceparent: '',
      occurredAt: now,
      createdAt: now,
      testMode: scope.testMode,
    };
    await insertEvents(tx, scope, [stored]);
    const { eventId, type: eventType } = event;
    await letRetryThrough(tx, scope, [webhookId], now);
    await insertWaitingDeliveries(tx, scope, { eventId, eventType }, [{ deliveryId, webhookId }], now);
    await restartDeliveries(tx, scope, eventId, [webhookId], now);
    const delivery = await findDelivery(tx, scope, webhookId, deliveryId);
    if (delivery === undefined) throw new Error('A planned delivery is missing');
    afterCommit(tx, () => context.sender.wake(scope, [webhookId]));
    return delivery;
  });
}

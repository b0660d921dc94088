import { renderEvent } from '@eligo/contract';
import { afterCommit, type Scope, type Tx } from '@eligo/postgres';
import type { Event } from '@eligo/proto/events/v1/events';
import { newId } from '@eligo/values';
import { planDeliveries } from '../store/deliveries.ts';
import { subscribedEndpointIds } from '../store/endpoints.ts';
import { insertEvent } from '../store/events.ts';
import type { Webhooks } from './context.ts';

/**
 * Keeps a public event, its body rendered once and for all, and plans its delivery to each endpoint of its account and mode that wants its
 * type, in the transaction that marks it as consumed. What is not public is left alone.
 */
export async function fanOutEvent(webhooks: Webhooks, tx: Tx, scope: Scope, event: Event): Promise<void> {
  const rendered = renderEvent(event);
  if (rendered === undefined) return;
  const now = webhooks.clock.now();
  const [isNew, webhookIds] = await Promise.all([
    insertEvent(tx, scope, {
      eventId: event.eventId,
      eventType: event.type,
      body: Buffer.from(JSON.stringify(rendered)),
      requestId: event.requestId,
      traceparent: event.traceparent,
      occurredAt: new Date(Number(event.occurredAtMs)),
      createdAt: now,
      testMode: scope.testMode,
    }),
    subscribedEndpointIds(tx, scope, event.type),
  ]);
  if (!isNew || webhookIds.length === 0) return;
  const planned = webhookIds.map((webhookId) => ({ deliveryId: newId('delivery'), webhookId }));
  await planDeliveries(tx, scope, { eventId: event.eventId, eventType: event.type }, planned, now);
  afterCommit(tx, () => webhooks.wake(scope, webhookIds));
}

import { create } from '@bufbuild/protobuf';
import {
  type Delivery as DeliveryMessage,
  DeliverySchema,
  type Endpoint as EndpointMessage,
  EndpointSchema,
  type EventOfRecord as EventOfRecordMessage,
  EventOfRecordSchema,
  type PublicEvent,
  PublicEventSchema,
} from '@eligo/proto/webhooks/v1/webhooks';
import type { Delivery } from '../domain/delivery.ts';
import type { Endpoint } from '../domain/endpoint.ts';
import type { EventOfRecord, StoredEvent } from '../domain/stored-event.ts';

/** An endpoint as other services see it; the secret only in the answers that make one. */
export function endpointMessage(endpoint: Endpoint, signingSecret?: string): EndpointMessage {
  const message = create(EndpointSchema, {
    webhookId: endpoint.webhookId,
    url: endpoint.url,
    events: [...endpoint.events],
    status: endpoint.status,
    testMode: endpoint.testMode,
    createdAtMs: BigInt(endpoint.createdAt.getTime()),
  });
  if (signingSecret !== undefined) message.signingSecret = signingSecret;
  return message;
}

/** A delivery as other services see it: between attempts it has failed, and will be tried again. */
export function deliveryMessage(delivery: Delivery): DeliveryMessage {
  const message = create(DeliverySchema, {
    deliveryId: delivery.deliveryId,
    webhookId: delivery.webhookId,
    eventId: delivery.eventId,
    eventType: delivery.eventType,
    status: delivery.status === 'pending' && delivery.attempts > 0 ? 'failed' : delivery.status,
    attempts: delivery.attempts,
    createdAtMs: BigInt(delivery.createdAt.getTime()),
    testMode: delivery.testMode,
  });
  if (delivery.nextAttemptAt !== null) message.nextAttemptAtMs = BigInt(delivery.nextAttemptAt.getTime());
  if (delivery.lastResponseStatus !== null) message.lastResponseStatus = delivery.lastResponseStatus;
  if (delivery.lastError !== null) message.lastError = delivery.lastError;
  if (delivery.deliveredAt !== null) message.deliveredAtMs = BigInt(delivery.deliveredAt.getTime());
  return message;
}

/** An event as other services see it. */
export function eventMessage(event: StoredEvent): PublicEvent {
  return create(PublicEventSchema, {
    eventId: event.eventId,
    eventType: event.eventType,
    body: event.body,
    eventDtMs: BigInt(event.occurredAt.getTime()),
    testMode: event.testMode,
    createdAtMs: BigInt(event.createdAt.getTime()),
  });
}

/** An event and its deliveries as other services see them. */
export function eventOfRecordMessage(event: EventOfRecord): EventOfRecordMessage {
  return create(EventOfRecordSchema, {
    eventId: event.eventId,
    eventType: event.eventType,
    eventDtMs: BigInt(event.occurredAt.getTime()),
    deliveries: event.deliveries.map(deliveryMessage),
  });
}

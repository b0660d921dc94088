import type { TimelineEntry } from '@eligo/proto/checkout/v1/checkout';
import type { Refund } from '@eligo/proto/refunds/v1/refunds';
import type { Delivery, EventOfRecord } from '@eligo/proto/webhooks/v1/webhooks';
import { centsFromInt64 } from '@eligo/values';
import { z } from 'zod';
import { answer } from '../fields.ts';
import { isoTime } from '../times.ts';
import { deliverySchema, renderDelivery } from './webhook.ts';

/** What a timeline tells of a session. */
export const timelineTypes = [
  'session.created',
  'session.repriced',
  'session.reopened',
  'session.completed',
  'session.canceled',
  'session.expired',
  'payment.created',
  'payment.authentication_requested',
  'payment.outcome_unknown',
  'payment.authorized',
  'payment.succeeded',
  'payment.failed',
  'payment.abandoned',
  'setup.failed',
  'hold.voided',
  'capture.pending',
  'capture.succeeded',
  'capture.failed',
  'letter.requested',
  'letter.approved',
  'letter.denied',
  'letter.expired',
  'refund.created',
  'event.created',
  'webhook.pending',
  'webhook.succeeded',
  'webhook.failed',
  'webhook.exhausted',
] as const;

export const timelineEntrySchema = z.strictObject({
  at: answer.time,
  type: z.enum(timelineTypes),
  object: z.string(),
  amount: answer.cents.nullable(),
  status: answer.text,
  code: answer.text,
  decline_code: answer.text,
  event_type: answer.text,
  delivery: deliverySchema.nullable(),
});

type Entry = z.infer<typeof timelineEntrySchema>;

/** The latest entries of a session's timeline, newest first, of what checkout, refunds and webhooks tell of it. */
export function renderTimeline(
  told: { entries: readonly TimelineEntry[]; refunds: readonly Refund[]; events: readonly EventOfRecord[] },
  most: number,
): { entries: Entry[]; isCut: boolean } {
  // Each part is in its own order: of two entries at one time the later kind goes first.
  const entries = [...told.events.flatMap(ofEvent), ...told.refunds.map(ofRefund), ...told.entries.map(ofSession)].sort(
    (a, b) => (a.at < b.at ? 1 : a.at > b.at ? -1 : 0),
  );
  return { entries: entries.slice(0, most), isCut: entries.length > most };
}

const nothing = { amount: null, status: null, code: null, decline_code: null, event_type: null, delivery: null };

function ofSession(entry: TimelineEntry): Entry {
  return {
    ...nothing,
    at: isoTime(entry.atMs),
    type: entry.type as Entry['type'],
    object: entry.recordId,
    amount: entry.amountCents === undefined ? null : centsFromInt64(entry.amountCents),
    status: entry.status ?? null,
    code: entry.code ?? null,
    decline_code: entry.declineCode ?? null,
  };
}

function ofRefund(refund: Refund): Entry {
  return {
    ...nothing,
    at: isoTime(refund.createdAtMs),
    type: 'refund.created',
    object: refund.refundId,
    amount: centsFromInt64(refund.amountCents),
    status: refund.status,
  };
}

function ofEvent({ eventId, eventType, eventDtMs, deliveries }: EventOfRecord): Entry[] {
  const event: Entry = {
    ...nothing,
    at: isoTime(eventDtMs),
    type: 'event.created',
    object: eventId,
    event_type: eventType,
  };
  return [...deliveries.map(ofDelivery), event];
}

function ofDelivery(delivery: Delivery): Entry {
  return {
    ...nothing,
    at: isoTime(delivery.deliveredAtMs ?? delivery.createdAtMs),
    type: `webhook.${delivery.status}` as Entry['type'],
    object: delivery.deliveryId,
    status: delivery.status,
    event_type: delivery.eventType,
    delivery: renderDelivery(delivery),
  };
}

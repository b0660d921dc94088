import type { Event } from '@eligo/proto/events/v1/events';
import type { JsonObject } from './json.ts';
import { type EventCase, type RecordKind, type RecordName, records } from './records.ts';
import { isoTime, unixSeconds } from './times.ts';

/** The events that partners can subscribe to, and the record that each carries (decisions 7 and 8). */
export const publicEvents = {
  'charge.captured': 'charge',
  'charge.dispute.closed': 'dispute',
  'charge.dispute.created': 'dispute',
  'charge.dispute.funds_reinstated': 'dispute',
  'charge.dispute.funds_withdrawn': 'dispute',
  'charge.dispute.updated': 'dispute',
  'charge.failed': 'charge',
  'charge.refunded': 'charge',
  'charge.succeeded': 'charge',
  'checkout.session.async_payment_failed': 'checkout_session',
  'checkout.session.async_payment_succeeded': 'checkout_session',
  'checkout.session.completed': 'checkout_session',
  'checkout.session.expired': 'checkout_session',
  'checkout.session.refunded': 'checkout_session',
  'consultation.approved': 'letter',
  'consultation.denied': 'letter',
  'consultation.expired': 'letter',
  'consultation.will_expire': 'letter',
  'customer.created': 'customer',
  'customer.deleted': 'customer',
  'customer.subscription.created': 'subscription',
  'customer.subscription.deleted': 'subscription',
  'customer.subscription.trial_will_end': 'subscription',
  'customer.subscription.updated': 'subscription',
  'customer.updated': 'customer',
  'invoice.created': 'invoice',
  'invoice.finalized': 'invoice',
  'invoice.marked_uncollectible': 'invoice',
  'invoice.paid': 'invoice',
  'invoice.payment_failed': 'invoice',
  'invoice.voided': 'invoice',
  'payment_intent.canceled': 'payment_intent',
  'payment_intent.created': 'payment_intent',
  'payment_intent.hold_will_lapse': 'payment_intent',
  'payment_intent.payment_failed': 'payment_intent',
  'payment_intent.succeeded': 'payment_intent',
  'product.updated': 'product',
  'refund.created': 'refund',
  'refund.updated': 'refund',
  'webhook.disabled': 'webhook',
  'webhook.test': 'webhook',
} as const satisfies Record<string, RecordName>;

/** The type of an event that partners can subscribe to. */
export type PublicEventType = keyof typeof publicEvents;

export const publicEventTypes = Object.keys(publicEvents) as PublicEventType[];

function isPublicEventType(type: string): type is PublicEventType {
  return Object.hasOwn(publicEvents, type);
}

/**
 * The body of an event as partners receive it: the record inside is rendered exactly as REST renders it without expansion, but for a
 * letter's `reviewer`: an event names no person. Undefined for an event that is not public. The same message always gives the same bytes.
 */
export function renderEvent(event: Event): JsonObject | undefined {
  if (!isPublicEventType(event.type)) return undefined;
  const record = renderObject(event);
  if (record === undefined) throw new Error(`Event type ${event.type} carries no record`);
  return {
    event_id: event.eventId,
    event_type: event.type,
    object: { [publicEvents[event.type]]: record },
    event_dt: unixSeconds(event.occurredAtMs),
    test_mode: event.testMode,
    created_at: isoTime(event.occurredAtMs),
  };
}

function renderObject({ object }: Event): JsonObject | undefined {
  if (object.case === undefined) return undefined;
  const rendered = carried.get(object.case)?.render(object.value as never);
  if (object.case !== 'letter' || rendered === undefined) return rendered;
  const { reviewer: _left, ...letter } = rendered;
  return letter;
}

// The records that events can carry.
const carried = new Map(
  (Object.values(records) as RecordKind<never>[]).flatMap((kind): [EventCase, RecordKind<never>][] =>
    kind.eventCase === undefined ? [] : [[kind.eventCase, kind]],
  ),
);

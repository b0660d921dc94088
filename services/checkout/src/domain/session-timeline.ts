import type { Cents } from '@eligo/values';

/** What can happen to a session, as checkout's records have it. */
export type TimelineType =
  | 'session.created'
  | 'session.repriced'
  | 'session.reopened'
  | 'session.completed'
  | 'session.canceled'
  | 'session.expired'
  | 'payment.created'
  | 'payment.authentication_requested'
  | 'payment.outcome_unknown'
  | 'payment.authorized'
  | 'payment.succeeded'
  | 'payment.failed'
  | 'payment.abandoned'
  | 'setup.failed'
  | 'hold.voided'
  | 'capture.pending'
  | 'capture.succeeded'
  | 'capture.failed'
  | 'letter.requested'
  | 'letter.approved'
  | 'letter.denied'
  | 'letter.expired';

/** One thing that happened to a session. */
export interface TimelineEntry {
  readonly at: Date;
  readonly type: TimelineType;
  /** The record that it happened to. */
  readonly recordId: string;
  readonly amountCents: Cents | null;
  /** How the record stands now. */
  readonly status: string | null;
  /** Why it happened. */
  readonly code: string | null;
  readonly declineCode: string | null;
}

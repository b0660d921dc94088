import Stripe from 'stripe';
import { TransportError } from './connections.ts';
import type { Declined, NotNow, Rejected, Unknown, UnknownReason } from './outcomes.ts';

/** What a failed call means, by the SDK's error. Texts stay behind: they may quote what was sent. */
export function outcomeOfError(error: unknown): Declined | Rejected | NotNow | Unknown {
  if (!(error instanceof Stripe.errors.StripeError)) return unknown('unreadable', true);
  if (error instanceof Stripe.errors.StripeConnectionError) {
    const { detail } = error;
    if (!(detail instanceof TransportError)) return unknown('connection', true);
    return unknown(detail.reason, !detail.neverSent);
  }
  const status = error.statusCode;
  const replayed = error.headers?.['idempotent-replayed'] === 'true';
  if (status === undefined) return unknown('unreadable', true);
  if (status >= 500) return unknown('server_error', true, replayed);
  if (status === 409) return unknown('in_progress', true);
  if (status === 429 || error.code === 'rate_limit') {
    return replayed ? unknown('rate_limited', true, replayed) : notNow(error.headers?.['retry-after']);
  }
  if (status === 402 && error.rawType === 'card_error') return declined(error);
  return { kind: 'rejected', code: error.code ?? error.rawType ?? 'refused', status, param: error.param };
}

/** The intent that came with an error, if any: what an intent stands at says more than why a call on it was refused. */
export function intentOfError(error: unknown): Stripe.PaymentIntent | undefined {
  return error instanceof Stripe.errors.StripeError ? error.payment_intent : undefined;
}

export function unknown(reason: UnknownReason, mayHaveHappened: boolean, replayed = false): Unknown {
  return { kind: 'unknown', reason, mayHaveHappened, replayed };
}

/** Turned away for now. The wait is bounded: no header makes us ask in a loop, or puts a charge off for hours. */
export function notNow(retryAfter: string | null | undefined): NotNow {
  // HTTP also allows a date here, but Stripe sends seconds.
  const seconds = Number(retryAfter) || 0;
  const bounded = Math.min(Math.max(seconds, leastRetryAfterSeconds), mostRetryAfterSeconds);
  return { kind: 'not_now', retryAfterMs: Math.ceil(bounded * 1_000) };
}

const leastRetryAfterSeconds = 1;
const mostRetryAfterSeconds = 60;

function declined(error: Stripe.errors.StripeError): Declined {
  return {
    kind: 'declined',
    code: error.code ?? 'card_declined',
    declineCode: error.decline_code,
    chargeId: error.charge,
  };
}

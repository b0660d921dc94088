import type Stripe from 'stripe';

/** When the processor responded, by its own clock: the `Date` of RFC 9110, section 6.6.1. Undefined if the response has none. */
export function respondedAt({ lastResponse }: Stripe.Response<object>): Date | undefined {
  const at = new Date(lastResponse.headers.date ?? '');
  return Number.isNaN(at.getTime()) ? undefined : at;
}

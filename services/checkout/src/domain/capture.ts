import type { Cents } from '@eligo/values';

/** Who asked for a capture: the partner for a session or for one payment intent, the checkout page's plan, or an approved letter. */
export type CaptureCause = 'session' | 'payment_intent' | 'page' | 'letter';

/** A capture of the holds of a session. Partners see it once it has succeeded. */
export interface Capture {
  readonly id: string;
  readonly sessionId: string;
  readonly cause: CaptureCause;
  readonly status: 'pending' | 'succeeded' | 'failed';
  readonly amountCents: Cents;
  readonly taxCents: Cents;
  readonly shippingCents: Cents;
  readonly discountCents: Cents;
  /** No hold of the session remains once it has succeeded. */
  readonly isFinal: boolean;
  readonly metadata: Readonly<Record<string, string>>;
  readonly failureCode: string | null;
  readonly createdAt: Date;
}

/** What a capture takes of one line. */
export interface CapturedLine {
  readonly priceId: string;
  readonly paymentIntentId: string;
  readonly amountCents: Cents;
}

/** A capture with its lines, as partners see it. */
export interface CaptureRecord extends Capture {
  readonly lines: readonly CapturedLine[];
}

import type { z } from 'zod';
import type { checkoutSessionSchema } from '../resources/checkout-session.ts';

type Session = z.infer<typeof checkoutSessionSchema>;

export type PageState = 'open' | 'complete' | 'letter_pending' | 'canceled' | 'expired';

/** What the browser of a shopper is told of a session. Amounts are in cents, times in Unix seconds. */
export interface PageView {
  readonly state: PageState;
  /** The outcome of a payment is still to come: ask again. */
  readonly payment_in_flight: boolean;
  readonly mode: Session['mode'];
  readonly test_mode: boolean;
  readonly expires_at: number;
  readonly shop: { readonly name: string; readonly logo_url: string | null; readonly accent_color: string | null };
  readonly lines: readonly PageLine[];
  readonly totals: {
    readonly subtotal: number;
    readonly discount: number;
    readonly shipping: number;
    readonly tax: number;
    readonly fees: number;
    readonly total: number;
  };
  readonly shipping_name: string | null;
  readonly due_now: number;
  /** What of `due_now` a health card pays, and what then remains for another card. */
  readonly health_card_amount: number;
  readonly other_card_amount: number;
  readonly trial_end: number | null;
  readonly manual_capture: boolean;
  readonly letter_required: boolean;
  readonly next_action: Session['next_action'];
  readonly collects_address: boolean;
  readonly shipping_details: Session['shipping_details'];
  readonly custom_text: Session['custom_text'];
  /** The processor's card fields, in a frame of their own origin; null where this shop cannot take cards. */
  readonly card_fields: { readonly url: string; readonly origin: string } | null;
  readonly success_url: string | null;
  readonly cancel_url: string | null;
}

export interface PageLine {
  readonly description: string | null;
  readonly quantity: number;
  readonly amount_subtotal: number;
  readonly amount_eligible: number;
  /** The class of its eligibility; null counts as not eligible. */
  readonly eligibility: string | null;
  readonly recurring: { readonly interval: string; readonly interval_count: number } | null;
}

import type { z } from 'zod';
import type { checkoutSessionSchema } from '../resources/checkout-session.ts';

type Session = z.infer<typeof checkoutSessionSchema>;

export type PageState = 'open' | 'complete' | 'letter_pending' | 'canceled' | 'expired';

/** What the browser of a shopper is told of a session or an invoice. Amounts are in cents, times in Unix seconds. */
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
  /** Names the amounts: a payment says which the shopper saw. Null where there are none to agree to. */
  readonly split_version: string | null;
  /** Whether a code can be entered or removed now, and the one that was entered with what it takes off. */
  readonly promo_code: {
    readonly can_change: boolean;
    readonly entered: { readonly code: string; readonly amount: number } | null;
  };
  readonly shipping_name: string | null;
  readonly due_now: number;
  /** What of `due_now` a health card pays, and what then remains for another card. */
  readonly health_card_amount: number;
  readonly other_card_amount: number;
  /** The shop takes no health cards, whatever is eligible: another card pays everything. */
  readonly refuses_health_cards: boolean;
  readonly trial_end: number | null;
  /** What each card pays at the first renewal after a trial; null where no trial begins. */
  readonly first_renewal: { readonly health_card_amount: number; readonly other_card_amount: number } | null;
  /** The shop captures by itself, and has not finished. */
  readonly manual_capture: boolean;
  /** What the shop has captured so far; null where Eligo captures. */
  readonly amount_captured: number | null;
  readonly letter_required: boolean;
  /** A letter was denied: its items are not eligible any more, and the holds are released. */
  readonly letter_denied: boolean;
  /** The reviewer of the letter needs the shopper's answers. */
  readonly asks_letter_questions: boolean;
  readonly next_action: Session['next_action'];
  /** The receipt or a later mail of a subscription has no address to go to. */
  readonly collects_email: boolean;
  /** What the shopper typed as their e-mail address before; null where nothing was typed, or it is not asked for any more. */
  readonly email: string | null;
  readonly collects_address: boolean;
  /** Codes of the countries that the address may be in; at least one. */
  readonly shipping_countries: readonly string[];
  readonly shipping_details: Session['shipping_details'];
  readonly custom_text: Session['custom_text'];
  /** The processor's card fields, in a frame of their own origin; null where this shop cannot take cards. */
  readonly card_fields: SandboxFields | StripeFields | null;
  /** The bank of a card asks the shopper to confirm the payment; null where it does not. */
  readonly authentication: PageAuthentication | null;
  readonly success_url: string | null;
  readonly cancel_url: string | null;
}

/** The sandbox's fields. */
export interface SandboxFields {
  readonly kind: 'sandbox';
  readonly url: string;
  readonly origin: string;
}

/** Stripe's Payment Element, which Stripe's own script shows. */
export interface StripeFields {
  readonly kind: 'stripe';
  readonly publishable_key: string;
  /** The connected account; null for the key's own. */
  readonly account: string | null;
  /** The card is kept. */
  readonly keeps_card: boolean;
  /** It is kept for payments with the shopper alone. */
  readonly on_session_only: boolean;
}

/** What the browser carries out an authentication with: a frame of the sandbox's bank, or the secret that Stripe's script needs. */
export type PageAuthentication =
  | { readonly kind: 'sandbox'; readonly url: string; readonly origin: string }
  | (Pick<StripeFields, 'kind' | 'publishable_key' | 'account'> & { readonly client_secret: string });

export interface PageLine {
  readonly description: string | null;
  readonly quantity: number;
  readonly amount_subtotal: number;
  readonly amount_eligible: number;
  /** The class of its eligibility; null counts as not eligible. */
  readonly eligibility: string | null;
  readonly recurring: { readonly interval: string; readonly interval_count: number } | null;
}

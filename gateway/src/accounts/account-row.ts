import type { Substantiation } from './substantiation.ts';

/** An account, as it is stored and as those who administer it see it. */
export interface Account {
  readonly account_id: string;
  readonly name: string;
  readonly organization_id: string | null;
  readonly features: readonly string[];
  readonly substantiation: Substantiation | null;
  readonly substantiation_set_by: string | null;
  readonly substantiation_set_at: Date | null;
  /** What its checkout pages show: a name in place of `name`, a logo, the color of the button. */
  readonly display_name: string | null;
  readonly logo_url: string | null;
  readonly accent_color: string | null;
  /** Where its shoppers may have their orders sent: country codes with commas between them; null: the United States alone. */
  readonly shipping_countries: string | null;
  /** With it, live checkout pages show the card fields of Stripe. */
  readonly publishable_key: string | null;
  /** What it takes for the review of a letter of medical necessity. */
  readonly letter_fee_cents: number;
  /** The IANA name of the time zone whose days its receipts, invoices and mails name. */
  readonly time_zone: string;
}

export const accountColumns = `account_id, name, organization_id, features, substantiation, substantiation_set_by, substantiation_set_at,
  display_name, logo_url, accent_color, shipping_countries, publishable_key, letter_fee_cents, time_zone`;

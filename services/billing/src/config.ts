import { type MailSettings, readMailSettings } from '@eligo/mail';
import type { EnvironmentReader } from '@eligo/service';
import { type PageUrls, readPageUrls } from './page-urls.ts';

/** What billing reads from its environment, beside what every service does. */
export interface BillingSettings {
  readonly mail: MailSettings;
  /** Makes the URLs of the payment pages of invoices. */
  readonly pages: PageUrls;
  /** How long a process holds a due subscription: longer than a step takes, which is two calls to other services and a charge of each of two cards. */
  readonly leaseMs: number;
}

/**
 * Reads how customers are mailed: `ELIGO_SMTP_URL`, `ELIGO_MAIL_FROM` and `ELIGO_MAIL_FOLDER`; `ELIGO_PUBLIC_URL` and `ELIGO_PAGE_KEY`: where customers pay
 * invoices, and what signs the URLs of these pages. `ELIGO_RENEWAL_LEASE_MS`: how long a process holds a due subscription.
 */
export function readBillingSettings(env: EnvironmentReader): BillingSettings {
  const leaseMs = env.integer('ELIGO_RENEWAL_LEASE_MS', { default: 60_000, min: 1_000, max: 600_000 });
  return { mail: readMailSettings(env), pages: readPageUrls(env), leaseMs };
}

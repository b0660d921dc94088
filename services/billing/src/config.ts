import { type MailSettings, readMailSettings } from '@eligo/mail';
import type { EnvironmentReader } from '@eligo/service';
import { type PageUrls, readPageUrls } from './page-urls.ts';

/** What billing reads from its environment, beside what every service does. */
export interface BillingSettings {
  readonly mail: MailSettings;
  /** Makes the URLs of the payment pages of invoices. */
  readonly pages: PageUrls;
}

/**
 * Reads how customers are mailed: `ELIGO_SMTP_URL`, `ELIGO_MAIL_FROM` and `ELIGO_MAIL_FOLDER`; `ELIGO_PUBLIC_URL` and `ELIGO_PAGE_KEY`: where customers pay
 * invoices, and what signs the URLs of these pages.
 */
export function readBillingSettings(env: EnvironmentReader): BillingSettings {
  return { mail: readMailSettings(env), pages: readPageUrls(env) };
}

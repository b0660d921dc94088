import { type MailSettings, readMailSettings } from '@eligo/mail';
import type { EnvironmentReader } from '@eligo/service';

/** What billing reads from its environment, beside what every service does. */
export interface BillingSettings {
  readonly mail: MailSettings;
}

/** Reads where receipts are mailed: `ELIGO_SMTP_URL`, `ELIGO_MAIL_FROM` and `ELIGO_MAIL_FOLDER`. */
export function readBillingSettings(env: EnvironmentReader): BillingSettings {
  return { mail: readMailSettings(env) };
}

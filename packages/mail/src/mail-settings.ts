import type { EnvironmentReader } from '@eligo/service';

/** Where mails go. */
export interface MailSettings {
  /** `smtp://` or `smtps://` with user and password if the server asks for them; undefined: no server. */
  readonly smtpUrl: string | undefined;
  /** Keeps each mail as a file instead; undefined: no folder. */
  readonly folder: string | undefined;
  /** The sender of every mail: an address, or a name with one in angle brackets. */
  readonly from: string;
}

/**
 * Reads `ELIGO_SMTP_URL`, `ELIGO_MAIL_FOLDER` and `ELIGO_MAIL_FROM`. Without a server and a folder no mail is sent; the mails that are asked for
 * wait until there is one.
 */
export function readMailSettings(env: EnvironmentReader): MailSettings {
  const smtpUrl = env.optional('ELIGO_SMTP_URL') === undefined ? undefined : env.secretUrl('ELIGO_SMTP_URL');
  const folder = env.optional('ELIGO_MAIL_FOLDER');
  if (smtpUrl !== undefined && !/^smtps?:\/\//.test(smtpUrl)) {
    env.problem('ELIGO_SMTP_URL must start with smtp:// or smtps://');
  }
  if (smtpUrl !== undefined && folder !== undefined) {
    env.problem('Set either ELIGO_SMTP_URL or ELIGO_MAIL_FOLDER, not both');
  }
  const from = env.optional('ELIGO_MAIL_FROM') ?? '';
  if (smtpUrl !== undefined && !from.includes('@')) {
    env.problem('ELIGO_MAIL_FROM must be an address when ELIGO_SMTP_URL is set');
  }
  return { smtpUrl, folder, from: from || 'Eligo <eligo@localhost>' };
}

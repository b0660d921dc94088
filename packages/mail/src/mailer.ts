import type { SentMessageInfo, Transporter } from 'nodemailer';
import { keepMail } from './kept-mails.ts';
import type { MailSettings } from './mail-settings.ts';

/** One mail. */
export interface Mail {
  /** The same for every try of one mail, so that a server or a reader can drop the second copy. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly html: string;
  readonly attachments: readonly {
    readonly filename: string;
    readonly contentType: string;
    readonly content: Buffer;
  }[];
}

/** `rejected`: the server refuses this mail for good. `failed`: another try may succeed. `code` names no address. */
export type MailOutcome =
  | { readonly kind: 'sent' }
  | { readonly kind: 'rejected'; readonly code: string }
  | { readonly kind: 'failed'; readonly code: string };

/** Sends mails. */
export interface Mailer {
  /** False where neither a server nor a folder is configured. */
  readonly isConfigured: boolean;
  send(mail: Mail): Promise<MailOutcome>;
  close(): void;
}

/** A connection and the server's answer take at most this long. */
const timeoutMs = 10_000;

/** Opens the mailer; it connects with the first mail. */
export function openMailer({ smtpUrl, folder, from }: MailSettings): Mailer {
  let transport: Promise<Transporter<SentMessageInfo>> | undefined;
  // Loaded with the first mail: most processes send none.
  const opened = () => {
    transport ??= openTransport(smtpUrl);
    return transport;
  };
  return {
    isConfigured: smtpUrl !== undefined || folder !== undefined,
    async send({ id, to, attachments, ...mail }) {
      const sender = await opened();
      // As one address: a text would be read as a list of them.
      const message = {
        ...mail,
        from,
        to: { name: '', address: to },
        messageId: `<${id}@eligo>`,
        attachments: [...attachments],
      };
      try {
        const info = await sender.sendMail(message);
        if (smtpUrl === undefined && folder !== undefined) keepMail(folder, id, info.message as Buffer);
        return { kind: 'sent' };
      } catch (error) {
        return outcomeOf(error);
      }
    },
    close() {
      void transport?.then((sender) => sender.close());
    },
  };
}

async function openTransport(smtpUrl: string | undefined): Promise<Transporter<SentMessageInfo>> {
  const { createTransport } = await import('nodemailer');
  if (smtpUrl === undefined) {
    return createTransport({ streamTransport: true, buffer: true, newline: 'unix' }) as Transporter<SentMessageInfo>;
  }
  const { protocol, hostname, port, username, password } = new URL(smtpUrl);
  const secure = protocol === 'smtps:';
  return createTransport({
    host: hostname,
    port: port === '' ? (secure ? 465 : 587) : Number(port),
    secure,
    ...(username === '' ? {} : { auth: { user: decodeURIComponent(username), pass: decodeURIComponent(password) } }),
    // A password goes over an encrypted connection only.
    requireTLS: !secure && username !== '',
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    disableFileAccess: true,
    disableUrlAccess: true,
  }) as Transporter<SentMessageInfo>;
}

// A 5xx to the envelope or the message is the server's last word on this mail; to a login it is not.
function outcomeOf(error: unknown): MailOutcome {
  const { code = 'unknown', responseCode } = error as { code?: string; responseCode?: number };
  const isFinal = code !== 'EAUTH' && responseCode !== undefined && responseCode >= 500;
  const name = responseCode === undefined ? code : `${code}_${responseCode}`;
  return isFinal ? { kind: 'rejected', code: name } : { kind: 'failed', code: name };
}

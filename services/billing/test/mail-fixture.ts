import { openMailer } from '@eligo/mail';
import { type SmtpServer, startSmtpServer } from '@eligo/mail/test-support';
import type { Scope } from '@eligo/postgres';
import { expect } from 'vitest';
import { type Fixture, openFixture, someScope } from './fixture.ts';

/** Billing that mails by a server of its own. */
export interface MailFixture extends Fixture {
  readonly server: SmtpServer;
  /** Forgets the mails of the test before. Returns an account of the next one's own. */
  nextScope(): Scope;
  /** The mails that the server has taken, in their order. */
  readMails(): ReadMail[];
  /** One of these, the first unless said otherwise. */
  readMail(index?: number): ReadMail;
}

/** A mail as its reader shows it. */
export interface ReadMail {
  readonly to: string;
  readonly subject: string | undefined;
  readonly text: string;
}

export async function openMailFixture(): Promise<MailFixture> {
  const server = await startSmtpServer();
  const mailer = openMailer({ smtpUrl: server.url, folder: undefined, from: 'Shop <shop@example.com>' });
  const on = await openFixture({ mailer });
  const readMails = () => server.mails.map(readMail);
  return {
    ...{ ...on, server, readMails },
    nextScope() {
      server.mails.length = 0;
      return someScope();
    },
    readMail: (index = 0) => readMails()[index] ?? expect.fail(`There is no mail ${index}`),
    async close() {
      mailer.close();
      await on.close();
      await server.close();
    },
  };
}

function readMail({ to, data }: SmtpServer['mails'][number]): ReadMail {
  const text = data
    .slice(data.search(/\r?\n\r?\n/))
    .replaceAll(/=\r?\n/g, '')
    .replaceAll('=3D', '=')
    .replaceAll(/\s+/g, ' ');
  return { to, subject: /^Subject: (.*)$/m.exec(data)?.[1]?.trim(), text };
}

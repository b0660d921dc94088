import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readEnvironment } from '@eligo/service';
import { afterEach, describe, expect, test } from 'vitest';
import { type Mail, openMailer, readMailSettings } from '../src/index.ts';
import { startSmtpServer } from '../test-support/smtp-server.ts';

const mail: Mail = {
  id: 'frml_1',
  to: 'ann@example.com',
  subject: 'Your receipt from Müller & Söhne',
  html: '<p>Thank you</p>',
  attachments: [{ filename: 'receipt.pdf', contentType: 'application/pdf', content: Buffer.from('%PDF-1.3') }],
};
const from = 'Shop <shop@example.com>';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

async function open() {
  const server = await startSmtpServer();
  const mailer = openMailer({ smtpUrl: server.url, folder: undefined, from });
  closing.push(
    () => mailer.close(),
    () => server.close(),
  );
  return { server, mailer };
}

describe('a mailer with a server', () => {
  test('sends the mail whole, under the same Message-ID each time', async () => {
    const { server, mailer } = await open();
    expect(await mailer.send(mail)).toEqual({ kind: 'sent' });
    expect(await mailer.send(mail)).toEqual({ kind: 'sent' });
    const [first, second] = server.mails;
    expect(first).toMatchObject({ from: 'shop@example.com', to: 'ann@example.com' });
    for (const taken of [first, second]) expect(taken?.data).toContain('Message-ID: <frml_1@eligo>');
    expect(first?.data).toContain('application/pdf');
    expect(first?.data).toContain(Buffer.from('%PDF-1.3').toString('base64'));
  });

  test('sends to one address, whatever characters it has', async () => {
    const { server, mailer } = await open();
    await mailer.send({ ...mail, to: 'ann@example.com, eve@example.com' });
    expect(server.mails.map(({ to }) => to)).not.toContain('eve@example.com');
  });

  test('tells what the server refuses for good from what may succeed later', async () => {
    const { server, mailer } = await open();
    server.answerNext('550 no such mailbox ann@example.com');
    expect(await mailer.send(mail)).toEqual({ kind: 'rejected', code: 'EMESSAGE_550' });
    server.answerNext('451 later');
    expect(await mailer.send(mail)).toEqual({ kind: 'failed', code: 'EMESSAGE_451' });
    server.answerNext('hang_up');
    expect(await mailer.send(mail)).toMatchObject({ kind: 'failed' });
  });

  test('says failed while the server is down', async () => {
    const { server, mailer } = await open();
    await server.close();
    expect(await mailer.send(mail)).toMatchObject({ kind: 'failed', code: 'ESOCKET' });
  });
});

describe('a mailer with a folder', () => {
  test('keeps each mail as a file that only its owner reads', async () => {
    const folder = join(mkdtempSync(join(tmpdir(), 'eligo-mail-')), 'mail');
    closing.push(() => rmSync(folder, { recursive: true }));
    const mailer = openMailer({ smtpUrl: undefined, folder, from });
    expect(await mailer.send(mail)).toEqual({ kind: 'sent' });
    expect(readdirSync(folder)).toEqual(['frml_1.eml']);
    const file = join(folder, 'frml_1.eml');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toContain('To: ann@example.com');
  });
});

describe('the settings', () => {
  const read = (env: Record<string, string>) => readEnvironment(env, readMailSettings);

  test('may leave mail out', () => {
    expect(openMailer(read({})).isConfigured).toBe(false);
  });

  test.each([
    [{ ELIGO_SMTP_URL: 'http://mail.example' }, 'must start with smtp://'],
    [{ ELIGO_SMTP_URL: 'smtp://mail.example' }, 'ELIGO_MAIL_FROM must be an address'],
    [
      { ELIGO_SMTP_URL: 'smtp://mail.example', ELIGO_MAIL_FROM: 'a@b.example', ELIGO_MAIL_FOLDER: '/mail' },
      'Set either ELIGO_SMTP_URL or ELIGO_MAIL_FOLDER',
    ],
  ])('refuse %j', (env, problem) => {
    expect(() => read(env)).toThrow(problem);
  });
});

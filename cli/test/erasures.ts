import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Constellation } from '@eligo/testkit';
import { expect, it, onTestFinished, vi } from 'vitest';
import { mailFolders } from '../src/connect.ts';

/** What a command answered. */
export interface Said {
  readonly code: number;
  readonly out: string[];
  readonly err: string[];
}

/** Tests of the command that erases a customer. */
export function erasureTests(using: () => Constellation, eligo: (...args: string[]) => Promise<Said>): void {
  it('searches each folder that may have kept mails of an erased customer, and says where it searched none [D14.326]', async () => {
    const root = mkdtempSync(join(tmpdir(), 'eligo-cli-'));
    onTestFinished(() => {
      for (const name of ['ELIGO_MAIL_FOLDER', 'DATABASE_URL']) vi.stubEnv(name, '');
      vi.stubEnv('ELIGO_HOME', using().home.root);
      rmSync(root, { recursive: true });
    });
    const made = await using()
      .api(using().testApiKey)
      .ok('POST', '/v1/customers', {
        body: { customer: { email: 'ann@example.com' } },
      });
    const { customer_id: customer } = made.customer as { customer_id: string };
    const account = using().account;
    const erase = ['customers', 'erase', customer, '--account', account, '--mode', 'test', '--by', 'R-1'];
    vi.stubEnv('ELIGO_MAIL_FOLDER', join(root, 'none'));
    expect(await eligo(...erase)).toMatchObject({ code: 1, err: [expect.stringContaining('names no folder')] });
    expect((await using().api(using().testApiKey).get(`/v1/customers/${customer}`)).status).toBe(200);
    vi.stubEnv('ELIGO_MAIL_FOLDER', '');
    expect((await eligo(...erase)).out.at(-1)).toContain(', 0 kept mails');
    vi.stubEnv('DATABASE_URL', using().database.adminUrl);
    expect((await eligo(...erase)).out.at(-1)).toContain('no folder searched for kept mails');
    vi.stubEnv('ELIGO_MAIL_FOLDER', root);
    expect(mailFolders()).toEqual([root]);
    // A stack that kept mails before it had a mail server.
    vi.stubEnv('DATABASE_URL', '');
    vi.stubEnv('ELIGO_HOME', root);
    writeFileSync(join(root, 'stack.json'), JSON.stringify({ mail_folder: '', processes: [{ pid: process.pid }] }));
    expect(mailFolders()).toEqual([root, join(root, 'mail')]);
  });
}

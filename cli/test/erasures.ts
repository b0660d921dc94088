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
  it('erases guests by a session or an address, and names the customers who have the same one [D14.365]', async () => {
    const api = using().api(using().testApiKey);
    const { price } = await api.ok('POST', '/v1/prices', {
      body: { price: { unit_amount: 500, product_data: { name: 'Tape' } } },
    });
    const { price_id: priceId } = price as { price_id: string };
    const newSession = async (fields: object) => {
      const made = await api.ok('POST', '/v1/checkout/sessions', {
        body: {
          checkout_session: {
            line_items: [{ price: priceId, quantity: 1 }],
            ...{ success_url: 'https://shop.example/done', ...fields },
          },
        },
      });
      return (made.checkout_session as { checkout_session_id: string }).checkout_session_id;
    };
    const { customer } = await api.ok('POST', '/v1/customers', { body: { customer: { email: 'cy@example.com' } } });
    const { customer_id: customerId } = customer as { customer_id: string };
    const [first, second, owned] = [
      await newSession({ customer_email: 'cy@example.com' }),
      await newSession({ customer_email: 'cy@example.com' }),
      await newSession({ customer: customerId }),
    ];
    const erase = (subject: string) =>
      eligo('guests', 'erase', subject, '--account', using().account, '--mode', 'test', '--by', 'R-2');
    const emailOf = async (id: string) =>
      ((await api.ok('GET', `/v1/checkout/sessions/${id}`)).checkout_session as { customer_email: unknown })
        .customer_email;
    expect(await erase(first)).toMatchObject({ code: 0, out: [expect.stringContaining('1 sessions erased'), /./] });
    expect([await emailOf(first), await emailOf(second)]).toEqual([null, 'cy@example.com']);
    const others = `Erase the customer, too: eligo customers erase ${customerId}`;
    expect(await erase('cy@example.com')).toMatchObject({ code: 0, out: expect.arrayContaining([others]) });
    expect([await emailOf(second), await emailOf(owned)]).toEqual([null, 'cy@example.com']);
    // Nothing is left, or nothing is a guest's.
    for (const subject of ['cy@example.com', owned, 'no-one@example.com']) {
      expect((await erase(subject)).code).toBe(1);
    }
    expect(await erase('fcus_1')).toMatchObject({ code: 2 });
    // The audit log has the session, and not the address.
    const actions = await using().database.admin<{ subject: string | null }>(
      "select subject_id as subject from checkout.operator_actions where action = 'guests erase' order by at",
    );
    expect(JSON.stringify(actions)).toContain(first);
    expect(JSON.stringify(actions)).not.toContain('cy@example');
  });

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

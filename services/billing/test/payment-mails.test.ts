import type { Scope } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { changeBackupAgreement } from '../src/actions/change-backup-agreement.ts';
import { changeNotices } from '../src/actions/change-notices.ts';
import { advanceTestClock, createTestClock } from '../src/actions/test-clocks.ts';
import { mailSubscriptions } from '../src/jobs/send-mails.ts';
import { callOf, sell, someScope, start, useUtc } from './fixture.ts';
import { type MailFixture, openMailFixture } from './mail-fixture.ts';
import { callsOn, may } from './subscription-calls.ts';

let on: MailFixture;
let scope: Scope;
const { runAt, read } = callsOn(
  () => on,
  () => scope,
);

beforeAll(async () => {
  on = await openMailFixture();
});
afterAll(() => on.close());
beforeEach(async () => {
  on.at(start);
  scope = on.nextScope();
  await useUtc(on, scope);
  await changeNotices(on.database, scope, { merchantName: 'Care & <b>Co', mailsInvoices: true });
});

const twoCards = () => ({ backup: on.peers.card(false), items: [{}, { eligibility: 'not_eligible' }] });
async function sold(parts: Parameters<typeof sell>[2] = {}) {
  const made = await sell(on, scope, parts);
  on.peers.emails.set(made.customerId, 'ann@example.com');
  return made;
}
async function mail(): Promise<void> {
  while ((await mailSubscriptions(on.context).run(new AbortController().signal)) === true);
}
const mails = () =>
  on.test.admin<{ invoice_id: string; status: string; code: string | null }>(
    "select invoice_id, status, failure_code as code from billing.subscription_mails where account_id = $1 and kind = 'paid' order by about, id",
    [scope.accountId],
  );
const texts = () => on.readMails().map(({ text }) => text);

it('a paid renewal is mailed once, with what each card paid and where its items are [D14.292]', async () => {
  const { subscriptionId } = await sold(twoCards());
  await runAt(may);
  await runAt(may);
  await mail();
  await mail();
  const { invoice } = await read(subscriptionId);
  expect(await mails()).toEqual([{ invoice_id: invoice.id, status: 'sent', code: null }]);
  expect(on.server.mails).toHaveLength(1);
  expect(on.server.mails[0]?.to).toBe('ann@example.com');
  expect(on.server.mails[0]?.data).toMatch(/^Subject: \[Test\] Your payment to Care & <b>Co\r?$/m);
  const [text = ''] = texts();
  for (const part of [
    'You paid $60.00 for your subscription on May 1, 2026 (UTC).',
    '$30.00 was charged to your HSA or FSA card ending in 4242, and $30.00 was charged to your card ending in 1881.',
    'Test mode',
    invoice.pageUrl ?? 'a page',
  ]) {
    expect(text).toContain(part);
  }
  expect(text).not.toContain('<b>');
});

it.each([false, null])(
  'a card that paid for what is eligible, and is a health card: %s, is not called one [D14.306]',
  async (isHealthCard) => {
    await sold({ card: on.peers.card(isHealthCard) });
    await runAt(may);
    await mail();
    expect(texts()[0]).toContain('$30.00 was charged to your card ending in 1881.');
  },
);

it('several renewals that are paid together are mailed each [D14.292]', async () => {
  for (let count = 0; count < 4; count += 1) await sold();
  await runAt(may);
  await mail();
  expect((await mails()).map(({ status }) => status)).toEqual(['sent', 'sent', 'sent', 'sent']);
  expect(new Set((await mails()).map(({ invoice_id: id }) => id)).size).toBe(4);
  expect(texts().every((text) => text.includes('You paid $30.00'))).toBe(true);
});

it('what a card pays after a decline, and in place of a health card, is mailed as it was paid [D14.291, D14.292]', async () => {
  await changeBackupAgreement(on.database, scope, true);
  const { subscriptionId } = await sold({
    ...twoCards(),
    card: on.peers.card(true, 'insufficient_funds'),
  });
  await runAt(may);
  await mail();
  expect(texts()[0]).toContain('$60.00 was charged to your card ending in 1881.');
  expect(texts()[0]).not.toContain('HSA or FSA card');
  expect((await read(subscriptionId)).invoice.status).toBe('paid');
});

it('invoices of periods that a test clock passes at once have a mail each [D14.292]', async () => {
  const clock = await createTestClock(on.context, callOf(scope), { frozenTime: start, name: null });
  await sold({ testClockId: clock.id });
  await advanceTestClock(on.context, callOf(scope), clock.id, new Date('2026-07-01T00:00:00.000Z'));
  await mail();
  expect((await mails()).map(({ status }) => status)).toEqual(['sent', 'sent', 'sent']);
  expect(texts().map((text) => /on (\w+ 1, 2026)/.exec(text)?.[1])).toEqual([
    'May 1, 2026',
    'June 1, 2026',
    'July 1, 2026',
  ]);
});

it('nothing is mailed of what fails, nor by an account that mails no invoices, or does so no longer [D14.292]', async () => {
  await sold({ card: on.peers.card(true, 'insufficient_funds') });
  await runAt(may);
  expect(await mails()).toEqual([]);
  on.at(start);
  scope = someScope();
  await changeNotices(on.database, scope, { merchantName: 'Care' });
  await sold();
  await runAt(may);
  expect(await mails()).toEqual([]);
  on.at(start);
  scope = someScope();
  await changeNotices(on.database, scope, { merchantName: 'Care', mailsInvoices: true });
  await sold();
  await runAt(may);
  await changeNotices(on.database, scope, { mailsInvoices: false });
  await mail();
  expect(await mails()).toMatchObject([{ status: 'dropped', code: 'turned_off' }]);
});

it('the database refuses a mail of an invoice that is not paid, and a second one of an invoice [D14.292]', async () => {
  const { subscriptionId } = await sold({ card: on.peers.card(true, 'insufficient_funds') });
  await runAt(may);
  const { invoice } = await read(subscriptionId);
  const add = (invoiceId: string, paidAt: string) =>
    on.test.admin(
      `insert into billing.subscription_mails (account_id, test_mode, id, subscription_id, kind, about, invoice_id, status, next_try_at, created_at)
       select account_id, test_mode, $2, subscription_id, 'paid', $3, id, 'pending', now(), now() from billing.invoices where id = $1`,
      [invoiceId, newId('subscription_mail'), paidAt],
    );
  await expect(add(invoice.id, may)).rejects.toMatchObject({ constraint: 'mail_of_what_is' });
  const paying = await sold();
  await runAt('2026-05-01T00:00:01.000Z');
  const paid = (await read(paying.subscriptionId)).invoice;
  await expect(add(paid.id, paid.paidAt?.toISOString() ?? '')).rejects.toMatchObject({ code: '23505' });
});

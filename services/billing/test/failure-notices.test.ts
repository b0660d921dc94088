import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openMailer } from '@eligo/mail';
import type { Scope } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { changeNotices, type NoticeChange } from '../src/actions/change-notices.ts';
import { eraseKeptMails } from '../src/actions/erase-kept-mails.ts';
import { payInvoice } from '../src/actions/pay-invoice.ts';
import { payInvoiceOnPage } from '../src/actions/pay-invoice-on-page.ts';
import { advanceTestClock, createTestClock } from '../src/actions/test-clocks.ts';
import { voidInvoice } from '../src/actions/void-invoice.ts';
import type { Context } from '../src/context.ts';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { mailNotices } from '../src/jobs/send-mails.ts';
import { findSubscription } from '../src/store/subscriptions.ts';
import { callOf, sell, someScope, start, useUtc } from './fixture.ts';
import { type MailFixture, openMailFixture } from './mail-fixture.ts';
import type { CardBehavior } from './peers.ts';

let on: MailFixture;
let scope: Scope;

beforeAll(async () => {
  on = await openMailFixture();
});
afterAll(() => on.close());
beforeEach(async () => {
  // What earlier tests sold fails again and again.
  await on.test.admin('delete from billing.notice_settings');
  await on.test.admin(
    "update billing.notice_mails set status = 'dropped', next_try_at = null where status = 'pending'",
  );
  scope = on.nextScope();
  await useUtc(on, scope);
  await turnOn();
});

const turnOn = () =>
  on.test.admin('insert into billing.notice_settings (account_id, test_mode, merchant_name) values ($1, true, $2)', [
    scope.accountId,
    'Care & <b>Co',
  ]);
const charge = async (time: string, context: Context = on.context) => {
  on.at(`2026-05-${time}`);
  while (await runDueSubscriptions(context));
};
const mail = async (context: Context = on.context) => {
  const job = mailNotices(context);
  while ((await job.run(new AbortController().signal)) === true);
};
const makeDue = () =>
  on.test.admin("update billing.notice_mails set next_try_at = now() - interval '1 second' where status = 'pending'");
const notices = () =>
  on.test.admin(
    'select attempt, status, failure_code as code from billing.notice_mails where account_id = $1 order by attempt, id',
    [scope.accountId],
  );

/** A subscription whose renewal fails on 1 May. */
async function failing(
  behavior: CardBehavior = 'insufficient_funds',
  email: string | null = 'ann@example.com',
  testClockId?: string,
) {
  on.at(start);
  const onClock = testClockId === undefined ? {} : { testClockId };
  const sold = await sell(on, scope, { card: on.peers.card(true, behavior), ...onClock });
  if (email !== null) on.peers.emails.set(sold.customerId, email);
  const invoiceId = async () =>
    (await findSubscription(on.database, scope, sold.subscriptionId))?.latestInvoiceId ?? '';
  return { ...sold, invoiceId };
}

describe('the mail about a failed payment', () => {
  it.each<[CardBehavior | 'gone', string, string[]]>([
    [
      'insufficient_funds',
      'Your payment to Care & <b>Co failed',
      ['Your bank declined the payment of $30.00', 'The next try is on May 2, 2026.'],
    ],
    [
      'stolen_card',
      'Your payment to Care & <b>Co failed',
      ['Your bank declined the payment', 'will not be charged again', 'by May 8, 2026, your subscription ends.'],
    ],
    ['expired_card', 'Your payment to Care & <b>Co failed', ['Your card has expired.', 'by May 8, 2026']],
    [
      'authentication_required',
      'Confirm your payment to Care & <b>Co',
      [
        'Your bank asks you to confirm the payment of $30.00',
        'To pay and confirm the payment with your bank',
        'by May 8, 2026',
      ],
    ],
    ['gone', 'Your payment to Care & <b>Co failed', ['There is no card to charge', 'by May 8, 2026']],
  ])('of a card with %s says why, what happens next, and where to pay [D14.191]', async (behavior, subject, texts) => {
    const { card, invoiceId } = await failing(behavior === 'gone' ? 'pays' : behavior);
    if (behavior === 'gone') on.peers.detach(card);
    await charge('01');
    await mail();
    expect(on.server.mails).toHaveLength(1);
    const { to, text, ...shown } = on.readMail();
    expect(to).toBe('ann@example.com');
    expect(shown.subject).toBe(`[Test] ${subject}`);
    for (const part of [...texts, `https://pay.example/invoice/${await invoiceId()}`, 'Test mode']) {
      expect(text).toContain(part);
    }
    expect(text).not.toMatch(/<b>|stolen|4242/);
  });

  it('goes out once for each failure on the schedule, and none when the invoice is given up [D14.191]', async () => {
    await failing();
    for (const time of ['01', '02', '04', '06', '08']) {
      await charge(time);
      await mail();
      await mail();
    }
    expect(on.server.mails).toHaveLength(4);
    expect(on.readMail(2).text).toContain('The next try is on May 6, 2026. To pay');
    expect(on.readMail(3).text).toContain('It is the last one: if it fails, your subscription ends.');
    expect(await notices()).toEqual([1, 2, 3, 4].map((attempt) => ({ attempt, status: 'sent', code: null })));
  });

  it('goes by a test clock: it names the days of the clock, and says nothing of what the clock has passed [D14.191]', async () => {
    const call = callOf(scope);
    const { id: testClockId } = await createTestClock(on.context, call, { frozenTime: start, name: null });
    const { subscriptionId } = await failing('insufficient_funds', 'ann@example.com', testClockId);
    const advance = (day: string) => advanceTestClock(on.context, call, testClockId, new Date(`2026-05-${day}`));
    await advance('01');
    await mail();
    expect(on.readMail().text).toContain('The next try is on May 2, 2026.');
    // The second and the third one.
    await advance('05');
    await mail();
    expect(on.readMail(1).text).toContain('The next try is on May 6, 2026.');
    await advance('06');
    await advance('09');
    await mail();
    expect((await findSubscription(on.database, scope, subscriptionId))?.status).toBe('canceled');
    expect(await notices()).toEqual([
      { attempt: 1, status: 'sent', code: null },
      { attempt: 2, status: 'dropped', code: 'superseded' },
      { attempt: 3, status: 'sent', code: null },
      { attempt: 4, status: 'dropped', code: 'not_owed' },
    ]);
    expect(on.server.mails).toHaveLength(2);
  });

  it('goes out when the last try left the subscription unpaid, and sets no date [D14.191]', async () => {
    await on.test.admin(
      "insert into billing.dunning_settings (account_id, test_mode, retry_days, ends_with, updated_at) values ($1, true, '{2}', 'unpaid', now())",
      [scope.accountId],
    );
    await failing();
    await charge('01');
    await mail();
    expect(on.readMail().text).toContain('if it fails, no further charge is scheduled');
    await charge('03');
    await mail();
    expect(on.readMail(1).text).toContain('No further charge is scheduled. The payment stays due.');
  });

  it.each(['invoice_charge.answered', 'invoice_charge.before_commit', 'invoice_charge.recorded', 'mail.sent'])(
    'is one Message-ID after a crash at %s [D14.191]',
    async (name) => {
      await failing();
      let crashed = false;
      const failpoint: Context['failpoint'] = (reached) => {
        if (crashed || reached !== name) return undefined;
        crashed = true;
        throw new Error('killed');
      };
      const context = { ...on.context, failpoint };
      await charge('01', context);
      await charge('01T00:01:00', context);
      await mail(context);
      await makeDue();
      await mail(context);
      expect(crashed).toBe(true);
      expect(on.server.mails).toHaveLength(name === 'mail.sent' ? 2 : 1);
      const ids = on.server.mails.map(({ data }) => /^Message-ID: (\S+)/m.exec(data)?.[1]);
      expect(new Set(ids).size).toBe(1);
      expect(await notices()).toEqual([{ attempt: 1, status: 'sent', code: null }]);
    },
  );

  it('waits for the mail server, and while a charge is under way [D14.191]', async () => {
    const { card } = await failing();
    await charge('01');
    on.server.answerNext('451 later');
    await mail();
    expect(await notices()).toMatchObject([{ status: 'pending', code: 'EMESSAGE_451' }]);
    on.peers.failOn(card, 'unknown');
    await charge('02');
    await makeDue();
    await mail();
    expect(await notices()).toMatchObject([{ attempt: 1, status: 'pending', code: 'payment_in_flight' }]);
    // It fails again: the mail about that says all that the first one would.
    await charge('02T00:01:00');
    await makeDue();
    await mail();
    expect(await notices()).toMatchObject([
      { attempt: 1, status: 'dropped', code: 'superseded' },
      { attempt: 2, status: 'sent' },
    ]);
    expect(on.server.mails).toHaveLength(1);
  });

  it('is dropped once there is nothing to say, or nobody to say it to [D14.191]', async () => {
    const whatHappens: [string, (made: Awaited<ReturnType<typeof failing>>) => Promise<unknown>][] = [
      ['not_owed', async ({ card }) => [on.peers.behave(card, 'pays'), await charge('02')]],
      ['not_owed', async ({ invoiceId }) => voidInvoice(on.context, callOf(scope), await invoiceId())],
      ['no_address', async ({ customerId }) => on.peers.deleteCustomer(customerId)],
      ['no_address', async ({ customerId }) => on.peers.emails.delete(customerId)],
      [
        'turned_off',
        () => on.test.admin('delete from billing.notice_settings where account_id = $1', [scope.accountId]),
      ],
    ];
    for (const [code, happens] of whatHappens) {
      scope = someScope();
      await turnOn();
      const made = await failing();
      await charge('01');
      await happens(made);
      await mail();
      expect(await notices()).toEqual([{ attempt: 1, status: 'dropped', code }]);
    }
    expect(on.server.mails).toHaveLength(0);
  });

  it('is dropped once it has waited for more than two days by the wall clock [D14.327]', async () => {
    await failing();
    await charge('01');
    await on.test.admin(
      "update billing.notice_mails set written_at = now() - interval '47 hours' where account_id = $1",
      [scope.accountId],
    );
    on.server.answerNext('451 later');
    await mail();
    expect(await notices()).toMatchObject([{ status: 'pending', code: 'EMESSAGE_451' }]);
    await on.test.admin(
      "update billing.notice_mails set written_at = now() - interval '49 hours' where account_id = $1",
      [scope.accountId],
    );
    await makeDue();
    await mail();
    expect(await notices()).toEqual([{ attempt: 1, status: 'dropped', code: 'too_late' }]);
  });

  it('asks to confirm a payment to the bank in live mode without any setting, once, and with the page; no other failure is mailed then [D14.327]', async () => {
    scope = { ...someScope(), testMode: false };
    const { invoiceId } = await failing('authentication_required');
    await failing('insufficient_funds');
    await charge('01');
    // As a process of the release before does with a mail of an account without settings.
    const dropsAsBefore = async () => {
      await on.test.admin('update billing.notice_mails set tries = tries + 1 where account_id = $1', [scope.accountId]);
      return on.test.admin(
        `update billing.notice_mails set status = 'dropped', failure_code = 'turned_off', next_try_at = null
         where account_id = $1 returning status, tries`,
        [scope.accountId],
      );
    };
    for (let run = 0; run < 9; run++) expect(await dropsAsBefore()).toEqual([{ status: 'pending', tries: 0 }]);
    await makeDue();
    for (let run = 0; run < 2; run++) await mail();
    expect(on.server.mails).toHaveLength(1);
    const { to, subject, text } = on.readMail();
    expect([to, subject]).toEqual(['ann@example.com', 'Confirm your payment']);
    expect(text).toContain('Your bank asks you to confirm the payment of $30.00 for your subscription.');
    expect(text).toContain(`https://pay.example/invoice/${await invoiceId()}`);
    expect(await notices()).toEqual([{ attempt: 1, status: 'sent', code: null }]);
  });

  it('asks to confirm a payment in the name that the shop has on the receipts of the subscription [D14.327]', async () => {
    scope = { ...someScope(), testMode: false };
    const { subscriptionId } = await failing('authentication_required');
    await on.test.admin(
      `insert into billing.receipts (account_id, test_mode, id, checkout_session_id, subscription_id, email, amount_cents, content, created_at)
       values ($1, false, $2, $3, $4, 'a@b.example', 1, '{"merchantName": "Care & Co"}', now())`,
      [scope.accountId, newId('receipt'), newId('checkout_session'), subscriptionId],
    );
    await charge('01');
    await mail();
    expect(on.readMail().subject).toBe('Confirm your payment to Care & Co');
  });

  it('asks nobody to confirm a payment of test mode without settings, also where a process of the release before wrote the mail [D14.327]', async () => {
    const { invoiceId } = await failing('authentication_required');
    await on.test.admin('delete from billing.notice_settings where account_id = $1', [scope.accountId]);
    await charge('01');
    expect(await notices()).toEqual([]);
    await on.test.admin(
      `insert into billing.notice_mails (account_id, test_mode, id, invoice_id, attempt, failure_day, status, next_try_at, created_at, asks_to_confirm)
       values ($1, true, $2, $3, 1, 0, 'pending', now(), now(), true)`,
      [scope.accountId, newId('notice_mail'), await invoiceId()],
    );
    await mail();
    expect(await notices()).toEqual([{ attempt: 1, status: 'dropped', code: 'test_mode' }]);
    expect(on.server.mails).toEqual([]);
  });

  it('asks nobody to confirm a payment where the operator turned that off, with or without a name, before or after the failure [D14.327]', async () => {
    for (const change of [{ mailsAuthentications: false }, { merchantName: null }]) {
      scope = { ...someScope(), testMode: false };
      await changeNotices(on.database, scope, change);
      await failing('authentication_required');
      await charge('01');
      expect(await notices()).toEqual([]);
    }
    scope = { ...someScope(), testMode: false };
    await failing('authentication_required');
    await charge('01');
    await changeNotices(on.database, scope, { merchantName: 'Care', mailsAuthentications: false });
    await mail();
    expect(await notices()).toEqual([{ attempt: 1, status: 'dropped', code: 'opted_out' }]);
    expect(on.server.mails).toEqual([]);
  });

  it('are turned on by a name only where all mails were turned off before it: an opt-out of its own stays [D14.327]', async () => {
    const change = async (asked: NoticeChange) => (await changeNotices(on.database, scope, asked)).mailsAuthentications;
    expect(await change({ mailsAuthentications: false })).toBe(false);
    for (const merchantName of ['New name', null, 'Another name']) expect(await change({ merchantName })).toBe(false);
    expect(await change({ mailsAuthentications: true })).toBe(true);
    expect(await change({ merchantName: null })).toBe(false);
    expect(await change({ merchantName: 'Care' })).toBe(true);
  });

  it('that is kept as a file is deleted with those of its customer, and no other [D14.326]', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'eligo-mails-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const context = { ...on.context, mailer: openMailer({ smtpUrl: undefined, folder, from: 'shop@example.com' }) };
    const { customerId } = await failing();
    await failing();
    await charge('01');
    await mail(context);
    const before = readdirSync(folder);
    expect(before).toHaveLength(2);
    expect(await eraseKeptMails(on.database, someScope(), { customerId, folder })).toBe(0);
    expect(await eraseKeptMails(on.database, scope, { customerId, folder })).toBe(1);
    expect(await eraseKeptMails(on.database, scope, { customerId, folder })).toBe(0);
    const [left, ...others] = readdirSync(folder);
    expect(others).toEqual([]);
    expect(before).toContain(left);
  });

  it('is not made for an account that mails none, nor for what the customer or the partner has charged meanwhile [D14.191]', async () => {
    const { invoiceId } = await failing();
    await charge('01');
    const id = await invoiceId();
    const typed = { processorPaymentMethodId: on.peers.typed('insufficient_funds'), slot: 'other' } as const;
    await payInvoiceOnPage(on.context, callOf(scope), id, [typed]);
    await expect(payInvoice(on.context, callOf(scope), id, undefined)).rejects.toMatchObject({ status: 402 });
    await charge('02');
    on.at('2026-05-03T12:00:00Z');
    await payInvoiceOnPage(on.context, callOf(scope), id, [
      { ...typed, processorPaymentMethodId: on.peers.typed('insufficient_funds') },
    ]);
    // Only the two of the schedule.
    expect(await notices()).toMatchObject([{ attempt: 1 }, { attempt: 4 }]);
    scope = someScope();
    await failing();
    await charge('01');
    expect(await notices()).toEqual([]);
  });
});

it('the database refuses a second notice of an attempt, or of a kind on a day, one of an invoice that is not open, and a change of one that was sent [D14.191]', async () => {
  const { invoiceId } = await failing();
  const { invoiceId: paid } = await sell(on, scope);
  await charge('01');
  await mail();
  const insert = (id: string, attempt: number, day: number, asksToConfirm = false) =>
    on.test.admin(
      `insert into billing.notice_mails (account_id, test_mode, id, invoice_id, attempt, failure_day, status, next_try_at, created_at, asks_to_confirm)
       values ($1, true, $5, $2, $3::smallint, $4::smallint, 'pending', now(), now(), $6)`,
      [scope.accountId, id, attempt, day, newId('notice_mail'), asksToConfirm],
    );
  const id = await invoiceId();
  await expect(insert(id, 1, 1)).rejects.toThrow('one_notice_for_each_attempt');
  await expect(insert(id, 2, 1)).rejects.toThrow('last attempt of an open invoice');
  await expect(insert(paid, 1, 0)).rejects.toThrow('last attempt of an open invoice');
  await on.test.admin('update billing.invoices set attempts = 2 where id = $1', [id]);
  await expect(insert(id, 2, 0)).rejects.toThrow('one_notice_of_a_kind_a_day');
  const change =
    "update billing.notice_mails set status = 'pending', sent_at = null, next_try_at = now() - interval '1 second' where account_id = $1";
  await expect(on.test.admin(change, [scope.accountId])).rejects.toThrow('is sent');
  // One that asks to confirm the payment is written also on a day that had the mail of a decline.
  await insert(id, 2, 0, true);
});

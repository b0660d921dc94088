import { create } from '@bufbuild/protobuf';
import { textOfPdf } from '@eligo/pdf/test-support';
import { type Scope, withTx } from '@eligo/postgres';
import { IssueReceiptSchema, IssueRefundReceiptSchema } from '@eligo/proto/events/v1/events';
import { cents, newId } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { issueReceipt } from '../src/actions/issue-receipt.ts';
import { issueRefundReceipt } from '../src/actions/issue-refund-receipt.ts';
import { receiptDocuments } from '../src/actions/receipt-documents.ts';
import { failureNoticeHtml } from '../src/documents/failure-notice-html.ts';
import { subscriptionNoticeHtml, subscriptionNoticeSubject } from '../src/documents/subscription-notice-html.ts';
import { mailReceipts } from '../src/jobs/send-mails.ts';
import { findIssuedFacts } from '../src/store/invoice-statements.ts';
import { listReceipts } from '../src/store/receipts.ts';
import { findTimeZone, recordTimeZone } from '../src/store/time-zones.ts';
import { type Sold, sell } from './fixture.ts';
import { type MailFixture, openMailFixture } from './mail-fixture.ts';

let on: MailFixture;
let scope: Scope;
beforeAll(async () => {
  on = await openMailFixture();
});
afterAll(() => on.close());
beforeEach(() => {
  scope = on.nextScope();
});

// 7:30 PM on December 31 in New York, where the next year has not begun.
const newYearsEve = '2027-01-01T00:30:00Z';
const tell = (timeZone: string, version: bigint, as = scope) =>
  withTx(on.database, as, (tx) => recordTimeZone(tx, as, { timeZone, version }));

async function issue(purchasedAt: string, chargedAt = purchasedAt): Promise<void> {
  const command = create(IssueReceiptSchema, {
    session: { checkoutSessionId: newId('checkout_session'), amountTotalCents: 100n, amountReceivedCents: 100n },
    ...{ email: 'ann@example.com', merchantName: 'Care', shopperName: 'Ann Lee' },
    ...{ atMs: BigInt(Date.parse(chargedAt)), purchasedAtMs: BigInt(Date.parse(purchasedAt)) },
  });
  await withTx(on.database, scope, (tx) => issueReceipt(tx, scope, command));
}

async function refund(refundedAt: string): Promise<void> {
  const command = create(IssueRefundReceiptSchema, {
    ...{ refundId: newId('refund'), session: { checkoutSessionId: newId('checkout_session') }, merchantName: 'Care' },
    ...{ amountCents: 100n, purchasedAtMs: BigInt(Date.parse(newYearsEve)), atMs: BigInt(Date.parse(refundedAt)) },
  });
  await withTx(on.database, scope, (tx) => issueRefundReceipt(tx, scope, command));
}

async function receipt() {
  const [newest] = (await listReceipts(on.database, scope, { limit: 10 }, {})).receipts;
  return newest ?? expect.fail('There is no receipt');
}

/** The HTML and the PDF of the newest receipt, as texts. */
async function documents(): Promise<string[]> {
  const { html, pdf } = await receiptDocuments(on.database, scope, await receipt());
  return [html.replaceAll(/<[^>]*>/g, ' '), textOfPdf(pdf)].map((text) => text.replaceAll(/[:\s]+/g, ' '));
}

describe('a receipt', () => {
  it('says the day of the account’s time zone and names the zone: HTML, PDF and mail [D14.376]', async () => {
    await issue(newYearsEve);
    for (const text of await documents()) {
      expect(text).toContain('Date of purchase December 31, 2026 (Eastern Time)');
      expect(text).not.toContain('January 1, 2027');
    }
    const job = mailReceipts(on.context);
    while ((await job.run(new AbortController().signal)) === true);
    const mail = on.server.mails[0]?.data.replaceAll(/=\r?\n/g, '') ?? '';
    expect(mail).toContain('December 31, 2026 (Eastern Time)');
    expect(mail).not.toContain('January 1, 2027');
  });

  it.each([
    // Daylight saving time ended on November 1, at 06:00 UTC.
    ['2026-11-01T03:59:00Z', 'October 31, 2026 (Eastern Time)'],
    ['2026-11-01T04:00:00Z', 'November 1, 2026 (Eastern Time)'],
    ['2026-11-02T04:59:00Z', 'November 1, 2026 (Eastern Time)'],
    ['2026-11-02T05:00:00Z', 'November 2, 2026 (Eastern Time)'],
  ])('of a purchase at %s is of %s [D14.376]', async (at, day) => {
    await issue(at);
    for (const text of await documents()) expect(text).toContain(`Date of purchase ${day}`);
  });

  it('has a date of the charge only where that is another day in the account’s time zone [D14.376, D14.308]', async () => {
    await issue('2026-12-31T23:30:00Z', newYearsEve);
    for (const text of await documents()) expect(text).not.toContain('Date of charge');
    await issue(newYearsEve, '2027-01-01T05:00:00Z');
    for (const text of await documents()) expect(text).toContain('Date of charge January 1, 2027 (Eastern Time)');
  });

  it('keeps the time zone that it was made with, whatever the account has later [D14.376]', async () => {
    await tell('America/Chicago', 1n);
    await issue(newYearsEve);
    await tell('Asia/Tokyo', 2n);
    for (const text of await documents()) expect(text).toContain('Date of purchase December 31, 2026 (Central Time)');
    await issue(newYearsEve);
    for (const text of await documents()) expect(text).toContain('Date of purchase January 1, 2027 (Japan');
  });

  it('of an earlier release has days of UTC, and says so where it is rendered [D14.376]', async () => {
    await issue(newYearsEve);
    await on.test.admin("update billing.receipts set content = content - 'timeZone' where account_id = $1", [
      scope.accountId,
    ]);
    for (const text of await documents()) expect(text).toContain('Date of purchase January 1, 2027 (UTC)');
  });

  it('of a refund has its days in the account’s time zone, too [D14.376]', async () => {
    await refund('2027-01-05T04:00:00Z');
    for (const text of await documents()) {
      expect(text).toContain('Date of purchase December 31, 2026 (Eastern Time)');
      expect(text).toContain('Date of this receipt January 4, 2027 (Eastern Time)');
    }
  });
});

it('an invoice keeps the time zone that its account had when it got its number; one of an earlier release has none [D14.376]', async () => {
  const zoneOf = async ({ invoiceId }: Sold) => (await findIssuedFacts(on.database, scope, invoiceId)).timeZone;
  const untold = await sell(on, scope);
  await tell('America/Chicago', 1n);
  const told = await sell(on, scope);
  await tell('Asia/Tokyo', 2n);
  expect([await zoneOf(untold), await zoneOf(told)]).toEqual(['America/New_York', 'America/Chicago']);
  const update = (set: string) => on.test.admin(`update billing.invoices set ${set} where id = $1`, [told.invoiceId]);
  const stays = { constraint: 'invoice_time_zone_stays' };
  for (const set of ["time_zone = 'UTC'", 'time_zone = null']) await expect(update(set)).rejects.toMatchObject(stays);
  await on.test.admin('alter table billing.invoices disable trigger guard_invoice_time_zone');
  await expect(update("time_zone = ''")).rejects.toMatchObject({ constraint: 'invoices_time_zone' });
  await update('time_zone = null');
  await on.test.admin('alter table billing.invoices enable trigger guard_invoice_time_zone');
  expect(await zoneOf(told)).toBeNull();
  await expect(update("time_zone = 'UTC'")).rejects.toMatchObject(stays);
});

it('a mail about a subscription has days of the account’s time zone; that of a payment names the zone [D14.376]', () => {
  const of = { merchantName: 'Care', manageUrl: null, testMode: false, timeZone: 'America/New_York' };
  const at = new Date(newYearsEve);
  const renewal = { ...of, kind: 'renewal', at, outcome: { kind: 'nothing_to_pay' } } as const;
  expect(subscriptionNoticeSubject(renewal)).toBe('Your subscription at Care renews on December 31, 2026');
  expect(subscriptionNoticeHtml(renewal)).toContain('renews on December 31, 2026.');
  const paid = { ...of, kind: 'paid', at, cents: cents(100), cards: [], invoiceUrl: null } as const;
  expect(subscriptionNoticeHtml(paid)).toContain('on December 31, 2026 (Eastern Time).');
  const next = { kind: 'retry', at, endsWith: null } as const;
  const failed = { ...of, reason: 'declined', dueCents: cents(100), pageUrl: 'https://pay.example', next } as const;
  expect(failureNoticeHtml(failed)).toContain('on December 31, 2026.');
});

it('the newest time zone that was told is kept, whatever comes late, for each mode [D14.376]', async () => {
  const live = { ...scope, testMode: false };
  expect(await findTimeZone(on.database, scope)).toBe('America/New_York');
  await tell('America/Denver', 2n);
  await tell('America/Chicago', 1n);
  await tell('America/Boise', 2n);
  expect(await findTimeZone(on.database, scope)).toBe('America/Denver');
  expect(await findTimeZone(on.database, live)).toBe('America/New_York');
  await tell('America/Boise', 1n, live);
  expect(await findTimeZone(on.database, live)).toBe('America/Boise');
  const goBack = on.test.admin('update billing.time_zones set version = version - 1 where account_id = $1', [
    scope.accountId,
  ]);
  await expect(goBack).rejects.toMatchObject({ constraint: 'time_zones_ascend' });
});

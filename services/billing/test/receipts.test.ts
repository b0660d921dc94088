import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { type Mail, openMailer } from '@eligo/mail';
import { textOfPdf } from '@eligo/pdf/test-support';
import { type Scope, withTx } from '@eligo/postgres';
import {
  type IssueReceipt,
  IssueReceiptSchema,
  type ReceiptAmountsSchema,
  ReceiptLetterSchema,
} from '@eligo/proto/events/v1/events';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { issueReceipt } from '../src/actions/issue-receipt.ts';
import { receiptDocuments } from '../src/actions/receipt-documents.ts';
import { resendReceipts } from '../src/actions/resend-receipts.ts';
import type { Context } from '../src/context.ts';
import { mailReceipts } from '../src/jobs/send-mails.ts';
import { findReceipt, listReceipts } from '../src/store/receipts.ts';
import { erasedReceiptTests } from './erased-receipts.ts';
import { sell, someScope, start } from './fixture.ts';
import { type MailFixture, openMailFixture } from './mail-fixture.ts';
import { receiptCaseTests } from './receipt-cases.ts';
import { refundReceiptTests } from './refund-receipts.ts';

let on: MailFixture;
let scope: Scope;

beforeAll(async () => {
  on = await openMailFixture();
});
afterAll(() => on.close());
beforeEach(async () => {
  // The job sends the mails of all accounts: those of the test before, too.
  const job = mailReceipts(on.context);
  while ((await job.run(new AbortController().signal)) === true);
  scope = on.nextScope();
});

const runDueMails = (context: Context) => mailReceipts(context).run(new AbortController().signal);

const lineItemIds = [newId('line_item'), newId('line_item')] as const;

/** A mixed cart: a thermometer on the health card, chocolate on the other card or on none. */
function command(
  parts: {
    sessionId?: string;
    both?: boolean;
    merchantName?: string;
    /** Of the card that pays what is eligible. */
    cardKind?: string;
    email?: string;
    purchasedAt?: string;
    /** Less was captured of the thermometer than its total. */
    partly?: boolean;
    captured?: MessageInitShape<typeof ReceiptAmountsSchema>;
  } = {},
): IssueReceipt {
  const { sessionId = newId('checkout_session'), both = true, merchantName = 'Care & Co', cardKind = 'health' } = parts;
  const visa = { cardBrand: 'visa', cardLast4: '0072', cardKind };
  const health = { paymentIntentId: newId('payment_intent'), leg: 'health', ...visa };
  const other = { paymentIntentId: newId('payment_intent'), leg: 'other', cardBrand: 'mastercard', cardLast4: '4444' };
  return create(IssueReceiptSchema, {
    session: {
      checkoutSessionId: sessionId,
      clientReferenceId: 'order 7',
      amountSubtotalCents: 2_500n,
      amountTotalCents: 2_600n,
      amountReceivedCents: both ? 2_600n : 2_080n,
      totalDetails: { amountTaxCents: 100n },
      testMode: true,
    },
    lines: [
      {
        lineItemId: lineItemIds[0],
        description: 'Thermometer <b>',
        quantity: 2n,
        amountTotalCents: 2_080n,
        amountEligibleCents: 2_080n,
        eligibility: { hsaFsaEligibility: 'auto_substantiation' },
      },
      { lineItemId: lineItemIds[1], description: 'Chocolate', quantity: 1n, amountTotalCents: 520n },
    ],
    payments: [
      { ...health, amountCents: 2_080n, lineItemIds: [lineItemIds[0]] },
      ...(both ? [{ ...other, amountCents: 520n, lineItemIds: [lineItemIds[1]] }] : []),
    ],
    email: parts.email ?? 'ann@example.com',
    merchantName,
    shopperName: 'Ann Lee',
    ...(parts.captured === undefined ? {} : { captured: parts.captured }),
    atMs: BigInt(Date.parse('2026-04-01T10:00:00Z')),
    ...(parts.purchasedAt === undefined ? {} : { purchasedAtMs: BigInt(Date.parse(parts.purchasedAt)) }),
    partlyCapturedLineIds: parts.partly === true ? [lineItemIds[0]] : [],
  });
}

const issue = (parts: Parameters<typeof command>[0] = {}) =>
  withTx(on.database, scope, (tx) => issueReceipt(tx, scope, command(parts)));
const mails = () =>
  on.test.admin('select status, tries, failure_code from billing.receipt_mails where account_id = $1 order by id', [
    scope.accountId,
  ]);
const makeDue = () =>
  on.test.admin(
    "update billing.receipt_mails set next_try_at = now() - interval '1 second' where account_id = $1 and status = 'pending'",
    [scope.accountId],
  );

async function onlyReceipt() {
  const { receipts } = await listReceipts(on.database, scope, { limit: 10 }, {});
  const [receipt] = receipts;
  if (receipt === undefined || receipts.length !== 1) throw new Error(`There are ${receipts.length} receipts`);
  return receipt;
}

describe('a receipt', () => {
  it('is issued and mailed once for a session, however often the command arrives [D14.86]', async () => {
    const sessionId = newId('checkout_session');
    await issue({ sessionId });
    await issue({ sessionId });
    await runDueMails(on.context);
    await issue({ sessionId });
    await runDueMails(on.context);
    expect(on.server.mails).toHaveLength(1);
    expect(on.server.mails[0]).toMatchObject({ to: 'ann@example.com' });
    expect(await onlyReceipt()).toMatchObject({
      checkoutSessionId: sessionId,
      amountCents: 2_600,
      mailStatus: 'sent',
      mailedAt: expect.any(Date),
    });
  });

  it('says who bought what, when and from whom, why it is eligible, and what each card paid [D14.86]', async () => {
    await issue();
    const { html, pdf } = await receiptDocuments(on.database, scope, await onlyReceipt());
    const facts = [
      'Ann Lee',
      'April 1, 2026',
      'order 7',
      'Chocolate',
      'Eligible: medical item on the IIAS list',
      'HSA/FSA card, Visa ending in 0072',
      'Card, Mastercard ending in 4444',
      '$20.80',
      '$5.20',
      '$26.00',
    ];
    for (const fact of facts) {
      expect(html).toContain(fact);
      expect(textOfPdf(pdf)).toContain(fact);
    }
    expect(html).toContain('Care &#38; Co');
    expect(textOfPdf(pdf)).toContain('Care & Co');
    expect(html).not.toContain('another way');
  });

  it('names the letter by which an item is eligible, in both documents [D14.86, D14.269]', async () => {
    const letterId = newId('letter');
    await withTx(on.database, scope, (tx) =>
      issueReceipt(tx, scope, {
        ...command(),
        letters: [create(ReceiptLetterSchema, { lineItemId: lineItemIds[0], letterId })],
      }),
    );
    const { html, pdf } = await receiptDocuments(on.database, scope, await onlyReceipt());
    expect(html).toContain(letterId);
    expect(textOfPdf(pdf).replaceAll(/\s/g, '')).toContain(letterId);
  });

  it('shows what no card of the session paid as paid to the shop in another way [D14.86]', async () => {
    await issue({ both: false });
    const { html, pdf } = await receiptDocuments(on.database, scope, await onlyReceipt());
    expect(html).toContain('Paid to Care &#38; Co in another way');
    expect(textOfPdf(pdf)).toContain('Paid to Care & Co in another way');
  });

  it('has the captured amounts where less was captured than the total [D14.86]', async () => {
    await issue({
      both: false,
      captured: {
        subtotalCents: 1_900n,
        discountCents: 0n,
        shippingCents: 80n,
        taxCents: 100n,
        feeCents: 0n,
        totalCents: 2_080n,
      },
    });
    const { html, pdf } = await receiptDocuments(on.database, scope, await onlyReceipt());
    for (const text of [html, textOfPdf(pdf)]) {
      expect(text).toContain('$19.00');
      expect(text).not.toContain('$26.00');
      expect(text).not.toContain('Paid to');
    }
  });

  it('shows what each card paid of an item that two cards paid, in both documents [D14.86, D14.183]', async () => {
    const shared = command();
    const [health, other] = shared.payments;
    if (health === undefined || other === undefined) throw new Error('The command has no two cards');
    Object.assign(health, { amountCents: 1_500n, lineAmountsCents: [1_500n] });
    Object.assign(other, { amountCents: 1_100n, lineItemIds: [...lineItemIds], lineAmountsCents: [580n, 520n] });
    await withTx(on.database, scope, (tx) => issueReceipt(tx, scope, shared));
    const { html, pdf } = await receiptDocuments(on.database, scope, await onlyReceipt());
    for (const text of [html, textOfPdf(pdf)].map((one) => one.replaceAll(/\s+/g, ' '))) {
      expect(text).toContain('HSA/FSA card, Visa ending in 0072 ($15.00) and Card, Mastercard ending in 4444 ($5.80)');
      for (const amount of ['$20.80', '$5.20', '$15.00', '$11.00', '$26.00']) expect(text).toContain(amount);
      expect(text).not.toContain('another way');
    }
  });

  it('takes nothing from a shop or a shopper as HTML', async () => {
    await issue({ merchantName: '<script>"\'' });
    const { html } = await receiptDocuments(on.database, scope, await onlyReceipt());
    expect(html).not.toMatch(/<script|<b>|"'/);
    expect(html).toContain('Thermometer &#60;b&#62;');
  });

  it('keeps its documents: the same bytes each time, and the database refuses others [D14.86]', async () => {
    await issue();
    const receipt = await onlyReceipt();
    const [first, second] = await Promise.all([
      receiptDocuments(on.database, scope, receipt),
      receiptDocuments(on.database, scope, receipt),
    ]);
    expect(second.pdf.equals(first.pdf)).toBe(true);
    const change = `update billing.receipts set html = 'x', pdf = '' where id = $1`;
    await expect(on.test.admin(change, [receipt.id])).rejects.toThrow('exist');
  });
});

describe('a receipt', () => receiptCaseTests(() => ({ on, scope }), issue));

describe('receipts of refunds [D14.169, D14.208]', () => refundReceiptTests(() => ({ on, scope }), issue));

describe('the receipt of a shopper who was erased before it was issued [D14.143, D14.207]', () =>
  erasedReceiptTests(() => ({ on, scope }), issue, command));

describe('a mail of a receipt', () => {
  it('that the server cannot take now is tried again later, and given up after eight tries [D14.87]', async () => {
    await issue();
    for (let tries = 1; tries <= 8; tries += 1) {
      on.server.answerNext('451 later');
      await makeDue();
      await runDueMails(on.context);
      const status = tries < 8 ? 'pending' : 'failed';
      expect(await mails()).toEqual([{ status, tries, failure_code: 'EMESSAGE_451' }]);
      // It is not due before its pause is over.
      await runDueMails(on.context);
      expect(await mails()).toMatchObject([{ tries }]);
    }
    expect(await onlyReceipt()).toMatchObject({ mailStatus: 'failed', mailedAt: null });
  });

  it('has its turn beside those of other accounts: a run sends one of each [D14.87]', async () => {
    for (let receipts = 0; receipts < 3; receipts += 1) await issue();
    scope = someScope();
    await issue();
    await runDueMails(on.context);
    expect(on.server.mails).toHaveLength(2);
    expect(await mails()).toMatchObject([{ status: 'sent' }]);
  });

  it('is sent while the server is slow with those of other accounts [D14.87]', async () => {
    for (let accounts = 0; accounts < 4; accounts += 1) {
      scope = someScope();
      await issue();
    }
    let waiting = 0;
    const all = Promise.withResolvers<void>();
    const send = async (mail: Mail) => {
      waiting += 1;
      if (waiting === 4) all.resolve();
      await all.promise;
      return on.context.mailer.send(mail);
    };
    await runDueMails({ ...on.context, mailer: { ...on.context.mailer, send } });
    expect(on.server.mails).toHaveLength(4);
  });

  it('that the server refuses for good is not tried again [D14.87]', async () => {
    await issue();
    on.server.answerNext('550 no such mailbox');
    await runDueMails(on.context);
    expect(await mails()).toEqual([{ status: 'failed', tries: 1, failure_code: 'EMESSAGE_550' }]);
  });

  it('goes out again under the same Message-ID after a crash between the server and the record [D14.87]', async () => {
    await issue();
    let crashed = false;
    const failpoint = () => {
      if (crashed) return undefined;
      crashed = true;
      throw new Error('killed');
    };
    await runDueMails({ ...on.context, failpoint });
    expect(await mails()).toMatchObject([{ status: 'pending', tries: 1 }]);
    await makeDue();
    await runDueMails({ ...on.context, failpoint });
    const ids = on.server.mails.map(({ data }) => /^Message-ID: (\S+)/m.exec(data)?.[1]);
    expect(ids).toHaveLength(2);
    expect(new Set(ids).size).toBe(1);
    expect(await mails()).toMatchObject([{ status: 'sent', tries: 2 }]);
  });

  it('waits while no server is configured, and then goes out', async () => {
    await issue();
    const mailer = openMailer({ smtpUrl: undefined, folder: undefined, from: '' });
    expect(await mailReceipts({ ...on.context, mailer }).run(new AbortController().signal)).toEqual({
      dueInMs: undefined,
    });
    expect(await mails()).toMatchObject([{ status: 'pending', tries: 0 }]);
    await mailReceipts(on.context).run(new AbortController().signal);
    expect(await mails()).toMatchObject([{ status: 'sent' }]);
  });

  it('ends once: the database refuses to change one that was sent', async () => {
    await issue();
    await runDueMails(on.context);
    const change =
      "update billing.receipt_mails set status = 'pending', sent_at = null, next_try_at = now() - interval '1 second' where account_id = $1";
    await expect(on.test.admin(change, [scope.accountId])).rejects.toThrow('is sent');
  });
});

describe('resending', () => {
  it('mails the receipt of the first payment of a subscription again, and one mail at a time [D14.88]', async () => {
    const { subscriptionId, sessionId } = await sell(on, scope);
    await issue({ sessionId });
    await runDueMails(on.context);
    const { id } = await onlyReceipt();
    expect(await resendReceipts(on.context, scope, subscriptionId)).toEqual([id]);
    expect(await resendReceipts(on.context, scope, subscriptionId)).toEqual([id]);
    await runDueMails(on.context);
    expect(on.server.mails).toHaveLength(2);
    const [first, second] = on.server.mails.map(({ data }) => /^Message-ID: (\S+)/m.exec(data)?.[1]);
    expect(first).not.toBe(second);
    expect(await resendReceipts(on.context, scope, subscriptionId)).toEqual([id]);
    await runDueMails(on.context);
    expect(on.server.mails).toHaveLength(3);
  });

  it('sends the same HTML and PDF, byte for byte, also a year later: the documents that exist [SUB-13, D14.86, D14.88]', async () => {
    const { subscriptionId, sessionId } = await sell(on, scope);
    await issue({ sessionId });
    await runDueMails(on.context);
    on.at('2027-04-01T00:00:00.000Z');
    await resendReceipts(on.context, scope, subscriptionId);
    await runDueMails(on.context);
    on.at(start);
    const [first, second] = on.server.mails.map(({ data }) => partsOf(data));
    expect(first?.map(({ type }) => type)).toEqual(['text/html', 'application/pdf']);
    expect(second).toEqual(first);
    const { html, pdf } = await receiptDocuments(on.database, scope, await onlyReceipt());
    const [ofHtml, ofPdf] = first ?? [];
    expect(ofHtml?.content.toString().replaceAll('\r\n', '\n').trimEnd()).toBe(html.trimEnd());
    expect(ofPdf?.content.equals(pdf)).toBe(true);
    // Documents that no rendering makes, past the guard of the database.
    await on.test.admin(
      `set local session_replication_role = replica;
       update billing.receipts set html = '<p>As it was.</p>' where account_id = '${scope.accountId}'`,
    );
    await resendReceipts(on.context, scope, subscriptionId);
    await runDueMails(on.context);
    const third = partsOf(on.server.mails[2]?.data ?? '').map(({ content }) => content);
    expect(third[0]?.toString().trim()).toBe('<p>As it was.</p>');
    expect(third[1]?.equals(pdf)).toBe(true);
  });

  it('finds no receipt where the shopper was not mailed one, and refuses an unknown subscription [D14.88]', async () => {
    const { subscriptionId } = await sell(on, scope);
    expect(await resendReceipts(on.context, scope, subscriptionId)).toEqual([]);
    await expect(resendReceipts(on.context, someScope(), subscriptionId)).rejects.toMatchObject({
      code: 'subscription_not_found',
    });
    expect(await findReceipt(on.database, scope, 'frcpt_none')).toBeUndefined();
  });
});

/** The parts of a mail, without their boundaries, which each mail has of its own. */
function partsOf(data: string): { type: string; content: Buffer }[] {
  return data.split(/^--\S+\r\n/m).flatMap((part) => {
    const [head = '', ...body] = part.split('\r\n\r\n');
    const type = /^Content-Type: ([^;\r]+)/im.exec(head)?.[1] ?? '';
    if (type.startsWith('multipart/')) return [];
    const text = body.join('\r\n\r\n').replace(/\r\n--\S+--[\s\S]*$/, '');
    const isBase64 = /^Content-Transfer-Encoding: base64/im.test(head);
    return [{ type, content: isBase64 ? Buffer.from(text, 'base64') : fromQuotedPrintable(text) }];
  });
}

function fromQuotedPrintable(text: string): Buffer {
  const bytes = text
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, byte) => String.fromCharCode(Number.parseInt(byte, 16)));
  return Buffer.from(bytes, 'latin1');
}

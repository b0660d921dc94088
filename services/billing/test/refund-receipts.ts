import { create } from '@bufbuild/protobuf';
import { textOfPdf } from '@eligo/pdf/test-support';
import { type Scope, withTx } from '@eligo/postgres';
import { type IssueRefundReceipt, IssueRefundReceiptSchema } from '@eligo/proto/events/v1/events';
import { idBodies, newId } from '@eligo/values';
import { beforeAll, describe, expect, it } from 'vitest';
import { issueRefundReceipt } from '../src/actions/issue-refund-receipt.ts';
import { receiptDocuments } from '../src/actions/receipt-documents.ts';
import { mailReceipts } from '../src/jobs/send-mails.ts';
import { listReceipts } from '../src/store/receipts.ts';
import type { MailFixture } from './mail-fixture.ts';

/** Tests of the receipts of refunds, beside those of purchases, which `issue` makes. */
export function refundReceiptTests(
  using: () => { on: MailFixture; scope: Scope },
  issue: (parts: { sessionId: string }) => Promise<void>,
): void {
  const on = () => using().on;
  const server = () => using().on.server;
  const scope = () => using().scope;
  describe('a receipt of a refund [D14.169]', () => {
    let refundId: string;
    // After the migrations, which date the feature.
    beforeAll(() => {
      refundId = newId('refund');
    });
    const sessionId = newId('checkout_session');
    const [healthId, otherId] = [newId('payment_intent'), newId('payment_intent')];
    const refunded = (health: bigint, other: bigint, of = refundId): IssueRefundReceipt =>
      create(IssueRefundReceiptSchema, {
        ...{ refundId: of, email: 'ann@example.com', merchantName: 'Care & Co', shopperName: 'Ann Lee' },
        session: { checkoutSessionId: sessionId, clientReferenceId: 'order 7', testMode: true },
        amountCents: health + other,
        items: [
          {
            description: 'Thermometer <b>',
            eligibility: 'auto_substantiation',
            amountCents: health,
            paymentIntentId: healthId,
          },
          { description: 'Chocolate', amountCents: other, paymentIntentId: otherId },
        ].filter(({ amountCents }) => amountCents > 0n),
        cards: [
          {
            ...{ paymentIntentId: healthId, amountCents: health, leg: 'health', cardKind: 'health' },
            ...{ cardBrand: 'visa', cardLast4: '0072' },
          },
          { paymentIntentId: otherId, amountCents: other, leg: 'other', cardBrand: 'mastercard', cardLast4: '4444' },
        ].filter(({ amountCents }) => amountCents > 0n),
        purchasedAtMs: BigInt(Date.parse('2026-04-01T10:00:00Z')),
        atMs: BigInt(Date.parse('2026-04-05T10:00:00Z')),
      });
    const issueRefund = (health: bigint, other: bigint, of?: string) =>
      withTx(on().database, scope(), (tx) => issueRefundReceipt(tx, scope(), refunded(health, other, of)));
    const sendAll = async () => {
      while ((await mailReceipts(on().context).run(new AbortController().signal)) === true);
    };
    const listed = async () => (await listReceipts(on().database, scope(), { limit: 10 }, { refundId })).receipts;

    it('says what came back of each item and to which card, and is mailed once, beside the receipt of the purchase', async () => {
      await issue({ sessionId });
      await issueRefund(2_080n, 520n);
      await issueRefund(2_080n, 520n);
      await sendAll();
      await issueRefund(2_080n, 520n);
      await sendAll();
      expect(server().mails.map(({ data }) => /^Subject: (.*)$/m.exec(data)?.[1])).toEqual([
        '[Test] Your receipt from Care & Co',
        '[Test] Refund from Care & Co',
      ]);
      const [receipt, ...others] = await listed();
      if (receipt === undefined) throw new Error('There is no receipt');
      expect(others).toEqual([]);
      expect(receipt).toMatchObject({ refundId, checkoutSessionId: sessionId, amountCents: 2_600, mailStatus: 'sent' });
      expect(
        (await listReceipts(on().database, scope(), { limit: 10 }, { checkoutSessionId: sessionId })).receipts,
      ).toHaveLength(2);
      const { html, pdf } = await receiptDocuments(on().database, scope(), receipt);
      for (const text of [html, textOfPdf(pdf)]) {
        for (const fact of [
          ...[
            'Ann Lee',
            'April 1, 2026',
            'April 5, 2026',
            'order 7',
            refundId,
            'Chocolate',
            '$20.80',
            '$5.20',
            '$26.00',
          ],
          ...[
            'Eligible: medical item on the IIAS list',
            'HSA/FSA card, Visa ending in 0072',
            'Mastercard ending in 4444',
          ],
        ])
          expect(text).toContain(fact);
        expect(text).not.toContain('An earlier receipt');
      }
      expect(html).toContain('Thermometer &#60;b&#62;');
    });

    it('is corrected each time that a bank returns money, and never says more again', async () => {
      await issueRefund(2_080n, 520n);
      await issueRefund(0n, 520n);
      // Those of earlier states, which arrive late.
      await issueRefund(2_080n, 520n);
      await issueRefund(0n, 520n);
      await issueRefund(0n, 0n);
      await issueRefund(0n, 0n);
      await sendAll();
      const receipts = (await listed()).reverse();
      expect(receipts.map(({ amountCents }) => amountCents)).toEqual([2_600, 520, 0]);
      expect(
        server().mails.filter(({ data }) => data.includes('Subject: [Test] Correction of your refund')),
      ).toHaveLength(2);
      const said = [];
      for (const receipt of receipts) {
        const { html, pdf } = await receiptDocuments(on().database, scope(), receipt);
        expect(textOfPdf(pdf).includes('An earlier receipt')).toBe(html.includes('An earlier receipt'));
        // Nothing is on its way once all was sent back.
        for (const [at, document] of [html, textOfPdf(pdf).replaceAll(/\s+/g, ' ')].entries()) {
          expect([at, document.includes('several days')]).toEqual([at, receipt.amountCents > 0]);
          expect([at, document.includes('Eligible: ')]).toEqual([at, receipt.amountCents > 520]);
        }
        said.push(/An earlier receipt said that (\S+) was refunded. (\S+) of it/.exec(html)?.slice(1));
      }
      expect(said).toEqual([undefined, ['$26.00', '$20.80'], ['$5.20', '$5.20']]);
    });

    it('that never went through is none', async () => {
      await issueRefund(0n, 0n);
      expect(await listed()).toEqual([]);
    });

    it('is none for a refund that is older than the first release that issued them: an upgrade mails nobody about the past [D14.208]', async () => {
      const [migrated] = await on().test.admin<{ applied_at: Date }>(
        "select applied_at from billing.migrations where id = 'billing/0370_refund_receipts.sql'",
      );
      const at = migrated?.applied_at.getTime() ?? expect.fail('no migration');
      const [before, after] = [-1, 0].map((ms) => {
        const body = idBodies({ now: () => at + ms, random40: () => Math.floor(Math.random() * 2 ** 40) });
        return `${refundId.slice(0, -26)}${body()}`;
      });
      await issueRefund(2_080n, 520n, before);
      await issueRefund(0n, 520n, before);
      await issueRefund(2_080n, 520n, after);
      const { receipts } = await listReceipts(on().database, scope(), { limit: 10 }, {});
      expect(receipts.map((receipt) => receipt.refundId)).toEqual([after]);
    });

    it('is refused by the database for an amount that has one, and a purchase that came to nothing', async () => {
      await issueRefund(2_080n, 520n);
      const copy = (set: string) =>
        on().test.admin(
          `insert into billing.receipts select (jsonb_populate_record(r, $2::jsonb)).* from billing.receipts r where account_id = $1`,
          [scope().accountId, JSON.stringify({ id: newId('receipt'), ...JSON.parse(set) })],
        );
      await expect(copy('{}')).rejects.toMatchObject({ constraint: 'one_receipt_for_each_amount_of_a_refund' });
      await expect(copy('{"amount_cents":0,"refund_id":null}')).rejects.toMatchObject({
        constraint: 'only_a_refund_comes_to_nothing',
      });
    });
  });
}

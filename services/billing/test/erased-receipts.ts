import { create } from '@bufbuild/protobuf';
import { textOfPdf } from '@eligo/pdf/test-support';
import { type Database, type Scope, scoped, withTx } from '@eligo/postgres';
import { type IssueReceipt, IssueRefundReceiptSchema } from '@eligo/proto/events/v1/events';
import { untilLockWait } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { describe, expect, it } from 'vitest';
import { eraseReceipts } from '../src/actions/erase-receipts.ts';
import { issueReceipt } from '../src/actions/issue-receipt.ts';
import { issueRefundReceipt } from '../src/actions/issue-refund-receipt.ts';
import { receiptDocuments } from '../src/actions/receipt-documents.ts';
import { mailReceipts } from '../src/jobs/send-mails.ts';
import { listReceipts } from '../src/store/receipts.ts';
import { patience } from './fixture.ts';
import type { MailFixture } from './mail-fixture.ts';

/** Tests of receipts whose shopper was erased, beside those of others, which `issue` makes of a `command`. */
export function erasedReceiptTests(
  using: () => { on: MailFixture; scope: Scope },
  issue: (parts: { sessionId: string }) => Promise<void>,
  command: (parts: { sessionId: string }) => IssueReceipt,
): void {
  const on = () => using().on;
  const server = () => using().on.server;
  const scope = () => using().scope;
  let opened: Database | undefined;
  // As the operator's command has it: row-level security does not bind it.
  const operator = () => {
    opened ??= on().test.open('billing', { ...patience, url: on().test.adminUrl });
    return opened;
  };
  describe('a receipt that is issued too late', () => {
    const refund = (sessionId: string) =>
      withTx(on().database, scope(), (tx) =>
        issueRefundReceipt(
          tx,
          scope(),
          create(IssueRefundReceiptSchema, {
            ...{
              refundId: newId('refund'),
              email: 'ann@example.com',
              merchantName: 'Care & Co',
              shopperName: 'Ann Lee',
            },
            ...{ session: { checkoutSessionId: sessionId, testMode: true }, amountCents: 520n },
          }),
        ),
      );
    const eraseSession = (sessionId: string) =>
      eraseReceipts(operator(), scope(), [newId('checkout_session'), sessionId]);
    const listed = async () => (await listReceipts(on().database, scope(), { limit: 10 }, {})).receipts;
    const nobody = { email: null, mailStatus: 'failed', content: { shopperName: null } };

    it('carries no name and is mailed to nobody, of a purchase and of a refund', async () => {
      const sessionId = newId('checkout_session');
      expect(await eraseSession(sessionId)).toBe(0);
      await issue({ sessionId });
      await refund(sessionId);
      await mailReceipts(on().context).run(new AbortController().signal);
      expect(server().mails).toEqual([]);
      const receipts = await listed();
      expect(receipts).toMatchObject([nobody, nobody]);
      for (const receipt of receipts) {
        const { html, pdf } = await receiptDocuments(on().database, scope(), receipt);
        expect(html + textOfPdf(pdf)).not.toMatch(/Ann Lee|ann@example/);
      }
      const ofPerson =
        "select r::text from billing.receipts r where r.account_id = $1 and r::text ~ 'Ann Lee|ann@example'";
      expect(await on().test.admin(ofPerson, [scope().accountId])).toEqual([]);
    });

    it('carries none either where it is being issued as the shopper is erased', async () => {
      const sessionId = newId('checkout_session');
      const issued = Promise.withResolvers<void>();
      const mayCommit = Promise.withResolvers<void>();
      const issuing = withTx(on().database, scope(), async (tx) => {
        await issueReceipt(tx, scope(), command({ sessionId }));
        issued.resolve();
        await mayCommit.promise;
      });
      await issued.promise;
      const erasing = eraseSession(sessionId);
      await untilLockWait(on().test.admin, 'the erasure to wait', { event: 'advisory' });
      mayCommit.resolve();
      await issuing;
      expect(await erasing).toBe(1);
      expect(await listed()).toMatchObject([nobody]);
    });

    it('is decided by the operator’s command alone: the service cannot mark or unmark a session', async () => {
      const sessionId = newId('checkout_session');
      await eraseSession(sessionId);
      for (const sql of [
        'delete from billing.erased_sessions where account_id = $1 and test_mode = $2 and session_id = $3',
        'insert into billing.erased_sessions (account_id, test_mode, session_id) values ($1, $2, $3)',
      ]) {
        const change = withTx(on().database, scope(), (tx) =>
          tx.execute(scoped('test.mark', sql), scope(), [sessionId]),
        );
        await expect(change).rejects.toMatchObject({ code: '42501' });
      }
    });
  });
}

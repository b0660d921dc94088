import { textOfPdf } from '@eligo/pdf/test-support';
import type { Scope } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { expect, it } from 'vitest';
import { receiptDocuments } from '../src/actions/receipt-documents.ts';
import { resendReceipts } from '../src/actions/resend-receipts.ts';
import { mailReceipts } from '../src/jobs/send-mails.ts';
import { receiptMessage } from '../src/messages/receipt.ts';
import { listReceipts } from '../src/store/receipts.ts';
import { sell } from './fixture.ts';
import type { MailFixture } from './mail-fixture.ts';

/** Tests of what receipts call cards, and of receipts without an address, beside those of others, which `issue` makes. */
export function receiptCaseTests(
  using: () => { on: MailFixture; scope: Scope },
  issue: (parts: {
    sessionId?: string;
    cardKind?: string;
    email?: string;
    purchasedAt?: string;
    partly?: boolean;
  }) => Promise<void>,
): void {
  const on = () => using().on;
  const server = () => using().on.server;
  const scope = () => using().scope;
  const runDueMails = () => mailReceipts(on().context).run(new AbortController().signal);
  const mails = () =>
    on().test.admin('select status, tries, failure_code from billing.receipt_mails where account_id = $1', [
      scope().accountId,
    ]);
  async function onlyReceipt() {
    const { receipts } = await listReceipts(on().database, scope(), { limit: 10 }, {});
    const [receipt] = receipts;
    if (receipt === undefined || receipts.length !== 1) throw new Error(`There are ${receipts.length} receipts`);
    return receipt;
  }

  it.each([
    ['other', 'a card that is known to be none'],
    ['unknown', 'a card of which that is not known'],
    ['', 'the card of a command that does not say it'],
  ])('does not call %o, %s, an HSA/FSA card, though it paid for what is eligible [D14.306]', async (cardKind) => {
    await issue({ cardKind });
    const { html, pdf } = await receiptDocuments(on().database, scope(), await onlyReceipt());
    for (const text of [html, textOfPdf(pdf)]) {
      expect(text).toContain('Card, Visa ending in 0072');
      expect(text).not.toContain('HSA/FSA card');
    }
  });

  it('of an earlier release says of its cards what it said then, also where its documents are rendered again [D14.306]', async () => {
    await issue({ cardKind: 'other' });
    const receipt = await onlyReceipt();
    await on().test.admin("update billing.receipts set content = content #- '{payments,0,cardKind}' where id = $1", [
      receipt.id,
    ]);
    const { html } = await receiptDocuments(on().database, scope(), await onlyReceipt());
    expect(html).toContain('HSA/FSA card, Visa ending in 0072');
  });

  it('of a shopper without an address is kept with its documents, and mailed to nobody [D14.86]', async () => {
    const sessionId = newId('checkout_session');
    await issue({ sessionId, email: '' });
    await issue({ sessionId, email: '' });
    await runDueMails();
    expect([server().mails, await mails()]).toEqual([[], []]);
    const receipt = await onlyReceipt();
    expect(receipt).toMatchObject({ email: null, mailStatus: null, mailedAt: null });
    expect(receiptMessage(scope(), receipt).mailStatus).toBe('');
    expect((await receiptDocuments(on().database, scope(), receipt)).html).toContain('Ann Lee');
  });

  it('of a shopper without an address is not resent [D14.88]', async () => {
    const { subscriptionId, sessionId } = await sell(on(), scope());
    await issue({ sessionId, email: '' });
    expect(await resendReceipts(on().context, scope(), subscriptionId)).toEqual([]);
    expect(await mails()).toEqual([]);
  });

  it.each(['none@invalid', 'erased@invalid'])(
    'is not mailed by what an earlier release queued for %s, and the mail ends at once [D14.86]',
    async (email) => {
      await issue({});
      await on().test.admin('update billing.receipts set email = $2 where account_id = $1', [scope().accountId, email]);
      await runDueMails();
      expect(server().mails).toEqual([]);
      expect(await onlyReceipt()).toMatchObject({ email: null, mailStatus: 'failed' });
      expect(await mails()).toMatchObject([{ status: 'failed', tries: 1, failure_code: 'no_address' }]);
    },
  );

  it.each([
    ['2025-12-29T18:00:00Z', 'December 29, 2025', 'April 1, 2026'],
    ['2026-04-01T09:00:00Z', 'April 1, 2026', undefined],
  ])(
    'paid at %s says that day as its date of purchase, and the day of a later capture beside it [D14.308]',
    async (at, purchase, charge) => {
      await issue({ purchasedAt: at });
      const { html, pdf } = await receiptDocuments(on().database, scope(), await onlyReceipt());
      for (const text of [html.replaceAll(/<[^>]*>/g, ' '), textOfPdf(pdf)].map((one) =>
        one.replaceAll(/[:\s]+/g, ' '),
      )) {
        expect(text).toContain(`Date of purchase ${purchase}`);
        if (charge === undefined) expect(text).not.toContain('Date of charge');
        else expect(text).toContain(`Date of charge ${charge}`);
      }
    },
  );

  it('of an item that was captured in part does not price its whole quantity [D14.308]', async () => {
    await issue({ partly: true });
    const { html, pdf } = await receiptDocuments(on().database, scope(), await onlyReceipt());
    expect(html).toContain('Part of 2 × Thermometer');
    expect(textOfPdf(pdf)).toContain('Part of 2 x Thermometer');
    expect(html).not.toContain('Part of 1');
  });
}

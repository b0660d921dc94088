import type { Context } from '../context.ts';
import { isOfRefund, refundTitle } from '../domain/receipt.ts';
import type { ClaimedMail } from '../store/mail-queue.ts';
import { receiptMails } from '../store/receipt-mails.ts';
import { findReceipt } from '../store/receipts.ts';
import { receiptDocuments } from './receipt-documents.ts';
import type { MailKind } from './send-mail.ts';

/** The mail of a receipt: its documents, for the address of the session. */
export const receiptMail: MailKind = {
  queue: receiptMails,
  async compose({ database }: Context, scope, { id, subjectId }: ClaimedMail) {
    const receipt = await findReceipt(database, scope, subjectId);
    if (receipt === undefined) throw new Error(`Mail ${id} has no receipt`);
    // Queued by a process of an earlier release, which takes what stands in the column for an address, or before the shopper was erased.
    if (receipt.email === null) return { kind: 'given_up', code: 'no_address' };
    const { html, pdf } = await receiptDocuments(database, scope, receipt);
    const { content } = receipt;
    const subject = isOfRefund(content) ? refundTitle(content) : `Your receipt from ${content.merchantName}`;
    return {
      to: receipt.email,
      subject: `${content.testMode ? '[Test] ' : ''}${subject}`,
      html,
      attachments: [{ filename: `receipt-${receipt.id}.pdf`, contentType: 'application/pdf', content: pdf }],
    };
  },
};

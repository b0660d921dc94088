import type { Context } from '../context.ts';
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
    const { html, pdf } = await receiptDocuments(database, scope, receipt);
    const { merchantName, testMode } = receipt.content;
    return {
      to: receipt.email,
      subject: `${testMode ? '[Test] ' : ''}Your receipt from ${merchantName}`,
      html,
      attachments: [{ filename: `receipt-${receipt.id}.pdf`, contentType: 'application/pdf', content: pdf }],
    };
  },
};

import type { MailOutcome } from '@eligo/mail';
import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { pauseAfterTryMs } from '../domain/receipt.ts';
import { type ClaimedMail, claimMail, type MailRecord, recordMail } from '../store/receipt-mails.ts';
import { findReceipt } from '../store/receipts.ts';
import { receiptDocuments } from './receipt-documents.ts';

/** Longer than a mailer takes with its server (10 s for each step), so that two processes do not send one mail at the same time. */
const leaseMs = 120_000;

/**
 * Sends one mail if it is due. A crash after the server has taken it and before that is recorded sends it again, under the same Message-ID.
 */
export async function mailReceipt(work: Context, scope: Scope, mailId: string): Promise<void> {
  const { database, mailer, logger } = work;
  const mail = await withTx(database, scope, (tx) => claimMail(tx, scope, mailId, leaseMs));
  if (mail === undefined) return;
  const outcome = await send(work, scope, mail);
  await work.failpoint('receipt.mailed');
  const record = recordOf(outcome, mail.tries);
  if (record.status !== 'sent') {
    const { id: mailId, receiptId, tries } = mail;
    const message = record.status === 'failed' ? 'Gave up mailing a receipt' : 'Failed to mail a receipt; will retry';
    logger.warn({ mailId, receiptId, tries, code: record.code, configured: mailer.isConfigured }, message);
  }
  await withTx(database, scope, (tx) => recordMail(tx, scope, mail, record));
}

async function send({ database, mailer }: Context, scope: Scope, mail: ClaimedMail): Promise<MailOutcome> {
  const receipt = await findReceipt(database, scope, mail.receiptId);
  if (receipt === undefined) throw new Error(`Mail ${mail.id} has no receipt`);
  const { html, pdf } = await receiptDocuments(database, scope, receipt);
  const { merchantName, testMode } = receipt.content;
  return mailer.send({
    id: mail.id,
    to: receipt.email,
    subject: `${testMode ? '[Test] ' : ''}Your receipt from ${merchantName}`,
    html,
    attachments: [{ filename: `receipt-${receipt.id}.pdf`, contentType: 'application/pdf', content: pdf }],
  });
}

function recordOf(outcome: MailOutcome, tries: number): MailRecord {
  if (outcome.kind === 'sent') return { status: 'sent' };
  const pauseMs = outcome.kind === 'failed' ? pauseAfterTryMs(tries) : undefined;
  return pauseMs === undefined
    ? { status: 'failed', code: outcome.code }
    : { status: 'pending', code: outcome.code, pauseMs };
}

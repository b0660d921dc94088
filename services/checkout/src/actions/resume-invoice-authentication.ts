import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { declinedByShopper } from '../domain/charge-attempt.ts';
import { claimAttempt } from '../store/charge-attempts.ts';
import { carryOutAttempt } from './carry-out-attempt.ts';
import { findAttemptOnPage } from './read-invoice-payment.ts';
import { cancelWaiting } from './resume-authentication.ts';
import { settleAttempt } from './settle-attempt.ts';

/**
 * Learns from the processor what came of an authentication on the page of an invoice, and settles the charge. What the browser says of it counts for nothing.
 * With `giveUp` the customer wants another card: the intent is canceled if the bank is still waiting. Billing then asks for the outcome of its operation.
 */
export async function resumeInvoiceAuthentication(
  context: Context,
  scope: Scope,
  invoiceId: string,
  giveUp: boolean,
): Promise<void> {
  const { database, budgets } = context;
  const deadlineMs = performance.now() + budgets.callMs;
  const waiting = await findAttemptOnPage(database, scope, invoiceId);
  if (waiting === undefined) return;
  const attempt = await withTx(database, scope, (tx) => claimAttempt(tx, scope, waiting.id, budgets.leaseMs));
  // Another process is finding it out.
  if (attempt === undefined) return;
  await context.failpoint('authentication.claimed');
  if (giveUp && (await cancelWaiting(context, scope, attempt, deadlineMs))) {
    await settleAttempt(context, scope, attempt, declinedByShopper);
  } else {
    await carryOutAttempt(context, scope, attempt, deadlineMs);
  }
  await context.failpoint('authentication.settled');
}

import type { Db, Scope } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import { liveAttempts } from '../store/charge-attempts.ts';
import { cardFieldsOf, type Page, readSecret } from './read-page.ts';

/** What the payment page of an invoice shows of its processor. */
export interface InvoicePayment extends Pick<Page, 'cardFields' | 'clientSecret'> {
  /** A charge with its customer there has no outcome yet. */
  readonly inFlight: boolean;
}

/** Reads whose card fields the payment page of an invoice shows, and the secret of an authentication that a bank waits for. */
export async function readInvoicePayment(context: Context, scope: Scope, invoiceId: string): Promise<InvoicePayment> {
  const { database, processors } = context;
  const attempt = await findAttemptOnPage(database, scope, invoiceId);
  const { processorIntentId = null, processorAccount = null, confirmOver = false, awaitsCustomer } = attempt ?? {};
  const isWaiting = processorIntentId !== null && (!confirmOver || awaitsCustomer === true);
  const asked = isWaiting ? await readSecret(processors, scope, { processorIntentId, processorAccount }) : undefined;
  return {
    inFlight: attempt !== undefined,
    clientSecret: asked?.clientSecret,
    // The bank of a card is asked where the card was charged, whichever processor account the shop has by now.
    cardFields: cardFieldsOf(asked?.port ?? processors.findOf(scope)),
  };
}

/** The charge of an invoice with its customer there, on its page or on the partner's, whose outcome is not known: one card is charged after the other. */
export async function findAttemptOnPage(db: Db, scope: Scope, invoiceId: string): Promise<ChargeAttempt | undefined> {
  const live = await liveAttempts(db, scope, 'invoice', invoiceId);
  return live.find(({ status, offSession }) => status !== 'succeeded' && !offSession);
}

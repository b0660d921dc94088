import { Failure } from '@eligo/failures';
import type { Invoice, InvoiceCharge } from './invoice.ts';

/**
 * Throws `invoice_payment_tries_exceeded` for one more try that somebody asks for: a card typed on the page of an invoice, or a request of the partner. The
 * two are counted apart, so that neither uses up the tries of the other. What the schedule charges counts with the partner's, and is never refused: it ends
 * by itself.
 */
export function refuseTooManyTries(
  { attempts, pageTriesWithoutCharge }: Pick<Invoice, 'attempts' | 'pageTriesWithoutCharge'>,
  charges: readonly Pick<InvoiceCharge, 'onPage'>[],
  onPage: boolean,
): void {
  const ofPage = charges.filter((charge) => charge.onPage).length;
  // A try that no card could be charged for has no charge. Each other one of the page has at least one.
  const ofOthers = attempts - ofPage - pageTriesWithoutCharge;
  const exceeded = onPage
    ? ofPage >= mostCharges || attempts >= mostAttempts
    : charges.length - ofPage >= mostCharges || ofOthers >= mostCharges;
  if (exceeded) throw new Failure('invoice_payment_tries_exceeded');
}

// Enough for a customer who corrects a card, too few to try out stolen ones. Reading an invoice reads its charges.
const mostCharges = 60;

// More than the partner, the schedule and the charges of the page come to: the page has tried without a card that could pay.
const mostAttempts = 200;

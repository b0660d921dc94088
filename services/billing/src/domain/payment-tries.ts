import { Failure } from '@eligo/failures';
import type { Invoice, InvoiceCharge } from './invoice.ts';

// The two functions count apart, so that neither the page nor the partner uses up the tries of the other.
type Attempts = Pick<Invoice, 'attempts' | 'pageTriesWithoutCharge'>;
type Charges = readonly Pick<InvoiceCharge, 'onPage'>[];

/** Throws `invoice_payment_tries_exceeded` for one more card that is typed on the page of an invoice. */
export function refuseMorePageTries({ attempts }: Attempts, charges: Charges): void {
  if (countOfPage(charges) >= mostCharges || attempts >= mostAttempts) throw exceeded();
}

/** The same for one more request of the partner. What the schedule charges counts with the partner's, and is never refused: it ends by itself. */
export function refuseMorePartnerTries({ attempts, pageTriesWithoutCharge }: Attempts, charges: Charges): void {
  const ofPage = countOfPage(charges);
  // A try that no card could be charged for has no charge. Each other one of the page has at least one.
  const ofOthers = attempts - ofPage - pageTriesWithoutCharge;
  if (charges.length - ofPage >= mostCharges || ofOthers >= mostCharges) throw exceeded();
}

function countOfPage(charges: Charges): number {
  return charges.filter(({ onPage }) => onPage).length;
}

function exceeded(): Failure {
  return new Failure('invoice_payment_tries_exceeded');
}

// Enough for a customer who corrects a card, too few to try out stolen ones. Reading an invoice reads its charges.
const mostCharges = 60;

// More than the partner, the schedule and the charges of the page come to: the page has tried without a card that could pay.
const mostAttempts = 200;

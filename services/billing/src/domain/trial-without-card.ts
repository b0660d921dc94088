import type { Invoice } from './invoice.ts';
import { type Card, type Cards, nextCharge } from './payment-shares.ts';
import type { Subscription } from './subscription.ts';

/**
 * What the sale agreed for the end of a trial without a card; null where there is one, or nothing was agreed. A card that is gone is none. A backup card alone is one if it can
 * pay the first period: a health card does not pay what is not for health care.
 */
export function endOfTrialWithoutCard(
  { status, missingPaymentMethod }: Pick<Subscription, 'status' | 'missingPaymentMethod'>,
  invoice: Invoice,
  cards: Cards | undefined,
): string | null {
  if (status !== 'trialing' || isThere(cards?.standard)) return null;
  return isThere(cards?.backup) && canPay(invoice, cards) ? null : missingPaymentMethod;
}

function isThere(card: Card | null | undefined): boolean {
  return card?.gone === null;
}

/** Whether these cards can pay a new invoice; undefined: checkout does not know one of them. */
export function canPay(invoice: Invoice, cards: Cards | undefined): boolean {
  if (invoice.status !== 'open') return true;
  return cards !== undefined && nextCharge(invoice, [], cards).kind === 'charge';
}

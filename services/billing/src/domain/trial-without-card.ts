import type { Invoice } from './invoice.ts';
import { type Card, type Cards, nextCharge } from './payment-shares.ts';
import type { Subscription } from './subscription.ts';

/**
 * What the sale agreed for the end of a trial without a card; null where there is one, or nothing was agreed. A card that is gone is none. A backup card is one if it can
 * pay the first period: a health card does not pay what is not for health care, and another one pays the part of a health card that is gone only where the customers of the account agree (`isBackupAgreed`).
 */
export function endOfTrialWithoutCard(
  { status, missingPaymentMethod }: Pick<Subscription, 'status' | 'missingPaymentMethod'>,
  invoice: Invoice,
  cards: Cards | undefined,
  isBackupAgreed: boolean,
): string | null {
  if (status !== 'trialing' || isThere(cards?.standard)) return null;
  return isThere(cards?.backup) && canPay(invoice, cards, isBackupAgreed) ? null : missingPaymentMethod;
}

function isThere(card: Card | null | undefined): boolean {
  return card?.gone === null;
}

/** Whether these cards can pay a new invoice; undefined: checkout does not know one of them. A health card that is gone counts as one that refused its part. */
export function canPay(invoice: Invoice, cards: Cards | undefined, isBackupAgreed: boolean): boolean {
  if (invoice.status !== 'open') return true;
  if (cards === undefined) return false;
  const isCharged = (healthRefused: boolean) => nextCharge({ ...invoice, healthRefused }, [], cards).kind === 'charge';
  return isCharged(false) || (isBackupAgreed && cards.standard !== null && cards.backup !== null && isCharged(true));
}

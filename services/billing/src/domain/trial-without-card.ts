import type { Invoice } from './invoice.ts';
import { type Cards, nextCharge } from './payment-shares.ts';
import type { Subscription } from './subscription.ts';

/**
 * What the sale agreed for the end of a trial without a card; null where there is one, or nothing was agreed. A backup card alone is one if it can pay the first period:
 * a health card does not pay what is not for health care.
 */
export function endOfTrialWithoutCard(
  { status, defaultPaymentMethodId, backupPaymentMethodId, missingPaymentMethod }: Subscription,
  invoice: Invoice,
  cards: Cards | undefined,
): string | null {
  if (status !== 'trialing' || defaultPaymentMethodId !== null) return null;
  return backupPaymentMethodId !== null && canPay(invoice, cards) ? null : missingPaymentMethod;
}

/** Whether these cards can pay a new invoice; undefined: one of them is no longer there. */
export function canPay(invoice: Invoice, cards: Cards | undefined): boolean {
  if (invoice.status !== 'open') return true;
  return cards !== undefined && nextCharge(invoice, [], cards).kind === 'charge';
}

import type { PaymentIntent } from './payment-intent.ts';
import type { Session } from './session.ts';

/** Which lines a card pays. */
export type PaidLines = 'eligible' | 'ineligible' | 'all';

/** Which lines an intent pays. A line is paid by one card, whole. */
export function paidLines(session: Session, intent: PaymentIntent): PaidLines {
  if (intent.amountCents === session.amountTotalCents) return 'all';
  return intent.leg === 'health' ? 'eligible' : 'ineligible';
}

import type { PaymentIntent } from './payment-intent.ts';
import type { Session } from './session.ts';

/** Which lines an intent pays. A line is paid by one card, whole. */
export function paidLines(session: Session, intent: PaymentIntent): 'eligible' | 'ineligible' | 'all' {
  if (intent.amountCents === session.amountTotalCents) return 'all';
  return intent.leg === 'health' ? 'eligible' : 'ineligible';
}

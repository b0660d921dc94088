import { Refusal } from '../refusal.ts';
import { needCard } from '../shapes/card.ts';
import { shape } from '../shapes/shape.ts';
import type { PaymentMethodRecord } from '../store/record-types.ts';

/** In a payment method's metadata: its issuer is not asked when it is attached, so that a test has a customer whose card declines a charge. */
export const uncheckedMark = 'sandbox_attach_unchecked';

/** Asks the issuer before a card is attached to a customer, as Stripe does. Throws the card's decline. */
export function askIssuerToAttach(method: PaymentMethodRecord): void {
  const { behaviour, attachesAlways } = needCard(method.card);
  if (behaviour.kind !== 'decline' || attachesAlways || method.metadata[uncheckedMark] === 'true') return;
  throw new Refusal(402, {
    type: 'card_error',
    code: behaviour.code,
    decline_code: behaviour.declineCode,
    message: behaviour.message,
    payment_method: shape('payment_method', method),
  });
}

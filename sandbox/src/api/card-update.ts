import { cardByName } from '../cards.ts';
import { invalidRequest } from '../refusal.ts';
import type { PaymentMethodRecord } from '../store/record-types.ts';
import type { Call } from './route.ts';

/** Replaces the card of a payment method by a test card of this name, with a new expiry, as a card network does when a bank issues another one. */
export function replaceCard(call: Call, method: PaymentMethodRecord, name: string): PaymentMethodRecord {
  const card = cardByName(name);
  if (card === undefined) throw invalidRequest('card must be the name of a test card.', { param: 'card' });
  if (method.detached) throw invalidRequest('This PaymentMethod was detached.');
  const updated = { ...method, card: card.name, expMonth: 12, expYear: new Date(call.nowMs).getUTCFullYear() + 4 };
  call.records.update('payment_method', updated, updated.customer ?? '');
  call.emit('payment_method.automatically_updated', 'payment_method', updated);
  return updated;
}

import type { Scope } from '@eligo/postgres';
import { isId } from '@eligo/values';
import type { Charging } from '../charging.ts';
import type { Address } from '../domain/address.ts';
import type { CardSlot } from '../domain/card-kind.ts';
import type { Session } from '../domain/session.ts';
import { completeSession } from './complete-session.ts';
import { createTestPaymentMethod } from './create-test-payment-method.ts';
import { cardKeeper, keepCard } from './keep-card.ts';

/** A shopper's cards for a session: each is a payment method's id or, for a test helper, a test card's name. */
export interface CardsOfShopper {
  readonly sessionId: string;
  readonly paymentMethod: string | undefined;
  readonly secondPaymentMethod: string | undefined;
  /** The slot of the page that each was put into. */
  readonly slot?: CardSlot | undefined;
  readonly secondSlot?: CardSlot | undefined;
  /** True where the account may charge no health cards. */
  readonly refusesHealthCards: boolean;
  readonly shippingDetails: Address | null;
}

/** Completes a session with the shopper's cards. The first is kept for the session's customer where it is charged again later. */
export async function completeWithCards(charging: Charging, scope: Scope, given: CardsOfShopper): Promise<Session> {
  const { sessionId, paymentMethod, secondPaymentMethod, shippingDetails, refusesHealthCards } = given;
  const customerId = await cardKeeper(charging, scope, sessionId, paymentMethod);
  const paymentMethodIds: string[] = [];
  const slots: (CardSlot | undefined)[] = [];
  for (const [field, card, slot] of [
    ['payment_method', paymentMethod, given.slot],
    ['second_payment_method', secondPaymentMethod, given.secondSlot],
  ] as const) {
    if (card === undefined) continue;
    slots.push(slot);
    if (isId('payment_method', card)) {
      if (customerId !== null) await keepCard(charging, scope, card, customerId);
      paymentMethodIds.push(card);
      continue;
    }
    const cardLoc = ['body', 'checkout_session', field];
    const made = await createTestPaymentMethod(charging, scope, { customerId, card, cardLoc, offSession: true });
    paymentMethodIds.push(made.id);
  }
  return completeSession(charging, scope, { sessionId, paymentMethodIds, slots, refusesHealthCards, shippingDetails });
}

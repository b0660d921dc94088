import { Failure } from '@eligo/failures';
import type { Scope, Tx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import type { Address } from '../domain/address.ts';
import { accountToCharge } from '../domain/card-account.ts';
import { type CardSlot, kindOfCard } from '../domain/card-kind.ts';
import type { ShopperCard } from '../domain/payment-plan.ts';
import { noteShopperKinds } from '../store/payment-methods.ts';
import { type ChargeableCard, findChargeableCards } from '../store/session-payments.ts';

/** What a shopper gives on the checkout page. */
export interface ShopperPayment {
  /** The version of the split that the shopper saw; undefined where no page showed one. */
  readonly shownSplit?: string | undefined;
  readonly sessionId: string;
  readonly paymentMethodIds: readonly string[];
  /** The slot of the page that each of them was put into, in the same order; undefined where nobody said. */
  readonly slots?: readonly (CardSlot | undefined)[];
  /** True where the account may charge no health cards: the other card then pays everything. */
  readonly refusesHealthCards?: boolean;
  /** The account has health cards approved for a part, where the processor can ask for that. */
  readonly acceptsPart?: boolean;
  readonly shippingDetails: Address | null;
}

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
  /** The account has health cards approved for a part. */
  readonly acceptsPart?: boolean;
  readonly shippingDetails: Address | null;
  /** Each card is the processor's identifier, from its fields on the session's page. */
  readonly onPage?: boolean;
  /** The version of the split that the page showed. */
  readonly shownSplit?: string | undefined;
  /** What the shopper answers for the letters that the session then awaits. */
  readonly letterAnswers?: string | null;
}

/** The cards in the order given, and the first one's customer. What the shopper says of a card that nobody else knows is kept with it. */
export async function findCards(
  context: Context,
  tx: Tx,
  scope: Scope,
  { paymentMethodIds: ids, slots = [] }: ShopperPayment,
): Promise<{ cards: ShopperCard[]; customerId: string | null }> {
  const found = await findChargeableCards(tx, scope, ids);
  const cards = ids.map((id, index) => {
    const card = found.find((candidate) => candidate.id === id);
    if (card === undefined) {
      const field = index === 0 ? 'payment_method' : 'second_payment_method';
      throw Failure.invalid(
        ['body', 'checkout_session', field],
        'payment_method_not_found',
        `payment_method_not_found: ${id}`,
      );
    }
    if (card.processorAccount !== null) accountToCharge(card, context.processors.of(scope).account);
    return { paymentMethodId: id, kind: kindOfCard(card.hsaFsa, slots[index]) };
  });
  await noteSlots(tx, scope, ids, slots, found);
  return { cards, customerId: found.find((card) => card.id === ids[0])?.customerId ?? null };
}

// What a shopper says of a card is kept where nothing else is known of it.
async function noteSlots(
  tx: Tx,
  scope: Scope,
  ids: readonly string[],
  slots: readonly (CardSlot | undefined)[],
  found: readonly ChargeableCard[],
): Promise<void> {
  const said = new Map<string, boolean>();
  for (const [index, id] of ids.entries()) {
    const slot = slots[index];
    if (slot === undefined || found.find((card) => card.id === id)?.hsaFsa !== null) continue;
    said.set(id, slot === 'health' || said.get(id) === true);
  }
  if (said.size > 0) await noteShopperKinds(tx, scope, said);
}

import type { PageView } from '@eligo/contract';

export type Slot = 'health' | 'other';
/** Which cards the shopper gives. */
export type Way = 'both' | 'health' | 'other' | 'none';

/** The ways in which this session can be paid as it stands; the first is offered first. */
export function waysToPay(view: PageView): readonly Way[] {
  if (view.next_action?.type === 'provide_second_payment_method') return ['other'];
  // After a denied letter a health card still pays what is eligible.
  if (view.next_action?.type === 'provide_alternative_payment_method' && !view.letter_denied) return ['other'];
  // One card is saved for later, or one of each kind.
  if (view.mode === 'setup') return view.refuses_health_cards ? ['other'] : ['health', 'other', 'both'];
  // What a trial saves cards for is its first renewal.
  const due = view.first_renewal ?? view;
  if (view.due_now === 0 && due.health_card_amount + due.other_card_amount === 0) {
    if (view.mode !== 'subscription') return ['none'];
    return view.refuses_health_cards ? ['other'] : ['health', 'other'];
  }
  if (due.health_card_amount === 0) return ['other'];
  return due.other_card_amount === 0 ? ['health', 'other'] : ['both', 'other'];
}

export function slotsOf(way: Way): readonly Slot[] {
  if (way === 'none') return [];
  return way === 'both' ? ['health', 'other'] : [way];
}

/** What a card of this slot pays now. */
export function amountOf(view: PageView, way: Way, slot: Slot): number {
  if (view.due_now === 0) return 0;
  const held = view.next_action?.type === 'provide_second_payment_method' ? view.next_action : undefined;
  if (held !== undefined) return held.provide_second_payment_method.ineligible_amount ?? view.other_card_amount;
  if (way !== 'both') return view.due_now;
  return slot === 'health' ? view.health_card_amount : view.other_card_amount;
}

/** The card pays nothing until a letter is approved. What another card pays alone needs no letter, and is charged at once. */
export function isHeldForLetter(view: PageView, way: Way): boolean {
  const isHeld = view.next_action?.type === 'provide_second_payment_method';
  return view.letter_required && (isHeld || slotsOf(way).includes('health'));
}

/**
 * Whether the server only authorizes the card of a slot, and captures later: for the shop, for a letter, and the health card until the other card has paid. On an
 * invoice both are charged at once.
 */
export function isHold(view: PageView, way: Way, slot: Slot, isInvoice: boolean): boolean {
  if (isInvoice) return false;
  return view.manual_capture || isHeldForLetter(view, way) || (way === 'both' && slot === 'health');
}

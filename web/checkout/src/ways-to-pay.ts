import type { PageView } from '@eligo/contract';

export type Slot = 'health' | 'other';
/** Which cards the shopper gives. */
export type Way = 'both' | 'health' | 'other' | 'none';

/** The ways in which this session can be paid as it stands; the first is offered first. */
export function waysToPay(view: PageView): readonly Way[] {
  if (view.next_action?.type === 'provide_second_payment_method') return ['other'];
  if (view.next_action?.type === 'provide_alternative_payment_method') return ['other'];
  // A card is saved for later.
  if (view.mode === 'setup') return ['health', 'other'];
  if (view.due_now === 0) return view.mode === 'subscription' ? ['health', 'other'] : ['none'];
  if (view.health_card_amount === 0) return ['other'];
  return view.other_card_amount === 0 ? ['health', 'other'] : ['both', 'other'];
}

export function slotsOf(way: Way): readonly Slot[] {
  if (way === 'none') return [];
  return way === 'both' ? ['health', 'other'] : [way];
}

/** What a card of this slot pays. */
export function amountOf(view: PageView, way: Way, slot: Slot): number {
  const held = view.next_action?.type === 'provide_second_payment_method' ? view.next_action : undefined;
  if (held !== undefined) return held.provide_second_payment_method.ineligible_amount ?? view.other_card_amount;
  if (way !== 'both') return view.due_now;
  return slot === 'health' ? view.health_card_amount : view.other_card_amount;
}

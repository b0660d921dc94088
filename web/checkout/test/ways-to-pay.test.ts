import type { PageView } from '@eligo/contract';
import { describe, expect, it } from 'vitest';
import { amountOf, isHold, slotsOf, type Way, waysToPay } from '../src/ways-to-pay.ts';

type Amounts = Pick<
  PageView,
  | 'mode'
  | 'due_now'
  | 'health_card_amount'
  | 'other_card_amount'
  | 'refuses_health_cards'
  | 'first_renewal'
  | 'next_action'
>;
// Only what decides is given.
const view = (amounts: Partial<Amounts>) =>
  ({
    mode: 'payment',
    due_now: 0,
    health_card_amount: 0,
    other_card_amount: 0,
    refuses_health_cards: false,
    first_renewal: null,
    next_action: null,
    ...amounts,
  }) as PageView;
const due = (health: number, other: number) => ({
  ...{ due_now: health + other, health_card_amount: health, other_card_amount: other },
});
const trial = (health: number, other: number) =>
  view({ mode: 'subscription', first_renewal: { health_card_amount: health, other_card_amount: other } });

describe('the ways to pay', () => {
  it.each([
    ['a mixed cart', view(due(400, 600)), ['both', 'other']],
    ['an eligible cart', view(due(400, 0)), ['health', 'other']],
    ['an ineligible cart', view(due(0, 600)), ['other']],
    ['a set-up', view({ mode: 'setup' }), ['health', 'other', 'both']],
    ['a cart that costs nothing', view({}), ['none']],
    ['a trial of a mixed cart', trial(400, 600), ['both', 'other']],
    ['a trial of an eligible cart', trial(400, 0), ['health', 'other']],
    ['a trial of an ineligible cart', trial(0, 600), ['other']],
    ['a trial that never renews', trial(0, 0), ['health', 'other']],
    ['a set-up where no health card is taken', view({ mode: 'setup', refuses_health_cards: true }), ['other']],
    ['a trial that never renews there', { ...trial(0, 0), refuses_health_cards: true }, ['other']],
    ['a cart that costs nothing there', view({ refuses_health_cards: true }), ['none']],
  ] as const)('of %s', (_name, given, ways) => {
    expect(waysToPay(given)).toEqual(ways);
  });

  it('name no amount where nothing is charged now: the card is only saved [D14.180]', () => {
    expect([amountOf(trial(400, 600), 'both', 'health'), amountOf(trial(400, 600), 'both', 'other')]).toEqual([0, 0]);
    expect(amountOf(view(due(400, 600)), 'both', 'other')).toBe(600);
  });
});

describe('a card is only authorized [D14.400]', () => {
  const mixed = view(due(400, 600));
  const secondCard = {
    type: 'provide_second_payment_method',
    provide_second_payment_method: { message: null, url: null, eligible_amount: 400, ineligible_amount: 600 },
  } as const;
  const of = (given: PageView, way: Way, isInvoice = false) =>
    slotsOf(way).map((slot) => isHold(given, way, slot, isInvoice));
  it.each([
    ['on the health slot until the other card has paid', mixed, 'both', [true, false]],
    ['never where another card pays alone', mixed, 'other', [false]],
    ['never where the health card pays alone', view(due(400, 0)), 'health', [false]],
    ['on both slots for a shop that captures', { ...mixed, manual_capture: true }, 'both', [true, true]],
    ['on the other slot for it', { ...mixed, manual_capture: true }, 'other', [true]],
    ['on both slots for a letter', { ...mixed, letter_required: true }, 'both', [true, true]],
    ['on the health slot for a letter', { ...view(due(400, 0)), letter_required: true }, 'health', [true]],
    ['never where another card needs no letter', { ...mixed, letter_required: true }, 'other', [false]],
    ['never as the second card of a cart without a letter', { ...mixed, next_action: secondCard }, 'other', [false]],
    ['as the second card for a letter', { ...mixed, letter_required: true, next_action: secondCard }, 'other', [true]],
  ] as const)('%s', (_name, given, way, holds) => {
    expect(of(given as PageView, way)).toEqual(holds);
    expect(of(given as PageView, way, true)).toEqual(holds.map(() => false));
  });
});

import { cents } from '@eligo/values';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { nextStep, type PlanProgress, planPayment } from './payment-plan.ts';

const hsa = { paymentMethodId: 'hsa', kind: 'health' } as const;
const credit = { paymentMethodId: 'credit', kind: 'other' } as const;
const unknown = { paymentMethodId: 'unknown', kind: 'unknown' } as const;
const of = (total: number, eligible: number, letterRequired = false) => ({
  totalCents: cents(total),
  eligibleCents: cents(eligible),
  letterRequired,
  manualCapture: false,
  healthAccepted: true,
});

describe('dividing a session between a shopper’s cards', () => {
  it('puts exactly the eligible amount on the health card and the remainder on the other', () => {
    expect(planPayment(of(10_000, 4_000), [hsa, credit])).toMatchObject({
      kind: 'pay',
      healthCents: 4_000,
      otherCents: 6_000,
    });
  });

  it('puts an eligible part under 50 cents wholly on the other card [D6.3]', () => {
    expect(planPayment(of(1_000, 49), [hsa, credit])).toMatchObject({ healthCents: 0, otherCents: 1_000 });
  });

  it('puts the whole session on the other card when the remainder is under 50 cents [D6.3]', () => {
    expect(planPayment(of(1_000, 951), [hsa, credit])).toMatchObject({ healthCents: 0, otherCents: 1_000 });
  });

  it('wants a second card when a health card comes alone to a mixed cart', () => {
    expect(planPayment(of(1_000, 600), [hsa])).toMatchObject({
      kind: 'second_card_needed',
      healthCents: 600,
      otherCents: 400,
    });
  });

  it('wants another card when only a health card is there and nothing may go on it', () => {
    expect(planPayment(of(1_000, 0), [hsa])).toEqual({ kind: 'other_card_needed' });
    expect(planPayment(of(1_000, 951), [hsa])).toEqual({ kind: 'other_card_needed' });
  });

  it('treats a card of which nothing is known as a health card: it pays what is eligible, and no more [D14.70]', () => {
    expect(planPayment(of(1_000, 600), [unknown])).toMatchObject({ kind: 'second_card_needed', healthCents: 600 });
    expect(planPayment(of(1_000, 0), [unknown])).toEqual({ kind: 'other_card_needed' });
    expect(planPayment(of(1_000, 1_000), [unknown])).toMatchObject({
      kind: 'pay',
      healthCents: 1_000,
      health: unknown,
    });
    expect(planPayment(of(1_000, 1_000, true), [unknown])).toMatchObject({
      kind: 'pay',
      health: unknown,
      holdsOnly: true,
    });
    expect(planPayment(of(1_000, 600), [unknown, credit])).toMatchObject({
      kind: 'pay',
      health: unknown,
      other: credit,
    });
    expect(planPayment(of(1_000, 600), [unknown, hsa])).toMatchObject({ kind: 'second_card_needed', health: hsa });
    expect(planPayment(of(1_000, 600), [unknown, unknown])).toMatchObject({ kind: 'second_card_needed' });
  });

  it('puts everything on the other card where the account takes no health cards, and wants one where it was not given [D14.72]', () => {
    const refused = { ...of(1_000, 600, true), healthAccepted: false };
    expect(planPayment(refused, [hsa, credit])).toMatchObject({
      kind: 'pay',
      otherCents: 1_000,
      other: credit,
      holdsOnly: false,
    });
    for (const card of [hsa, unknown]) expect(planPayment(refused, [card])).toEqual({ kind: 'other_card_needed' });
  });

  it('lets an ordinary card pay everything', () => {
    expect(planPayment(of(1_000, 600), [credit])).toMatchObject({
      healthCents: 0,
      otherCents: 1_000,
      holdsOnly: false,
    });
  });

  it('only holds what is on a health card while a letter is pending [D6.2]', () => {
    expect(planPayment(of(1_000, 600, true), [hsa, credit])).toMatchObject({ holdsOnly: true });
  });

  it('only holds, on whichever card, what the shop captures by itself', () => {
    const manual = { ...of(1_000, 600), manualCapture: true };
    expect(planPayment(manual, [hsa, credit])).toMatchObject({ healthCents: 600, holdsOnly: true });
    expect(planPayment(manual, [credit])).toMatchObject({ healthCents: 0, holdsOnly: true });
  });

  it('only holds the card that comes later, too', () => {
    for (const only of [of(1_000, 600, true), { ...of(1_000, 600), manualCapture: true }]) {
      expect(planPayment(only, [hsa])).toMatchObject({ kind: 'second_card_needed', holdsOnly: true });
    }
    expect(planPayment(of(1_000, 600), [hsa])).toMatchObject({ kind: 'second_card_needed', holdsOnly: false });
  });

  it('charges nothing for nothing, and refuses a total that no card can be charged', () => {
    expect(planPayment(of(0, 0), [hsa])).toEqual({ kind: 'nothing' });
    expect(() => planPayment(of(49, 49), [hsa])).toThrow(expect.objectContaining({ code: 'checkout_amount_too_low' }));
  });

  it('never puts anything ineligible on a health card, and sums to the total, for any cart [D6.3]', () => {
    const cart = fc.nat(1_000_000).chain((total) => fc.tuple(fc.constant(total), fc.nat(total), fc.boolean()));
    const cards = fc.subarray([hsa, credit], { minLength: 1 });
    fc.assert(
      fc.property(cart, cards, ([total, eligible, letter], given) => {
        fc.pre(total === 0 || total >= 50);
        const plan = planPayment(of(total, eligible, letter), given);
        if (plan.kind !== 'pay') return;
        expect(plan.healthCents).toBeLessThanOrEqual(eligible);
        expect(plan.healthCents + plan.otherCents).toBe(total);
        for (const part of [plan.healthCents, plan.otherCents]) expect(part === 0 || part >= 50).toBe(true);
      }),
      { numRuns: 5_000 },
    );
  });
});

describe('the next step of a payment on two cards', () => {
  const begun: PlanProgress = {
    healthCents: cents(600),
    otherCents: cents(400),
    otherCardKnown: true,
    holdsOnly: false,
    isInPart: false,
    releasing: false,
    timeOver: false,
    health: undefined,
    healthHeld: true,
    healthCapture: undefined,
    healthRelease: undefined,
    other: undefined,
    otherHeld: false,
    otherCapture: undefined,
    otherRelease: undefined,
  };

  it('authorizes the health card, charges the other, captures the hold, and is done [D6.2]', () => {
    expect(nextStep(begun)).toBe('authorize_health');
    expect(nextStep({ ...begun, health: 'succeeded' })).toBe('pay_other');
    expect(nextStep({ ...begun, health: 'succeeded', other: 'succeeded' })).toBe('capture_health');
    expect(nextStep({ ...begun, health: 'succeeded', other: 'succeeded', healthCapture: 'done' })).toBe('complete');
  });

  it('voids the health card’s hold when the other card is declined, and only then fails [D6.2]', () => {
    expect(nextStep({ ...begun, health: 'succeeded', other: 'declined' })).toBe('release_health');
    expect(nextStep({ ...begun, health: 'succeeded', other: 'declined', healthRelease: 'pending' })).toBe(
      'wait_for_processor',
    );
    expect(nextStep({ ...begun, health: 'released', other: 'declined' })).toBe('fail');
  });

  it('refunds the other card when the hold is lost before its capture, and only then', () => {
    const gone = { ...begun, health: 'released' } as const;
    expect(nextStep({ ...gone, other: 'succeeded' })).toBe('refund');
    expect(nextStep({ ...gone, other: 'unknown' })).toBe('wait_for_processor');
    expect(nextStep({ ...gone, other: 'created' })).toBe('give_up_unsent');
    expect(nextStep({ ...gone, other: 'succeeded', otherHeld: true })).toBe('release_other');
    expect(nextStep({ ...gone, other: 'succeeded', otherHeld: true, otherRelease: 'pending' })).toBe(
      'wait_for_processor',
    );
    expect(nextStep({ ...gone, other: 'succeeded', otherHeld: true, otherCapture: 'done' })).toBe('refund');
    expect(nextStep({ ...gone, other: 'released', otherHeld: true })).toBe('fail');
  });

  it('charges no card once its time is over: unsent attempts are abandoned, holds are voided, a paid session completes', () => {
    const over = { ...begun, timeOver: true } as const;
    expect(nextStep(over)).toBe('fail');
    expect(nextStep({ ...over, health: 'created' })).toBe('give_up_unsent');
    expect(nextStep({ ...over, health: 'abandoned' })).toBe('fail');
    expect(nextStep({ ...over, health: 'unknown' })).toBe('wait_for_processor');
    expect(nextStep({ ...over, health: 'succeeded' })).toBe('release_health');
    expect(nextStep({ ...over, health: 'succeeded', other: 'created' })).toBe('give_up_unsent');
    expect(nextStep({ ...over, health: 'succeeded', other: 'abandoned' })).toBe('release_health');
    expect(nextStep({ ...over, health: 'released', other: 'abandoned' })).toBe('fail');
    expect(nextStep({ ...over, health: 'succeeded', other: 'succeeded' })).toBe('capture_health');
    expect(nextStep({ ...over, health: 'succeeded', otherCardKnown: false })).toBe('await_second_card');
  });

  it('resumes an unsent attempt, and abandons it when everything is to be released', () => {
    expect(nextStep({ ...begun, health: 'created' })).toBe('authorize_health');
    expect(nextStep({ ...begun, health: 'succeeded', other: 'created' })).toBe('pay_other');
    expect(nextStep({ ...begun, health: 'created', releasing: true })).toBe('give_up_unsent');
  });

  it.each(['sending', 'unknown'] as const)('waits while an attempt is %s', (status) => {
    expect(nextStep({ ...begun, health: status })).toBe('wait_for_processor');
    expect(nextStep({ ...begun, health: 'succeeded', other: status })).toBe('wait_for_processor');
  });

  it('waits for the second card with the first one held', () => {
    expect(nextStep({ ...begun, otherCardKnown: false, health: 'succeeded' })).toBe('await_second_card');
  });

  it('captures nothing while a letter is pending', () => {
    expect(nextStep({ ...begun, holdsOnly: true, health: 'succeeded', other: 'succeeded' })).toBe('await_capture');
  });
});

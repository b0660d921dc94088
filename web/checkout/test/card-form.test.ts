import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cardOf, faultOfCvc, faultOfExpiry, faultOfNumber, groupExpiry, groupNumber } from '../fields/card-form.ts';

const now = new Date('2026-03-15T12:00:00Z');

describe('the card fields', () => {
  it('group digits as they stand on cards, and keep them', () => {
    expect(groupNumber('4242424242424242')).toBe('4242 4242 4242 4242');
    expect(groupNumber('378282246310005')).toBe('3782 822463 10005');
    expect(groupNumber('42x4-2 4')).toBe('4242 4');
    fc.assert(
      fc.property(fc.stringMatching(/^4\d{0,18}$/), (digits) => {
        expect(groupNumber(digits).replaceAll(' ', '')).toBe(digits);
      }),
    );
  });

  it('take an expiration as people and browsers write it', () => {
    for (const [typed, shown] of [
      ['1', '1'],
      ['5', '05'],
      ['123', '12 / 3'],
      ['12/39', '12 / 39'],
      ['12/2039', '12 / 39'],
    ] as const)
      expect(groupExpiry(typed)).toBe(shown);
  });

  it('say what is wrong with a number, a date and a code', () => {
    expect(faultOfNumber('4242')).toBe('number_incomplete');
    expect(faultOfNumber('4242 4242 4242 4243')).toBe('number_wrong');
    expect(faultOfNumber('4242 4242 4242 4242')).toBeUndefined();
    expect(faultOfExpiry('13 / 39', now)).toBe('expiry_incomplete');
    expect(faultOfExpiry('02 / 26', now)).toBe('expiry_past');
    expect(faultOfExpiry('03 / 26', now)).toBeUndefined();
    expect(faultOfCvc('12', '4242')).toBe('cvc_incomplete');
    expect(faultOfCvc('123', '3782')).toBe('cvc_incomplete');
    expect(faultOfCvc('1234', '3782')).toBeUndefined();
  });

  it('make a card of what was typed', () => {
    expect(cardOf('4242 4242 4242 4242', '12 / 39', '123')).toEqual({
      ...{ number: '4242424242424242', expMonth: 12, expYear: 2039, cvc: '123' },
    });
  });
});

import { cents } from '@eligo/values';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LedgerAccount, Posting } from './ledger-accounts.ts';
import { type JournalKind, postingsOfJournalEntry } from './post-journal-entry.ts';
import { type BalanceMovement, movementKindOf, postingsOfMovement } from './post-processor-transaction.ts';

const kinds: JournalKind[] = ['capture', 'refund_pending', 'refund_succeeded', 'refund_failed', 'refund_returned'];
const types = [
  'charge',
  'payment',
  'refund',
  'refund_failure',
  'adjustment',
  'payout',
  'payout_failure',
  'application_fee',
];
const amount = fc.integer({ min: -99_999_999, max: 99_999_999 }).map(cents);
const movement: fc.Arbitrary<BalanceMovement> = fc.record({
  type: fc.oneof(fc.constantFrom(...types, 'stripe_fee', 'topup'), fc.string()),
  reportingCategory: fc.constantFrom('charge', 'dispute', 'dispute_reversal', 'other_adjustment', 'fee'),
  amountCents: amount,
  feeCents: amount,
  applicationFeeCents: amount,
  netCents: amount,
});

describe('the postings of a transaction', () => {
  it('of a journal entry sum to nothing, whatever its kind and amount [D14.151]', () => {
    fc.assert(
      fc.property(fc.constantFrom(...kinds), fc.integer({ min: 1, max: 99_999_999 }), (kind, size) => {
        const postings = postingsOfJournalEntry(kind, cents(size));
        expect(sumOf(postings)).toBe(0);
        expect(postings.map(({ amountCents }) => amountCents)).toEqual([size, -size]);
      }),
    );
  });

  it('of any movement on the balance sum to nothing, and put exactly its net on the balance [D14.151]', () => {
    fc.assert(
      fc.property(movement, fc.boolean(), (one, isOurs) => {
        const postings = postingsOfMovement(one, isOurs);
        expect(sumOf(postings)).toBe(0);
        expect(on(postings, 'processor_balance')).toBe(one.netCents);
        expect(new Set(postings.map(({ account }) => account)).size).toBe(postings.length);
      }),
      { numRuns: 500 },
    );
  });

  it('leave nothing receivable once the balance has shown what our records moved, in any order [D14.151]', () => {
    const life = fc.record({
      captured: fc.integer({ min: 50, max: 99_999_999 }),
      fee: fc.integer({ min: 0, max: 49 }),
      end: fc.constantFrom('kept', 'refunded', 'failed', 'returned'),
    });
    fc.assert(
      fc.property(life, ({ captured, fee, end }) => {
        const entry = (kind: JournalKind) => postingsOfJournalEntry(kind, cents(captured));
        const moved = (type: string, amountCents: number, feeCents = 0) =>
          postingsOfMovement(
            {
              ...{ type, reportingCategory: type, amountCents: cents(amountCents), feeCents: cents(feeCents) },
              ...{ applicationFeeCents: cents(0), netCents: cents(amountCents - feeCents) },
            },
            true,
          );
        const postings = [...entry('capture'), ...moved('charge', captured, fee)];
        if (end !== 'kept') postings.push(...entry('refund_pending'), ...moved('refund', -captured));
        if (end === 'refunded' || end === 'returned') postings.push(...entry('refund_succeeded'));
        if (end === 'returned') postings.push(...entry('refund_returned'), ...moved('refund_failure', captured));
        if (end === 'failed') postings.push(...entry('refund_failed'), ...moved('refund_failure', captured));
        expect(on(postings, 'receivable')).toBe(0);
        expect(on(postings, 'refunds_payable')).toBe(0);
        expect(on(postings, 'refunds')).toBe(end === 'refunded' ? captured : 0);
        expect(on(postings, 'processor_balance')).toBe((end === 'refunded' ? 0 : captured) - fee);
      }),
    );
  });
});

describe('a movement that no rule or record explains', () => {
  it.each([
    ['stripe_fee', 'fee', 'other'],
    ['adjustment', 'other_adjustment', 'other'],
    ['a_type_of_next_year', 'charge', 'other'],
    ['adjustment', 'dispute_reversal', 'dispute'],
    ['payout_cancel', 'payout', 'payout'],
  ])('%s of the category %s is %s [D14.152]', (type, reportingCategory, kind) => {
    expect(movementKindOf({ type, reportingCategory })).toBe(kind);
  });

  it('goes to suspense: an unknown type, a charge made by hand, a net that does not add up [D14.152]', () => {
    const of = (type: string, netCents: number, isOurs: boolean) =>
      postingsOfMovement(
        {
          ...{ type, reportingCategory: type, amountCents: cents(1_000), feeCents: cents(59) },
          ...{ applicationFeeCents: cents(9), netCents: cents(netCents) },
        },
        isOurs,
      );
    expect(on(of('topup', 941, true), 'suspense')).toBe(-1_000);
    expect(on(of('charge', 941, false), 'suspense')).toBe(-1_000);
    expect(on(of('charge', 941, true), 'suspense')).toBe(0);
    expect(on(of('charge', 940, true), 'suspense')).toBe(1);
    expect([on(of('charge', 941, true), 'fees'), on(of('charge', 941, true), 'application_fees')]).toEqual([50, 9]);
  });

  it('an entry of nothing, or of less, is refused', () => {
    expect(() => postingsOfJournalEntry('capture', cents(0))).toThrow(RangeError);
  });
});

function sumOf(postings: readonly Posting[]): number {
  return postings.reduce((sum, { amountCents }) => sum + amountCents, 0);
}

function on(postings: readonly Posting[], account: LedgerAccount): number {
  return sumOf(postings.filter((posting) => posting.account === account));
}

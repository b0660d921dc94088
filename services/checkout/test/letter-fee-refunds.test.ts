import { cents, newId } from '@eligo/values';
import fc from 'fast-check';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { readLineItems } from '../src/actions/read-line-items.ts';
import { releaseRefund } from '../src/actions/release-refund.ts';
import { reserveRefund, reserveRefundAlone } from '../src/actions/reserve-refund.ts';
import type { Session } from '../src/domain/session.ts';
import { lineStandingMessage } from '../src/messages/line-item.ts';
import { loadRefundedLines } from '../src/store/refunded-lines.ts';
import { line, start } from './fixture.ts';
import { change } from './guarded-rows.ts';
import {
  type LetterFeesFixture,
  type LineRow,
  letterFeeCents,
  letterPlan,
  ofPlan,
  openLetterFeesFixture,
} from './letter-fees-fixture.ts';
import { letterLine } from './letters-fixture.ts';

let fees: LetterFeesFixture;
let fixture: LetterFeesFixture['fixture'];
let letters: LetterFeesFixture['letters'];
beforeAll(async () => {
  fees = await openLetterFeesFixture();
  ({ fixture, letters } = fees);
});
afterAll(() => fixture.close());
afterEach(() => fixture.clock.set(start));

describe('the refund of a letter fee', () => {
  it.each([
    ['with others', reserveRefund],
    ['alone', reserveRefundAlone],
  ] as const)(
    'that is reserved %s is noted at the line that the fee is a part of, and at no other line of its card [D14.179, D14.385]',
    async (_how, reserves) => {
      const session = await fees.sold([ofPlan(10_000), letterLine(2_000)]);
      expect(await fees.told(session)).toEqual([
        [0, 0],
        [3_000, 3_000],
      ]);
      const refundId = newId('refund');
      const { cards } = await fees.refundFee(session, { refundId, reserves });
      expect(cards).toMatchObject([{ amountCents: 3_000 }]);
      expect(await fees.refunded(session)).toEqual([
        [0, 0],
        [3_000, 3_000],
      ]);
      expect(await fees.told(session)).toEqual([
        [0, 0],
        [3_000, 0],
      ]);
      // A repeated command is answered as before, and receipts and proofs name the line.
      await fees.refundFee(session, { refundId, reserves });
      const [, device] = await fees.rowsOf(session);
      expect(await loadRefundedLines(fixture.database, fixture.scope, refundId)).toMatchObject([
        { lineId: device?.id, amountCents: 3_000 },
      ]);
      await expect(fees.refundFee(session, { reserves })).rejects.toMatchObject({
        code: 'refund_amount_exceeds_remaining',
      });
      await fixture.booksAgree(session);
    },
  );

  it('is divided between the lines that need a letter as the fee was [D14.179, D14.385]', async () => {
    const session = await fees.sold([letterPlan(1_000), ofPlan(5_000), letterLine(2_000)]);
    await fees.refundFee(session);
    expect(await fees.refunded(session)).toEqual([
      [1_000, 1_000],
      [0, 0],
      [2_000, 2_000],
    ]);
  });

  it('of a denied letter leaves the plan and what the shop refunds of it: each card gets its own back [D14.172, D14.349, D14.385]', async () => {
    const session = await fees.denied();
    await fees.refundLine(session, 0, 400);
    expect(await fees.told(session)).toEqual([
      [3_000, 3_000],
      [0, 0],
    ]);
    await fees.refundFee(session);
    await fees.refundLine(session, 1, 1_000);
    const { cards } = await fees.unusedTime(session, 800);
    expect(cards.map(({ intent, amountCents }) => [intent.leg, amountCents])).toEqual([['other', 800]]);
    expect(await fees.refunded(session)).toEqual([
      [400 + 3_000 + 800, 3_000],
      [1_000, 0],
    ]);
    await fixture.booksAgree(session);
  });

  it('takes what another refund and a dispute have left of its line and its card [D14.124, D14.385]', async () => {
    const session = await fees.sold([letterPlan(2_000), ofPlan(1_000)]);
    await fees.refundLine(session, 0, 4_000);
    await fees.refundFee(session);
    expect(await fees.refunded(session)).toEqual([
      [5_000, 1_000],
      [0, 0],
    ]);
    // As much as the fee, before the command comes.
    const alike = await fees.sold([letterPlan(2_000), ofPlan(1_000)]);
    await fees.refundLine(alike, 0, 3_000);
    expect(await fees.told(alike)).toEqual([
      [3_000, 3_000],
      [0, 0],
    ]);
    await fees.refundFee(alike);
    expect(await fees.refunded(alike)).toEqual([
      [5_000, 2_000],
      [0, 0],
    ]);
    const other = await fees.sold([letterPlan(2_000)]);
    await fees.dispute(other, 4_000);
    await fees.refundFee(other);
    expect(await fees.refunded(other)).toEqual([[1_000, 1_000]]);
  });

  it('that fails is kept by the shop: it is a part of its line again, and is not refunded twice [D14.385]', async () => {
    const session = await fees.sold([letterPlan(2_000), ofPlan(1_000)]);
    const refundId = newId('refund');
    await fees.refundFee(session, { refundId });
    await releaseRefund(fixture.context, fixture.scope, refundId, []);
    expect(await fees.refunded(session)).toEqual([
      [0, 0],
      [0, 0],
    ]);
    expect(await fees.told(session)).toEqual([
      [0, 0],
      [0, 0],
    ]);
    await expect(fees.refundFee(session)).rejects.toMatchObject({ code: 'refund_amount_exceeds_remaining' });
    // The shop gives the fee back by hand.
    await fees.refundLine(session, 0, 3_000);
    expect(await fees.told(session)).toEqual([
      [3_000, 0],
      [0, 0],
    ]);
    await fixture.booksAgree(session);
  });

  it('that an earlier release decided is spread over the lines of its card as before, and billing is told what was the fee [D14.383, D14.385]', async () => {
    const session = await fees.sold([letterPlan(2_000), line({ unitAmount: 5_000 })]);
    await fixture.test.admin('alter table checkout.session_lines disable trigger guard_letter_fee_of_line');
    await fixture.test.admin(
      'update checkout.session_lines set letter_fee_given_back_cents = 0 where session_id = $1',
      [session.id],
    );
    await fixture.test.admin('alter table checkout.session_lines enable trigger guard_letter_fee_of_line');
    await fees.reserve(session, { amount: cents(3_000), atMost: true });
    expect(await fees.refunded(session)).toEqual([
      [1_500, 0],
      [1_500, 0],
    ]);
    expect(await fees.told(session)).toEqual([
      [3_000, 1_500],
      [0, 0],
    ]);
    // Beside another refund it is not known which was the fee's.
    await fees.refundLine(session, 1, 500);
    expect(await fees.told(session)).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });
});

describe('the lines of a session', () => {
  it('say what was captured of each [D14.386]', async () => {
    const credit = await fixture.card('credit');
    const lines = [line({ unitAmount: 3_000 }), line({ unitAmount: 4_000 })];
    const made = await fixture.session({ captureMethod: 'manual', customerId: credit.customerId, lines });
    const held = await letters.pay(made, [credit]);
    const [first = ''] = await fixture.prices(held);
    await fixture.capture(held, { isFinal: true, entries: [{ priceId: first, amount: cents(2_000) }] });
    const read = await readLineItems(fixture.context, fixture.scope, held.id);
    expect(read.map((one) => lineStandingMessage(one).amountCapturedCents)).toEqual([2_000n, 0n]);
  });
});

describe('the database refuses, whatever a statement says', () => {
  const refuses = (attempt: Promise<unknown>, constraint: string) =>
    expect(attempt).rejects.toMatchObject({ constraint });
  const set = (id: string | undefined, given_back: number, fee_refunded?: number) =>
    change(fixture.test, 'session_lines', id ?? '', {
      letter_fee_given_back_cents: given_back,
      ...(fee_refunded === undefined ? {} : { letter_fee_refunded_cents: fee_refunded }),
    });
  /** Paid with a letter fee that no line has noted. */
  async function unnoted(): Promise<{ session: Session; rows: LineRow[] }> {
    const session = await fees.sold([letterPlan(2_000), ofPlan(1_000)]);
    const refundId = newId('refund');
    await fees.refundFee(session, { refundId });
    await releaseRefund(fixture.context, fixture.scope, refundId, []);
    return { session, rows: await fees.rowsOf(session) };
  }

  it('a letter fee of a line beyond the fees of the line, or beyond what was captured and is not refunded [D14.385]', async () => {
    const { session, rows } = await unnoted();
    await refuses(set(rows[0]?.id, 3_001), 'letter_fee_within_line');
    await refuses(set(rows[1]?.id, 1), 'letter_fee_within_line');
    await fees.refundLine(session, 0, 4_000);
    await refuses(set(rows[0]?.id, 1_001), 'letter_fee_was_captured');
    await set(rows[0]?.id, 1_000);
  });

  it('a refund of a letter fee beyond what is given back of the line, or beyond what is refunded of it [D14.385]', async () => {
    const session = await fees.sold([letterPlan(2_000)]);
    await fees.refundLine(session, 0, 1_000);
    const [row] = await fees.rowsOf(session);
    const setRefunded = (letter_fee_refunded_cents: number) =>
      change(fixture.test, 'session_lines', row?.id ?? '', { letter_fee_refunded_cents });
    for (const amount of [-1, 1_001, 3_001]) await refuses(setRefunded(amount), 'letter_fee_within_line');
    await setRefunded(1_000);
  });

  it('a letter fee that is given back anew, or is less without a failed refund [D14.385]', async () => {
    const session = await fees.sold([letterPlan(2_000), letterLine(1_000)]);
    const [plan] = await fees.rowsOf(session);
    expect(plan).toMatchObject({ given_back: 2_000 });
    await refuses(set(plan?.id, 2_001), 'letter_fee_is_given_back_once');
    await refuses(set(plan?.id, 1_999), 'letter_fee_is_kept_where_its_refund_failed');
    await fees.refundFee(session);
    await refuses(set(plan?.id, 1_500, 1_600), 'letter_fee_is_kept_where_its_refund_failed');
    await set(plan?.id, 1_500, 1_500);
  });

  it('a letter fee of lines beyond that of the session, or of a session that keeps it [D14.385]', async () => {
    const { session, rows } = await unnoted();
    const setFee = (fee: number) =>
      fixture.test.admin('update checkout.sessions set letter_fee_cents = $2 where id = $1', [session.id, fee]);
    const mine = 'letter_fee_of_session_is_given_back';
    await fixture.test.admin('alter table checkout.sessions disable trigger user');
    try {
      await setFee(2_999);
      await refuses(set(rows[0]?.id, 3_000), mine);
      await setFee(3_000);
      await fixture.test.admin("update checkout.sessions set letter_fee_status = 'paid' where id = $1", [session.id]);
      await refuses(set(rows[0]?.id, 3_000), mine);
    } finally {
      await fixture.test.admin('alter table checkout.sessions enable trigger user');
    }
  });

  it('a part of a refund that is a letter fee in part [D14.385]', async () => {
    const session = await fees.sold([letterPlan(2_000)]);
    const refundId = newId('refund');
    await fees.refundFee(session, { refundId });
    const setPart = (amount: number) =>
      fixture.test.admin('update checkout.refund_reservation_lines set letter_fee_cents = $2 where refund_id = $1', [
        refundId,
        amount,
      ]);
    for (const amount of [-1, 1, 2_999, 3_001]) await refuses(setPart(amount), 'refund_is_letter_fee_or_not');
  });
});

const step = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constant('fee' as const), amount: fc.integer({ min: 1, max: 4_000 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ what: fc.constant('amount' as const), amount: fc.integer({ min: 1, max: 3_000 }) }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ what: fc.constant('time' as const), amount: fc.integer({ min: 1, max: 2_000 }) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      ...{ what: fc.constant('line' as const), place: fc.nat(2), amount: fc.integer({ min: 1, max: 3_000 }) },
    }),
  },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('release' as const), which: fc.nat(20) }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('dispute' as const), held: fc.nat(11_000) }) },
);

it('no line gives back more than it was paid, with its letter fee and what disputes hold, nor more of the fee than is its own, in any order [D14.179, D14.385]', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 12 }), async (steps) => {
      const session = await fees.sold([letterPlan(2_500), ofPlan(1_000), letterLine(500)]);
      const disputeId = newId('dispute');
      const begun: string[] = [];
      let seq = 0n;
      let isEnded = false;
      for (const one of steps) {
        const refundId = newId('refund');
        const act = async () => {
          if (one.what === 'release')
            return releaseRefund(fixture.context, fixture.scope, begun[one.which] ?? refundId, []);
          if (one.what === 'dispute') return fees.dispute(session, one.held, ++seq, disputeId);
          begun.push(refundId);
          const amount = cents(one.amount);
          const priceId = (await fixture.prices(session))['place' in one ? one.place : 0] ?? '';
          const instruction = {
            fee: { amount, atMost: true, letterFee: true },
            time: { amount, atMost: true, recurringLinesOnly: true },
            amount: { amount },
            line: { entries: [{ priceId, amount }] },
          }[one.what];
          await fees.reserve(session, instruction, { refundId });
        };
        await act().catch((error: { code?: string }) => {
          expect(['refund_amount_exceeds_remaining', 'conflict']).toContain(error.code);
        });
        isEnded ||= one.what === 'fee';
        const [rows, standings] = await Promise.all([
          fees.rowsOf(session),
          readLineItems(fixture.context, fixture.scope, session.id),
        ]);
        for (const [place, row] of rows.entries()) {
          const disputed = standings[place]?.amountDisputedCents ?? 0;
          expect(row.refunded + disputed).toBeLessThanOrEqual(row.captured);
          expect(row.fee_refunded).toBeLessThanOrEqual(Math.min(row.given_back, row.refunded));
          expect(row.given_back).toBeLessThanOrEqual(row.fee);
          if (isEnded) expect(row.given_back).toBe(row.fee_refunded);
        }
        expect(rows.reduce((sum, { given_back }) => sum + given_back, 0)).toBeLessThanOrEqual(letterFeeCents);
      }
      await fixture.booksAgree(session);
    }),
    { numRuns: 12 },
  );
}, 120_000);

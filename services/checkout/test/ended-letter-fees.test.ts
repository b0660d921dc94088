import { cents, newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { releaseRefund } from '../src/actions/release-refund.ts';
import { reserveRefund, reserveRefundAlone } from '../src/actions/reserve-refund.ts';
import type { Session } from '../src/domain/session.ts';
import { start } from './fixture.ts';
import { type LetterFeesFixture, letterPlan, ofPlan, openLetterFeesFixture } from './letter-fees-fixture.ts';
import { letterLine } from './letters-fixture.ts';

let fees: LetterFeesFixture;
let fixture: LetterFeesFixture['fixture'];
beforeAll(async () => {
  fees = await openLetterFeesFixture();
  ({ fixture } = fees);
});
afterAll(() => fixture.close());
afterEach(() => fixture.clock.set(start));

/** What each line gives back of its letter fee, and what of that is refunded. */
const givenBack = async (session: Session) =>
  (await fees.rowsOf(session)).map(({ given_back, fee_refunded }) => [given_back, fee_refunded]);
const exceeds = expect.objectContaining({ code: 'refund_amount_exceeds_remaining' });

describe('the shop keeps what the refund of a letter fee could not take', () => {
  it('because a dispute held it: a later refund by hand is not counted beside a fee that is still to come [D14.383, D14.385]', async () => {
    const session = await fees.sold([letterPlan(2_000)]);
    const disputeId = newId('dispute');
    await fees.dispute(session, 4_000, 1n, disputeId);
    expect(await fees.told(session)).toEqual([[3_000, 3_000]]);
    await fees.refundFee(session);
    expect(await givenBack(session)).toEqual([[1_000, 1_000]]);
    await fees.dispute(session, 0, 2n, disputeId);
    await expect(fees.refundFee(session)).rejects.toEqual(exceeds);
    await fees.refundLine(session, 0, 2_000);
    expect(await fees.told(session)).toEqual([[3_000, 0]]);
    await fixture.booksAgree(session);
  });

  it('because another refund took it, and nothing is left to give back once its own fails [D14.385]', async () => {
    const session = await fees.sold([letterPlan(2_000), ofPlan(1_000)]);
    await fees.refundLine(session, 0, 4_000);
    const refundId = newId('refund');
    await fees.refundFee(session, { refundId });
    expect(await givenBack(session)).toEqual([
      [1_000, 1_000],
      [0, 0],
    ]);
    await releaseRefund(fixture.context, fixture.scope, refundId, []);
    expect(await givenBack(session)).toEqual([
      [0, 0],
      [0, 0],
    ]);
    expect(await fees.told(session)).toEqual([
      [0, 0],
      [0, 0],
    ]);
    await fixture.booksAgree(session);
  });

  it('of one of two lines: that line is reported without a letter fee [D14.383, D14.385]', async () => {
    const session = await fees.sold([letterPlan(2_000), letterLine(1_000)]);
    await fees.refundLine(session, 0, 4_000);
    expect(await fees.told(session)).toEqual([
      [2_000, 2_000],
      [1_000, 1_000],
    ]);
    await fees.refundFee(session);
    expect(await givenBack(session)).toEqual([
      [0, 0],
      [1_000, 1_000],
    ]);
    expect(await fees.told(session)).toEqual([
      [0, 0],
      [1_000, 0],
    ]);
  });

  it.each([
    ['with others', reserveRefund],
    ['alone', reserveRefundAlone],
  ] as const)(
    'all of it, where its refund is reserved %s and refused, and is not to be given back later [D14.385]',
    async (_how, reserves) => {
      const session = await fees.sold([letterPlan(2_000)]);
      const disputeId = newId('dispute');
      await fees.dispute(session, 5_000, 1n, disputeId);
      await expect(fees.refundFee(session, { reserves })).rejects.toEqual(exceeds);
      expect(await givenBack(session)).toEqual([[0, 0]]);
      await fees.dispute(session, 0, 2n, disputeId);
      expect(await fees.told(session)).toEqual([[0, 0]]);
      await expect(fees.refundFee(session, { reserves })).rejects.toEqual(exceeds);
      // Another refund that is refused ends nothing.
      const other = await fees.sold([letterPlan(2_000)]);
      await expect(fees.reserve(other, { amount: cents(5_001) }, { reserves })).rejects.toEqual(exceeds);
      expect(await givenBack(other)).toEqual([[3_000, 0]]);
    },
  );
});

describe('the database refuses a refund of a letter fee', () => {
  const mine = expect.objectContaining({ constraint: 'refund_of_letter_fee_is_noted_at_its_lines' });

  it('that an earlier release releases without its letter fee, beside another refund of the line [D14.385]', async () => {
    const session = await fees.sold([letterPlan(4_000), ofPlan(1_000)]);
    const refundId = newId('refund');
    await fees.refundFee(session, { refundId });
    await fees.refundLine(session, 0, 3_000);
    const release = (letterFee: string) =>
      fixture.test.admin(
        `with parts as (update checkout.refund_reservation_parts set released = true where refund_id = $1)
         update checkout.session_lines l set amount_refunded_cents = l.amount_refunded_cents - r.amount_cents ${letterFee}
         from checkout.refund_reservation_lines r where r.refund_id = $1 and l.id = r.line_id`,
        [refundId],
      );
    await expect(release('')).rejects.toEqual(mine);
    await expect(release(', letter_fee_refunded_cents = 0')).rejects.toEqual(mine);
    await expect(release(', letter_fee_given_back_cents = 0')).rejects.toMatchObject({
      constraint: 'letter_fee_is_kept_where_its_refund_failed',
    });
    await release(', letter_fee_refunded_cents = 0, letter_fee_given_back_cents = 0');
  });

  it('that is not noted at its line, or leaves some of the fee to be given back [D14.385]', async () => {
    const session = await fees.sold([letterPlan(2_000), letterLine(1_000)]);
    const refundId = newId('refund');
    await fees.refundLine(session, 0, 500, { refundId });
    const [, device] = await fees.rowsOf(session);
    expect(device).toMatchObject({ given_back: 1_000 });
    const reserve = (noted: number, given_back: number) =>
      fixture.test.admin(
        `with refunded as (update checkout.session_lines set amount_refunded_cents = 500, letter_fee_refunded_cents = $3, letter_fee_given_back_cents = $4 where id = $2)
         insert into checkout.refund_reservation_lines (account_id, test_mode, refund_id, line_id, payment_intent_id, amount_cents, letter_fee_cents)
         select account_id, test_mode, refund_id, $2, payment_intent_id, 500, 500 from checkout.refund_reservation_lines where refund_id = $1`,
        [refundId, device?.id, noted, given_back],
      );
    await expect(reserve(499, 499)).rejects.toEqual(mine);
    await expect(reserve(500, 1_000)).rejects.toEqual(mine);
    await reserve(500, 500);
  });
});

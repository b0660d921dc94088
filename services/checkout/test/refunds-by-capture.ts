import { cents, newId } from '@eligo/values';
import { describe, expect, it } from 'vitest';
import { releaseRefund } from '../src/actions/release-refund.ts';
import { reserveRefund } from '../src/actions/reserve-refund.ts';
import type { RefundInstruction } from '../src/domain/refund-allocation.ts';
import type { Session } from '../src/domain/session.ts';
import type { CapturesFixture } from './captures-fixture.ts';

/** Which captures the refunds of a session draw from. */
export function refundByCaptureTests(fixture: () => CapturesFixture): void {
  describe('a refund of a card that several captures took from', () => {
    const features = ['refund_payment_methods'];
    const refund = (session: Session, instruction: Partial<RefundInstruction> = {}) =>
      reserveRefund(fixture().context, fixture().scope, {
        ...{ refundId: newId('refund'), sessionId: session.id, paymentIntentId: null, features, preview: false },
        instruction: { entries: [], methods: [], ...instruction },
      });

    it('draws from the captures that took its lines, then from the oldest, and answers the same when it is asked again [D14.238]', async () => {
      const session = await fixture().heldOnOneCard();
      const [health = '', other = ''] = await fixture().prices(session);
      await fixture().capture(session, { entries: [{ priceId: health, amount: 1_200 }] });
      await fixture().capture(session, { entries: [{ priceId: other, amount: 400 }] });
      await fixture().capture(session, { entries: [{ priceId: health, amount: 800 }], isFinal: true });
      const [first = '', second = '', third = ''] = (await fixture().reload(session)).captureIds;
      const drawn = ({ cards }: Awaited<ReturnType<typeof refund>>) =>
        cards.flatMap(({ captures }) => captures.map((part) => [part.captureId, part.amountCents]));
      const refundedOf = async () =>
        (
          await fixture().test.admin<{ refunded: string }>(
            `select refunded_cents as refunded from checkout.intent_operations where capture_id = any($1) order by capture_id`,
            [[first, second, third]],
          )
        ).map(({ refunded }) => Number(refunded));
      expect(drawn(await refund(session, { entries: [{ priceId: other, amount: cents(400) }] }))).toEqual([
        [second, 400],
      ]);
      const once = { refundId: newId('refund'), entries: [{ priceId: health, amount: cents(1_500) }] };
      const ask = (preview: boolean) =>
        reserveRefund(fixture().context, fixture().scope, {
          ...{ refundId: once.refundId, sessionId: session.id, paymentIntentId: null, features, preview },
          instruction: { entries: once.entries, methods: [] },
        });
      expect(drawn(await ask(true))).toEqual([]);
      for (const _ of [1, 2]) {
        expect(drawn(await ask(false))).toEqual([
          [first, 1_200],
          [third, 300],
        ]);
      }
      expect(await refundedOf()).toEqual([1_200, 400, 300]);
      expect(drawn(await refund(session))).toEqual([[third, 500]]);
      // A refund that failed gives each capture its part back, once, and the next one takes it again.
      for (const _ of [1, 2]) await releaseRefund(fixture().context, fixture().scope, once.refundId, []);
      expect(await refundedOf()).toEqual([0, 400, 500]);
      expect(drawn(await refund(session, { amount: cents(1_500) }))).toEqual([
        [first, 1_200],
        [third, 300],
      ]);
      expect(await refundedOf()).toEqual([1_200, 400, 800]);
    });

    it('never draws more than a capture took of a card, whatever a statement says [D14.238]', async () => {
      const session = await fixture().heldOnOneCard();
      await fixture().capture(session, { amount: 1_000 });
      await fixture().capture(session, { amount: 500, isFinal: true });
      const reserved = await refund(session, { amount: cents(100) });
      const [card] = reserved.cards;
      const [captureId] = (await fixture().reload(session)).captureIds;
      const [refundId] = reserved.session?.refundIds ?? [];
      const beyond = fixture().test.admin(
        'update checkout.intent_operations set refunded_cents = 1001 where capture_id = $1',
        [captureId],
      );
      await expect(beyond).rejects.toMatchObject({ constraint: 'refunded_within_capture' });
      const uncaptured = fixture().test.admin(
        `update checkout.intent_operations set refunded_cents = 1, status = 'pending' where capture_id = $1`,
        [captureId],
      );
      await expect(uncaptured).rejects.toMatchObject({ code: '23514' });
      // A refund that names more of its captures than it is.
      const copied = fixture().test.admin(
        `with whole as (
         insert into checkout.refund_reservations (account_id, test_mode, refund_id, session_id, amount_cents, acting_at)
         select account_id, test_mode, 'fre_copy', session_id, amount_cents, acting_at from checkout.refund_reservations where refund_id = $1
       ), cards as (
         insert into checkout.refund_reservation_parts (account_id, test_mode, refund_id, payment_intent_id, amount_cents)
         select account_id, test_mode, 'fre_copy', payment_intent_id, amount_cents from checkout.refund_reservation_parts where refund_id = $1
       ), lines as (
         insert into checkout.refund_reservation_lines (account_id, test_mode, refund_id, line_id, payment_intent_id, amount_cents)
         select account_id, test_mode, 'fre_copy', line_id, payment_intent_id, amount_cents from checkout.refund_reservation_lines
          where refund_id = $1
       )
       insert into checkout.refund_reservation_captures (account_id, test_mode, refund_id, payment_intent_id, capture_id, amount_cents)
       values ($2, $3, 'fre_copy', $4, $5, 101)`,
        [refundId, fixture().scope.accountId, fixture().scope.testMode, card?.intent.id, captureId],
      );
      await expect(copied).rejects.toMatchObject({ constraint: 'refund_part_covers_its_captures' });
    });
  });
}

import { cents, newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import type { RefundReservation } from '../src/actions/planned-reservation.ts';
import { releaseRefund } from '../src/actions/release-refund.ts';
import { reserveRefund } from '../src/actions/reserve-refund.ts';
import { maxRefunds, refundsByPartner, refundsOfAnyAmount } from '../src/domain/refund-count.ts';
import type { Session } from '../src/domain/session.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

// 40.00 on a health card and 60.00 on another one.
async function paidSession(): Promise<Session> {
  const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
  const session = await fixture.mixedSession(hsa);
  const given = { sessionId: session.id, paymentMethodIds: [hsa.id, credit.id], shippingDetails: null };
  return completeSession(fixture.context, fixture.scope, given);
}

const setRefunds = ({ id }: Session, count: number) =>
  fixture.test.admin(
    `update checkout.sessions set refund_ids = (select coalesce(array_agg($2 || n), '{}') from generate_series(1, $3::int) n) where id = $1`,
    [id, newId('refund'), count],
  );

async function hadRefunds(count: number): Promise<Session> {
  const session = await paidSession();
  await setRefunds(session, count);
  return session;
}

const refund = (session: Session, amount?: number, asked: Partial<RefundReservation> = {}) =>
  reserveRefund(fixture.context, fixture.scope, {
    ...{ refundId: newId('refund'), sessionId: session.id, paymentIntentId: null, features: [], preview: false },
    ...{ instruction: { entries: [], methods: [], ...(amount === undefined ? {} : { amount: cents(amount) }) } },
    askedByPartner: true,
    ...asked,
  });

const standing = async ({ id }: Session) => {
  const session = await loadSession(fixture.database, fixture.scope, id);
  return [session?.refundIds.length, session?.amountRefundedCents];
};
const refused = { code: 'refund_limit_reached', status: 422 };

describe('a session that was refunded often', () => {
  it('accepts no more partial refunds, and says to refund the whole remaining balance in one [D14.353]', async () => {
    const session = await hadRefunds(refundsOfAnyAmount - 1);
    await refund(session, 1);
    for (const preview of [true, false]) {
      await expect(refund(session, 1, { preview })).rejects.toMatchObject(refused);
    }
    await expect(refund(session, 9_998)).rejects.toMatchObject({
      detail: 'This session has 950 refunds and accepts no more partial refunds.',
      row: { remedy: expect.stringContaining('Refund the whole remaining balance in one refund') },
    });
    expect(await standing(session)).toEqual([refundsOfAnyAmount, 1]);
    await refund(session);
    expect(await standing(session)).toEqual([refundsOfAnyAmount + 1, 10_000]);
  });

  it('takes all that remains of one card, and an amount that is all that remains [D14.353]', async () => {
    const session = await hadRefunds(refundsOfAnyAmount);
    const [card] = (await refund(session, undefined, { preview: true })).cards;
    const ofCard = { sessionId: null, paymentIntentId: card?.intent.id ?? '' };
    await expect(refund(session, 1, ofCard)).rejects.toMatchObject(refused);
    await refund(session, undefined, ofCard);
    await refund(session, 10_000 - (card?.amountCents ?? 0));
    expect(await standing(session)).toEqual([refundsOfAnyAmount + 2, 10_000]);
  });

  it('takes all that remains again after it failed, thirty times, and nothing of a partner after that [D14.353]', async () => {
    const session = await hadRefunds(refundsByPartner - 1);
    const refundId = newId('refund');
    await refund(session, undefined, { refundId });
    await releaseRefund(fixture.context, fixture.scope, refundId, []);
    await expect(refund(session)).rejects.toMatchObject({
      ...refused,
      detail: 'This session has 980 refunds and accepts no more.',
    });
    expect(await standing(session)).toEqual([refundsByPartner, 0]);
  });

  it('is refunded by Eligo itself all the same [D14.353]', async () => {
    const session = await hadRefunds(refundsByPartner);
    await refund(session, 100, { askedByPartner: false });
    await refund(session, undefined, { askedByPartner: false });
    expect(await standing(session)).toEqual([refundsByPartner + 2, 10_000]);
  });

  it('never has more than a thousand refunds in the database, unless an earlier release made them [D14.353]', async () => {
    const session = await hadRefunds(maxRefunds);
    const beyond = refund(session, 100, { askedByPartner: false });
    await expect(beyond).rejects.toMatchObject({ constraint: 'refunds_are_bounded' });
    expect(await standing(session)).toEqual([maxRefunds, 0]);
    const earlier = await paidSession();
    const trigger = (state: 'disable' | 'enable') =>
      fixture.test.admin(`alter table checkout.sessions ${state} trigger refuse_more_refunds`);
    await trigger('disable');
    await setRefunds(earlier, maxRefunds + 1);
    await trigger('enable');
    await refund(earlier, undefined, { askedByPartner: false });
    expect(await standing(earlier)).toEqual([maxRefunds + 2, 10_000]);
  });
});

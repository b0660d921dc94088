import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Session } from '../src/domain/session.ts';
import { type CapturesFixture, openCapturesFixture, refusal } from './captures-fixture.ts';
import { line } from './fixture.ts';

let fixture: CapturesFixture;
beforeAll(async () => {
  fixture = await openCapturesFixture();
});
afterAll(() => fixture.close());

// 40.00 on the health card and 20.00 on the other one, less 6.00 for both, with 3.00 shipping and 3.01 tax.
const discounted = () =>
  fixture.held({
    parts: {
      lines: [line({ unitAmount: 4_000, class: 'auto_substantiation' }), line({ unitAmount: 2_000 })],
      discounts: [{ source: { case: 'couponData', value: { name: 'Six', amountOffCents: 600n } } }],
      shipping: { case: 'shippingRateData', value: { displayName: 'Ground', amountCents: 300n } },
      taxAmountCents: 301n,
    },
  });
const components = { tax: 301, shipping: 300, discount: 600 };
const listed = async (session: Session, amounts: readonly number[]) => {
  const prices = await fixture.prices(session);
  return amounts.flatMap((amount, at) => (amount === 0 ? [] : [{ priceId: prices[at] ?? '', amount }]));
};
const captured = async (session: Session) =>
  (await fixture.records(session)).map((record) => [
    ...[record.amountCents, record.taxCents, record.shippingCents, record.discountCents],
  ]);

describe('a capture that states its lines before their discount, with tax and shipping', () => {
  it('takes the whole order, and of each card what it was authorized for [D14.100, D14.303]', async () => {
    const session = await discounted();
    const authorized = (await fixture.atProcessor(session)).map(([amount]) => amount);
    const answer = await fixture.capture(session, { entries: await listed(session, [4_000, 2_000]), ...components });
    expect(answer).toMatchObject({ status: 'complete', amountReceivedCents: 6_001n });
    expect((await fixture.atProcessor(session)).map(([, amount]) => amount)).toEqual(authorized);
    expect(await captured(session)).toEqual([[6_001, 301, 300, 600]]);
    await fixture.booksAgree(session);
  });

  it('takes it in parcels, by each line with all the shipping first, and of each component as much as there is [D14.303]', async () => {
    const session = await discounted();
    const first = { entries: await listed(session, [4_000]), shipping: 300, tax: 200, discount: 400 };
    expect(await fixture.capture(session, first)).toMatchObject({ status: 'paid', amountReceivedCents: 4_100n });
    await fixture.booksAgree(session);
    const beyond = { entries: await listed(session, [0, 2_000]), shipping: 1, tax: 101, discount: 200 };
    expect(await refusal(fixture.capture(session, beyond))).toEqual([422, 'capture_amount_exceeds_authorized']);
    const second = { ...beyond, shipping: 0 };
    expect(await fixture.capture(session, second)).toMatchObject({ status: 'complete', amountReceivedCents: 6_001n });
    expect(await captured(session)).toEqual([
      [4_100, 200, 300, 400],
      [1_901, 101, 0, 200],
    ]);
    await fixture.booksAgree(session);
  });
});

describe('a session that was captured often', () => {
  const insert = ({ id }: Session, count: number, status: 'succeeded' | 'failed') =>
    fixture.test.admin(
      `insert into checkout.captures (account_id, test_mode, id, session_id, cause, status, amount_cents, tax_cents, shipping_cents,
         discount_cents, final, created_at)
       select account_id, test_mode, $2 || n, id, 'session', $3, 0, 0, 0, 0, true, now() from checkout.sessions, generate_series(1, $4) n where id = $1`,
      [id, newId('capture'), status, count],
    );

  it('is captured 50 times, and the last one must be final [D14.102]', async () => {
    const session = await fixture.heldOnOneCard();
    await insert(session, 48, 'succeeded');
    expect(await fixture.capture(session, { amount: 1_000 })).toMatchObject({ status: 'paid' });
    const next = { amount: 500, key: 'the last one' };
    expect(await refusal(fixture.capture(session, next))).toEqual([422, 'multiple_captures_not_supported']);
    expect(await fixture.capture(session, { ...next, isFinal: true })).toMatchObject({
      ...{ status: 'complete', amountReceivedCents: 1_500n },
    });
    await fixture.sweepAll();
    await fixture.booksAgree(session);
  });

  it('counts no capture that failed: it took nothing [D14.102]', async () => {
    const session = await fixture.heldOnOneCard();
    await insert(session, 60, 'failed');
    expect(await fixture.capture(session, { amount: 1_000 })).toMatchObject({ status: 'paid' });
    expect(await fixture.capture(session)).toMatchObject({ status: 'complete', amountReceivedCents: 6_000n });
    await fixture.booksAgree(session);
  });
});

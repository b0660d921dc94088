import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { createSession } from '../src/actions/create-session.ts';
import type { Session } from '../src/domain/session.ts';
import { followHolds } from '../src/jobs/follow-holds.ts';
import { sessionRequestOf } from '../src/rpc/session-request.ts';
import { findIntents } from '../src/store/payment-intents.ts';
import { type CapturesFixture, openCapturesFixture } from './captures-fixture.ts';
import { callIn, line, sessionMessage, start } from './fixture.ts';
import { letterLine, lettersFixture } from './letters-fixture.ts';

let fixture: CapturesFixture;
beforeAll(async () => {
  fixture = await openCapturesFixture();
});
afterAll(() => fixture.close());
afterEach(() => fixture.clock.set(start));

/** 45.00 with a letter and its fee on the health card, and 40.00 on the other one; the letter is approved, and the shop captures. */
async function held(): Promise<Session> {
  const letters = lettersFixture(fixture);
  const message = sessionMessage({
    ...{ captureMethod: 'manual', receiptMerchantName: 'Care', customerEmail: 'ann@example.com' },
    lines: [letterLine(3_000), line({ unitAmount: 4_000 })],
  });
  const call = callIn(fixture.scope, { letterFeeCents: 1_500 });
  const session = await createSession(fixture.context, call, sessionRequestOf(message));
  const paid = await letters.pay(session, [await fixture.card('hsa'), await fixture.card('credit')]);
  await letters.decide(await letters.onlyLetter(paid), 'approved');
  return fixture.reload(paid);
}

const intentsOf = async (session: Session) =>
  findIntents(fixture.database, fixture.scope, (await fixture.reload(session)).paymentIntentIds);

it.each([
  ['health', 4_500, 'paid', 1_500n],
  ['other', 4_000, 'canceled', 0n],
] as const)(
  'a session whose %s card was captured by its line ends with that when the other hold lapses [D14.86, D14.176, D14.179]',
  async (leg, amount, letterFeeStatus, feeCents) => {
    const session = await held();
    const prices = await fixture.prices(session);
    const priceId = prices[leg === 'health' ? 0 : 1] ?? '';
    expect(await fixture.capture(session, { entries: [{ priceId, amount }] })).toMatchObject({ status: 'paid' });
    const lapsing = (await intentsOf(session)).find(({ status }) => status === 'requires_capture');
    expect(lapsing?.leg).not.toBe(leg);
    fixture.clock.set(new Date((lapsing?.captureBefore?.getTime() ?? Number.NaN) - 3_590_000));
    while ((await followHolds(fixture.context).run(new AbortController().signal)) === true);
    await fixture.sweepAll();

    expect(await fixture.reload(session)).toMatchObject({
      ...{ status: 'complete', amountReceivedCents: amount, letterFeeStatus },
    });
    expect((await intentsOf(session)).map((one) => [one.leg === leg, one.status, one.amountReceivedCents])).toEqual(
      expect.arrayContaining([
        [true, 'succeeded', amount],
        [false, 'canceled', 0],
      ]),
    );
    expect((await fixture.atProcessor(session)).map(([, taken, kind]) => [taken, kind]).toSorted()).toEqual([
      [0, 'canceled'],
      [amount, 'succeeded'],
    ]);
    const { captured, lines, payments } = await fixture.issuedReceipt(session);
    expect(captured).toMatchObject({ totalCents: BigInt(amount), feeCents });
    expect(lines.map(({ priceId: price, amountTotalCents }) => [price, amountTotalCents])).toEqual([
      [priceId, BigInt(amount)],
    ]);
    expect(payments.map((payment) => [payment.leg, payment.amountCents])).toEqual([[leg, BigInt(amount)]]);
    expect(await fixture.told(session)).toMatchObject({
      'checkout.session.completed': 1,
      'payment_intent.canceled': 1,
    });
    await fixture.booksAgree(session);
  },
);

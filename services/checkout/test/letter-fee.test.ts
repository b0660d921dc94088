import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createSession } from '../src/actions/create-session.ts';
import { cancelSession } from '../src/actions/end-session.ts';
import { reserveRefund } from '../src/actions/reserve-refund.ts';
import type { Session } from '../src/domain/session.ts';
import { sessionRequestOf } from '../src/rpc/session-request.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { callIn, line, sessionMessage, start } from './fixture.ts';
import { type LettersFixture, letterLine, lettersFixture } from './letters-fixture.ts';

let fixture: ChargingFixture;
let letters: LettersFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
  letters = lettersFixture(fixture);
});
afterAll(() => fixture.close());
afterEach(() => {
  turnFailpointsOff();
  fixture.clock.set(start);
});

const withFee = (parts: Parameters<typeof sessionMessage>[0]) =>
  createSession(
    fixture.context,
    callIn(fixture.scope, { letterFeeCents: 1_500 }),
    sessionRequestOf(sessionMessage(parts)),
  );
// 30.00 with a letter, of which the fee is a part, and 20.00 that are not eligible.
const mixed = (product = newId('product')) =>
  withFee({ lines: [letterLine(3_000, product), line({ unitAmount: 2_000 })] });
const twoCards = () => Promise.all([fixture.card('hsa'), fixture.card('credit')]);
const amounts = async (session: Session) =>
  (await fixture.charges(session)).map((charge) => [charge.amount, charge.amount_captured]).sort();
const isEnded = async (session: Session) => {
  await letters.sweepAll();
  expect(await letters.reload(session)).toMatchObject({
    ...{ status: 'canceled', letterFeeStatus: 'canceled', amountReceivedCents: 0 },
  });
  expect((await amounts(session)).map(([, captured]) => captured)).toEqual([0, 0]);
};

describe('the letter fee of an account', () => {
  it('is a part of the total, on the lines that need a letter: the card that pays them pays it [D14.179]', async () => {
    const session = await mixed();
    expect(session).toMatchObject({
      ...{ amountTotalCents: 6_500, amountEligibleCents: 4_500, amountFeeCents: 1_500 },
      ...{ letterFeeCents: 1_500, letterFeeStatus: 'pending' },
      fees: [{ feeType: 'lmn_consultation', amountCents: 1_500, applied: true, waivedReason: null }],
    });
    expect(await letters.pay(session, await twoCards())).toMatchObject({ status: 'paid', letterFeeStatus: 'pending' });
    expect(await amounts(session)).toEqual([
      [2_000, 0],
      [4_500, 0],
    ]);
    await letters.decide(await letters.onlyLetter(session), 'approved');
    await letters.sweepAll();
    expect(await letters.reload(session)).toMatchObject({
      ...{ status: 'complete', letterFeeStatus: 'paid', amountReceivedCents: 6_500, amountRefundedCents: 0 },
    });
    expect(await fixture.told(session)).not.toHaveProperty('command.refund');
  });

  it('is held by a confirm with the eligible part, and paid once the letter is approved [D14.179]', async () => {
    const hsa = await fixture.card('hsa');
    const session = await withFee({ lines: [letterLine(3_000)], customerId: hsa.customerId });
    await fixture.confirm(session, hsa);
    expect(await letters.reload(session)).toMatchObject({ status: 'paid', letterFeeStatus: 'pending' });
    await letters.decide(await letters.onlyLetter(session), 'approved');
    await letters.sweepAll();
    expect(await letters.reload(session)).toMatchObject({
      ...{ status: 'complete', letterFeeStatus: 'paid', amountReceivedCents: 4_500 },
    });
  });

  it('is given back by a denial with everything else: nothing was captured [D14.179]', async () => {
    const session = await mixed();
    await letters.pay(session, await twoCards());
    await letters.decide(await letters.onlyLetter(session), 'denied');
    await isEnded(session);
  });

  it('is given back by a cancellation [D14.179]', async () => {
    const session = await mixed();
    await letters.pay(session, await twoCards());
    await cancelSession(fixture.context, fixture.scope, session.id);
    await isEnded(session);
  });

  it('is waived by a letter that the customer has, and is then no part of the total [D14.78, D14.179]', async () => {
    const product = newId('product');
    const held = await letters.held([letterLine(3_000, product)]);
    await letters.decide(await letters.onlyLetter(held), 'approved');
    const session = await withFee({ lines: [letterLine(3_000, product)], customerId: held.customerId ?? '' });
    expect(session).toMatchObject({
      ...{ amountTotalCents: 3_000, amountFeeCents: 0, letterFeeCents: 1_500, letterFeeStatus: 'waived' },
      fees: [{ amountCents: 1_500, applied: false, waivedReason: 'existing_letter' }],
    });
  });

  it('is not taken where no letter can come: in mode reimbursement, and without a line that needs one [D14.179]', async () => {
    const plain = await withFee({ lines: [line({ unitAmount: 2_000 })] });
    expect(plain).toMatchObject({ amountTotalCents: 2_000, letterFeeCents: null, fees: [] });
    const reimbursed = await withFee({ mode: 'reimbursement', lines: [letterLine(3_000)] });
    expect(reimbursed).toMatchObject({ amountTotalCents: 3_000, fees: [] });
  });
});

describe('the letter fee of a session that an ordinary card pays alone', () => {
  it.each(['no place', 'charge.before_settle_commit', 'plan.before_conclude_commit'] as const)(
    'is refunded once, because nothing was reviewed, with a crash at %s [D14.179]',
    async (place) => {
      const session = await mixed();
      const credit = await fixture.card('credit');
      turnFailpointsOn();
      if (place !== 'no place') armFailpoint(place, { action: 'error' });
      await letters.pay(session, [credit]).catch(() => undefined);
      turnFailpointsOff();
      await letters.sweepAll();
      expect(await letters.reload(session)).toMatchObject({
        ...{ status: 'complete', letterFeeStatus: 'refunded', amountReceivedCents: 6_500 },
      });
      expect(await letters.lettersOf(session)).toEqual([]);
      expect(await fixture.told(session)).toMatchObject({ 'command.refund': 1 });
    },
  );

  it('is refundable to that card, exactly [D14.179]', async () => {
    const session = await mixed();
    await letters.pay(session, [await fixture.card('credit')]);
    const instruction = { amount: 1_500, entries: [], tax: undefined, shipping: undefined, discount: undefined };
    const reserved = await reserveRefund(fixture.context, fixture.scope, {
      ...{ refundId: newId('refund'), sessionId: session.id, paymentIntentId: null, features: [], preview: false },
      instruction: { ...instruction, methods: [] } as never,
    });
    expect(reserved.cards).toMatchObject([{ amountCents: 1_500 }]);
    expect(await letters.reload(session)).toMatchObject({ amountRefundedCents: 1_500 });
  });
});

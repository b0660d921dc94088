import { fromBinary } from '@bufbuild/protobuf';
import { withTx } from '@eligo/postgres';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { cents } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createSession } from '../src/actions/create-session.ts';
import { endSessionOfHold } from '../src/actions/end-session-of-hold.ts';
import { reserveRefund } from '../src/actions/reserve-refund.ts';
import { visitPage } from '../src/actions/visit-page.ts';
import type { PaymentIntent } from '../src/domain/payment-intent.ts';
import type { Session } from '../src/domain/session.ts';
import { sessionRequestOf } from '../src/rpc/session-request.ts';
import { findIntents } from '../src/store/payment-intents.ts';
import { type CapturesFixture, openCapturesFixture } from './captures-fixture.ts';
import { callIn, line, sessionMessage, start } from './fixture.ts';
import { type LettersFixture, letterLine, lettersFixture } from './letters-fixture.ts';

let fixture: CapturesFixture;
let letters: LettersFixture;
beforeAll(async () => {
  fixture = await openCapturesFixture();
  letters = lettersFixture(fixture);
});
afterAll(() => fixture.close());
afterEach(() => fixture.clock.set(start));

const withFee = (parts: Parameters<typeof sessionMessage>[0], letterFeeCents = 1_500) =>
  createSession(fixture.context, callIn(fixture.scope, { letterFeeCents }), sessionRequestOf(sessionMessage(parts)));
// 45.00 with the letter and its fee, and 40.00 that need none.
const twoLines = () => [letterLine(3_000), line({ unitAmount: 4_000 })];
const manual = (lines = twoLines()) => withFee({ captureMethod: 'manual', lines });
const twoCards = () => Promise.all([fixture.card('hsa'), fixture.card('credit')]);

/** Held on an ordinary card alone, with the prices of its lines. */
async function held(): Promise<{ session: Session; prices: string[] }> {
  const session = await letters.pay(await manual(), [await fixture.card('credit')]);
  expect(session).toMatchObject({ status: 'paid', amountTotalCents: 8_500, letterFeeStatus: 'pending' });
  return { session, prices: await fixture.prices(session) };
}

const capture = (session: Session, prices: readonly string[], amounts: readonly number[], isFinal: boolean) =>
  fixture.capture(session, {
    isFinal,
    entries: amounts.flatMap((amount, at) => (amount === 0 ? [] : [{ priceId: prices[at] ?? '', amount }])),
  });

/** What the shop gives back of the first line. */
const giveBack = ({ id }: Session, [priceId = '']: readonly string[], amount: number) =>
  reserveRefund(fixture.context, fixture.scope, {
    ...{ refundId: `fre_${id}`, sessionId: id, paymentIntentId: null, features: [], preview: false },
    instruction: { entries: [{ priceId, amount: cents(amount) }], methods: [] },
  });

const intentsOf = async (session: Session): Promise<PaymentIntent[]> =>
  findIntents(fixture.database, fixture.scope, (await fixture.reload(session)).paymentIntentIds);

async function refunds({ id }: Session): Promise<unknown[]> {
  const rows = await fixture.test.admin<{ payload: Buffer }>(
    "select payload from checkout.outbox where aggregate_id = $1 and type = 'command.refund'",
    [id],
  );
  return rows.map(({ payload }) => fromBinary(EventSchema, payload).object.value);
}

async function ends(session: Session, letterFeeStatus: string, received: number, ofCommands: object[]): Promise<void> {
  expect(await fixture.reload(session)).toMatchObject({
    ...{ status: 'complete', letterFeeStatus, amountReceivedCents: received },
  });
  const commands = await refunds(session);
  expect(commands).toHaveLength(ofCommands.length);
  expect(commands).toMatchObject(ofCommands);
}

const feeOf = ({ id }: Session, amount: number) => ({
  ...{ operationId: `letter-fee:${id}`, amountCents: BigInt(amount), reason: 'letter_not_needed', letterFee: true },
});

describe('the letter fee of a session that is captured in parts', () => {
  it('is canceled where its line was not captured: no other line pays it back [D14.101, D14.179]', async () => {
    const { session, prices } = await held();
    await capture(session, prices, [0, 4_000], true);
    await ends(session, 'canceled', 4_000, []);
  });

  it('is refunded as far as it was captured with its line [D14.104, D14.179]', async () => {
    const { session, prices } = await held();
    await capture(session, prices, [1_500, 4_000], true);
    await ends(session, 'refunded', 5_500, [feeOf(session, 500)]);
  });

  it('is refunded once over several captures, whole where all of its line was captured [D14.104, D14.179]', async () => {
    const { session, prices } = await held();
    await capture(session, prices, [1_000, 0], false);
    await capture(session, prices, [3_500, 0], false);
    expect(await refunds(session)).toEqual([]);
    await capture(session, prices, [0, 1_000], true);
    await ends(session, 'refunded', 5_500, [feeOf(session, 1_500)]);
  });

  it.each([
    ['is not refunded a second time where the shop has refunded its line whole', 4_500, 0],
    ['is refunded without the part that the shop has refunded with its line', 1_500, 1_000],
  ])('%s [D14.104, D14.179]', async (_, refunded, fee) => {
    const { session, prices } = await held();
    await capture(session, prices, [4_500, 0], false);
    await giveBack(session, prices, refunded);
    await capture(session, prices, [0, 4_000], true);
    const status = fee === 0 ? 'canceled' : 'refunded';
    await ends(session, status, 8_500, fee === 0 ? [] : [feeOf(session, fee)]);
  });

  it.each([
    ['held', [0, 4_000], 0],
    ['held', [3_000, 0], 1_000],
    ['gone', [0, 4_000], 0],
    ['gone', [3_000, 0], 1_000],
  ] as const)(
    'is settled by what was captured where the rest of a %s hold ends, of %j [D14.176, D14.177, D14.179]',
    async (standing, amounts, fee) => {
      const { session, prices } = await held();
      await capture(session, prices, amounts, false);
      const [intent] = await intentsOf(session);
      if (intent === undefined) throw new Error('a hold');
      await withTx(fixture.database, fixture.scope, (tx) =>
        endSessionOfHold(fixture.context, tx, fixture.scope, intent, standing),
      );
      const received = amounts[0] + amounts[1];
      await ends(session, fee === 0 ? 'canceled' : 'refunded', received, fee === 0 ? [] : [feeOf(session, fee)]);
    },
  );

  it.each([
    ['is canceled', [0, 4_000], 'canceled'],
    ['is paid', [1_000, 4_000], 'paid'],
  ] as const)('%s where its letter was approved and %j was captured [D14.179]', async (_, amounts, status) => {
    const session = await letters.pay(await manual(), await twoCards());
    await letters.decide(await letters.onlyLetter(session), 'approved');
    await capture(session, await fixture.prices(session), amounts, true);
    await ends(session, status, amounts[0] + amounts[1], []);
  });
});

describe('the letter fee of a session of which nothing is paid', () => {
  it('is canceled where a trial begins [D14.179, D14.180]', async () => {
    const card = await fixture.card('credit');
    const session = await withFee({
      ...{ mode: 'subscription', customerId: card.customerId, subscriptionData: { trialPeriodDays: 14 } },
      lines: [line({ unitAmount: 3_000, class: 'letter_of_medical_necessity', recurring: true })],
    });
    expect(session).toMatchObject({ letterFeeStatus: 'pending' });
    await letters.pay(session, [card]);
    await ends(session, 'canceled', 0, []);
  });

  it('is canceled where a confirm has too little to charge [CONF-2, D14.179]', async () => {
    const hsa = await fixture.card('hsa');
    const lines = [letterLine(20), line({ unitAmount: 4_000 })];
    const session = await withFee({ lines, customerId: hsa.customerId }, 15);
    const { paymentIntent } = await fixture.confirm(session, hsa);
    expect(paymentIntent).toBeUndefined();
    await ends(session, 'canceled', 0, []);
  });
});

describe('the letter fee of a session that is paid anew after a denied letter', () => {
  const lines = () => [letterLine(3_000), line({ unitAmount: 1_000, class: 'vision' }), line({ unitAmount: 4_000 })];

  async function reopened(captureMethod: 'manual' | 'automatic', customerId?: string): Promise<Session> {
    const session = await withFee({
      captureMethod,
      lines: lines(),
      ...(customerId === undefined ? {} : { customerId }),
    });
    await letters.pay(session, await twoCards());
    await visitPage(fixture.context, fixture.scope, session.id, {});
    await letters.decide(await letters.onlyLetter(session), 'denied');
    const open = await fixture.reload(session);
    expect(open).toMatchObject({ status: 'open', amountTotalCents: 9_500, letterFeeStatus: 'pending' });
    return open;
  }

  const cardsOf = async (session: Session) => {
    const live = (await intentsOf(session)).filter(({ status }) => status !== 'canceled');
    const of = (leg: string) => live.find((intent) => intent.leg === leg);
    return { health: of('health'), other: of('other') };
  };

  it('is canceled where its line is not captured, though its card pays another one [D14.172, D14.179]', async () => {
    const session = await reopened('manual');
    await letters.pay(session, await twoCards());
    await capture(session, await fixture.prices(session), [0, 1_000, 4_000], true);
    await ends(session, 'canceled', 5_000, []);
  });

  it('is refunded to the card that paid it, as far as it was captured [D14.172, D14.179]', async () => {
    const session = await reopened('manual');
    await letters.pay(session, await twoCards());
    await capture(session, await fixture.prices(session), [3_000, 1_000, 0], true);
    const { other } = await cardsOf(session);
    const subject = { case: 'paymentIntentId', value: other?.id };
    await ends(session, 'refunded', 4_000, [{ ...feeOf(session, 1_000), reason: 'letter_denied', subject }]);
  });

  it('is refunded to that card also while the rest of its hold is still to be voided, by Eligo alone [REF-4, D14.101, D14.172, D14.179]', async () => {
    const session = await reopened('manual');
    await letters.pay(session, await twoCards());
    await capture(session, await fixture.prices(session), [4_500, 1_000, 0], false);
    await fixture.capture(session, { amount: 0, isFinal: true });
    const { other } = await cardsOf(session);
    expect(other).toMatchObject({ status: 'requires_capture', amountReceivedCents: 4_500 });
    const subject = { case: 'paymentIntentId', value: other?.id };
    await ends(session, 'refunded', 5_500, [{ ...feeOf(session, 1_500), reason: 'letter_denied', subject }]);
    const reserve = (askedByPartner: boolean, refundId = `fre_${session.id}`) =>
      reserveRefund(fixture.context, fixture.scope, {
        ...{ refundId, sessionId: null, paymentIntentId: other?.id ?? '', features: [], askedByPartner },
        preview: false,
        instruction: { amount: cents(1_500), atMost: true, letterFee: true, entries: [], methods: [] },
      });
    // A partner refunds a payment intent once it has succeeded.
    await expect(reserve(true, `fre_2${session.id}`)).rejects.toMatchObject({ code: 'payment_intent_not_succeeded' });
    const reserved = await reserve(false);
    expect(reserved.cards).toMatchObject([{ intent: { id: other?.id }, amountCents: 1_500 }]);
    await fixture.sweepAll();
    expect((await cardsOf(session)).other).toMatchObject({ status: 'succeeded', amountRefundedCents: 1_500 });
  });

  it('is canceled where a confirm takes what is eligible alone [CONF-2, D14.172, D14.179]', async () => {
    const hsa = await fixture.card('hsa');
    const session = await reopened('automatic', hsa.customerId);
    await letters.sweepAll();
    await fixture.confirm(session, hsa);
    await ends(session, 'canceled', 1_000, []);
  });
});

import { cents, newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import { createSession } from '../src/actions/create-session.ts';
import { readLineItems } from '../src/actions/read-line-items.ts';
import { recordDispute } from '../src/actions/record-dispute.ts';
import { reserveRefund, reserveRefundAlone } from '../src/actions/reserve-refund.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { RefundInstruction } from '../src/domain/refund-allocation.ts';
import type { Session } from '../src/domain/session.ts';
import { lineStandingMessage } from '../src/messages/line-item.ts';
import { sessionRequestOf } from '../src/rpc/session-request.ts';
import { type CapturesFixture, openCapturesFixture } from './captures-fixture.ts';
import { callIn, line, sessionMessage } from './fixture.ts';
import { lettersFixture } from './letters-fixture.ts';

let fixture: CapturesFixture;
beforeAll(async () => {
  fixture = await openCapturesFixture();
});
afterAll(() => fixture.close());

const eligible = 'auto_substantiation';
const plan = (unitAmount: number, class_?: string) =>
  line({ unitAmount, recurring: true, ...(class_ === undefined ? {} : { class: class_ }) });

async function sold(
  parts: Parameters<CapturesFixture['session']>[0],
  { health = 'hsa', acceptsPart = false }: { health?: string; acceptsPart?: boolean } = {},
): Promise<Session> {
  const [hsa, credit] = await Promise.all([fixture.card(health), fixture.card('credit')]);
  const made = await fixture.session({ mode: 'subscription', customerId: hsa.customerId, ...parts });
  const pay = (cards: readonly PaymentMethod[]) =>
    completeSession(fixture.context, fixture.scope, {
      ...{ sessionId: made.id, paymentMethodIds: cards.map(({ id }) => id), shippingDetails: null, acceptsPart },
    });
  if (acceptsPart) await pay([hsa]);
  const session = await pay(acceptsPart ? [credit] : [hsa, credit]);
  expect(session.status).toBe('complete');
  return session;
}

const reserve = ({ id }: Session, instruction: Partial<RefundInstruction>, reserves = reserveRefund) =>
  reserves(fixture.context, fixture.scope, {
    ...{ refundId: newId('refund'), sessionId: id, paymentIntentId: null, features: [], preview: false },
    instruction: { entries: [], methods: [], ...instruction },
  });
const unusedTime = (session: Session, amount: number, reserves = reserveRefund) =>
  reserve(session, { amount: cents(amount), atMost: true, recurringLinesOnly: true }, reserves);

/** What was refunded of each line, in the cart's order, to each card that paid it. */
const perLine = async ({ id }: Session) => {
  const rows = await fixture.test.admin<{ position: number; leg: string; cents: string }>(
    `select l.position, i.leg, sum(r.amount_cents)::text as cents from checkout.session_lines l
     join checkout.refund_reservation_lines r on r.line_id = l.id join checkout.payment_intents i on i.id = r.payment_intent_id
     where l.session_id = $1 group by l.position, i.leg order by l.position, i.leg`,
    [id],
  );
  return rows.map(({ position, leg, cents: amount }) => [position, leg, Number(amount)]);
};
const disputes = async ({ id }: Session, leg: 'health' | 'other', amountCents: number) => {
  const [intent] = await fixture.test.admin<{ processor_intent_id: string }>(
    'select processor_intent_id from checkout.payment_intents where session_id = $1 and leg = $2',
    [id, leg],
  );
  await recordDispute(fixture.context, fixture.scope, intent?.processor_intent_id ?? '', {
    ...{ disputeId: newId('dispute'), amountCents: cents(amountCents), heldCents: cents(amountCents), seq: 1n },
  });
};
const firstPosition = async ({ id }: Session) => {
  const [row] = await fixture.test.admin<{ position: number }>(
    'select min(position) as position from checkout.session_lines where session_id = $1',
    [id],
  );
  return row?.position ?? 0;
};

describe('a refund of unused time', () => {
  it.each([
    ['with others', reserveRefund],
    ['alone', reserveRefundAlone],
  ] as const)(
    'that is reserved %s is of the lines that recur, on their cards [D14.3, D14.349]',
    async (_how, reserves) => {
      const session = await sold({ lines: [plan(10_000, eligible), line({ unitAmount: 30_000 })] });
      const { cards } = await unusedTime(session, 5_000, reserves);
      expect(cards.map(({ intent, amountCents }) => [intent.leg, amountCents])).toEqual([['health', 5_000]]);
      const first = await firstPosition(session);
      expect(await perLine(session)).toEqual([[first, 'health', 5_000]]);
      // The rest of the plan, and nothing of the device.
      await unusedTime(session, 6_000, reserves);
      expect(await perLine(session)).toEqual([[first, 'health', 10_000]]);
      await expect(unusedTime(session, 1, reserves)).rejects.toMatchObject({ code: 'refund_amount_exceeds_remaining' });
      await fixture.booksAgree(session);
    },
  );

  it('without the flag is in proportion to what remains on each card [D14.4]', async () => {
    const session = await sold({ lines: [plan(10_000, eligible), line({ unitAmount: 30_000 })] });
    const { cards } = await reserve(session, { amount: cents(5_000), atMost: true });
    expect(cards.map(({ amountCents }) => amountCents).sort()).toEqual([1_250, 3_750].sort());
  });

  it('goes to both cards of a line that two cards paid, in proportion to what they paid of it [D14.183, D14.349]', async () => {
    // There are 25.00 on the health card for a plan of 40.00.
    const session = await sold(
      { lines: [plan(4_000, eligible), line({ unitAmount: 6_000 })] },
      { health: 'hsa_short', acceptsPart: true },
    );
    await unusedTime(session, 2_000);
    const first = await firstPosition(session);
    expect(await perLine(session)).toEqual([
      [first, 'health', 1_250],
      [first, 'other', 750],
    ]);
    await fixture.booksAgree(session);
  });

  it('leaves out a letter fee, which does not recur [D14.330, D14.349]', async () => {
    const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const request = sessionMessage({
      ...{ mode: 'subscription', customerId: hsa.customerId },
      lines: [plan(3_000, 'letter_of_medical_necessity'), plan(3_000)],
    });
    const call = callIn(fixture.scope, { letterFeeCents: 1_500 });
    const made = await createSession(fixture.context, call, sessionRequestOf(request));
    const letters = lettersFixture(fixture);
    await letters.pay(made, [hsa, credit]);
    await letters.decide(await letters.onlyLetter(made), 'approved');
    await letters.sweepAll();
    const session = await fixture.reload(made);
    expect(session).toMatchObject({ status: 'complete', amountReceivedCents: 7_500, letterFeeStatus: 'paid' });
    await unusedTime(session, 3_000);
    const first = await firstPosition(session);
    expect(await perLine(session)).toEqual([
      [first, 'health', 1_500],
      [first + 1, 'other', 1_500],
    ]);
  });

  it('leaves out what a dispute holds of its card, and what was refunded of a line before [D14.332, D14.349]', async () => {
    const session = await sold({ lines: [plan(4_000, eligible), plan(8_000), line({ unitAmount: 9_000 })] });
    await disputes(session, 'health', 2_000);
    const [, second] = await fixture.prices(session);
    await reserve(session, { entries: [{ priceId: second ?? '', amount: cents(5_000) }] });
    // 20.00 are left of the first plan, and 30.00 of the second.
    await unusedTime(session, 1_000);
    const first = await firstPosition(session);
    expect(await perLine(session)).toEqual([
      [first, 'health', 400],
      [first + 1, 'other', 5_600],
    ]);
  });

  it('is nothing where a dispute holds the plan, and all of the plan where it holds a device on the other card [D14.332, D14.349]', async () => {
    const lines = [plan(10_000, eligible), line({ unitAmount: 30_000 })];
    const ofPlan = await sold({ lines });
    await disputes(ofPlan, 'health', 10_000);
    await expect(unusedTime(ofPlan, 5_000)).rejects.toMatchObject({ code: 'refund_amount_exceeds_remaining' });
    expect(await perLine(ofPlan)).toEqual([]);
    const ofDevice = await sold({ lines });
    await disputes(ofDevice, 'other', 30_000);
    await unusedTime(ofDevice, 5_000);
    expect(await perLine(ofDevice)).toEqual([[await firstPosition(ofDevice), 'health', 5_000]]);
  });

  it('counts all that is left of a plan once its letter fee was given back [D14.179, D14.330, D14.383]', async () => {
    const credit = await fixture.card('credit');
    const request = sessionMessage({
      ...{ mode: 'subscription', customerId: credit.customerId },
      lines: [plan(2_000, 'letter_of_medical_necessity'), plan(2_000)],
    });
    const call = callIn(fixture.scope, { letterFeeCents: 3_000 });
    const made = await createSession(fixture.context, call, sessionRequestOf(request));
    // An ordinary card pays for everything, so nothing is reviewed.
    const session = await lettersFixture(fixture).pay(made, [credit]);
    expect(session).toMatchObject({ status: 'complete', amountReceivedCents: 7_000, letterFeeStatus: 'refunded' });
    await reserve(session, { amount: cents(3_000), atMost: true, letterFee: true });
    await unusedTime(session, 2_000);
    const first = await firstPosition(session);
    expect(await perLine(session)).toEqual([
      [first, 'other', 3_000 + 1_000],
      [first + 1, 'other', 1_000],
    ]);
  });
});

describe('the lines of a session', () => {
  it('say what disputes hold of each, by the card that paid it [D14.332, D14.384]', async () => {
    const heldOf = async ({ id }: Session) => {
      const lines = await readLineItems(fixture.context, fixture.scope, id);
      return lines.map((one) => lineStandingMessage(one).amountDisputedCents);
    };
    const session = await sold({ lines: [plan(4_000, eligible), plan(8_000), line({ unitAmount: 2_000 })] });
    expect(await heldOf(session)).toEqual([0n, 0n, 0n]);
    await disputes(session, 'health', 1_000);
    expect(await heldOf(session)).toEqual([1_000n, 0n, 0n]);
    await disputes(session, 'other', 5_000);
    expect(await heldOf(session)).toEqual([1_000n, 4_000n, 1_000n]);
    const both = await sold(
      { lines: [plan(4_000, eligible), line({ unitAmount: 6_000 })] },
      { health: 'hsa_short', acceptsPart: true },
    );
    // 25.00 of the plan on the health card, and 15.00 on the other one.
    await disputes(both, 'health', 2_000);
    await disputes(both, 'other', 1_500);
    expect(await heldOf(both)).toEqual([2_300n, 1_200n]);
  });
});

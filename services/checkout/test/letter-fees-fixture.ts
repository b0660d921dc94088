import { cents, newId } from '@eligo/values';
import { expect } from 'vitest';
import { createSession } from '../src/actions/create-session.ts';
import { readLineItems } from '../src/actions/read-line-items.ts';
import { recordDispute } from '../src/actions/record-dispute.ts';
import { reserveRefund } from '../src/actions/reserve-refund.ts';
import { visitPage } from '../src/actions/visit-page.ts';
import type { RefundInstruction } from '../src/domain/refund-allocation.ts';
import type { Session } from '../src/domain/session.ts';
import { lineStandingMessage } from '../src/messages/line-item.ts';
import { sessionRequestOf } from '../src/rpc/session-request.ts';
import { openCapturesFixture } from './captures-fixture.ts';
import { callIn, line, sessionMessage } from './fixture.ts';
import { lettersFixture } from './letters-fixture.ts';

export const letterFeeCents = 3_000;
export const ofPlan = (unitAmount: number, parts: Partial<Parameters<typeof line>[0]> = {}) =>
  line({ unitAmount, recurring: true, ...parts });
export const letterPlan = (unitAmount: number) => ofPlan(unitAmount, { class: 'letter_of_medical_necessity' });

export interface LineRow {
  readonly id: string;
  readonly captured: number;
  readonly refunded: number;
  readonly fee: number;
  readonly given_back: number;
  readonly fee_refunded: number;
}

export type LetterFeesFixture = Awaited<ReturnType<typeof openLetterFeesFixture>>;

/** Sessions with letter fees that are given back, and what is refunded of them. */
export async function openLetterFeesFixture() {
  const fixture = await openCapturesFixture();
  const letters = lettersFixture(fixture);
  const create = (parts: Parameters<typeof sessionMessage>[0]) =>
    createSession(fixture.context, callIn(fixture.scope, { letterFeeCents }), sessionRequestOf(sessionMessage(parts)));

  /** Paid by an ordinary card alone, so that nothing is reviewed and the fee is given back. */
  async function sold(lines: NonNullable<Parameters<typeof sessionMessage>[0]>['lines']): Promise<Session> {
    const credit = await fixture.card('credit');
    const made = await create({ mode: 'subscription', customerId: credit.customerId, ...(lines && { lines }) });
    const session = await letters.pay(made, [credit]);
    expect(session).toMatchObject({ status: 'complete', letterFeeStatus: 'refunded', amountRefundedCents: 0 });
    return session;
  }

  /** A plan of 20.00, a device of 40.00 for the health card. The letter of the plan is denied, and another card pays the plan with the fee of 30.00. */
  async function denied(): Promise<Session> {
    const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const lines = [letterPlan(2_000), line({ unitAmount: 4_000, class: 'vision' })];
    const made = await create({ mode: 'subscription', customerId: hsa.customerId, lines });
    await letters.pay(made, [hsa]);
    await visitPage(fixture.context, fixture.scope, made.id, {});
    await letters.decide(await letters.onlyLetter(made), 'denied');
    await letters.sweepAll();
    await letters.pay(made, [hsa, credit]);
    await letters.sweepAll();
    const session = await fixture.reload(made);
    expect(session).toMatchObject({ status: 'complete', letterFeeStatus: 'refunded', amountReceivedCents: 9_000 });
    return session;
  }

  const reserve = (
    { id: sessionId }: Session,
    instruction: Partial<RefundInstruction>,
    { refundId = newId('refund'), reserves = reserveRefund } = {},
  ) =>
    reserves(fixture.context, fixture.scope, {
      ...{ refundId, sessionId, paymentIntentId: null, features: [], preview: false },
      instruction: { entries: [], methods: [], ...instruction },
    });
  const refundFee = (session: Session, with_: Parameters<typeof reserve>[2] = {}) =>
    reserve(session, { amount: cents(letterFeeCents), atMost: true, letterFee: true }, with_);
  const refundLine = async (
    session: Session,
    place: number,
    amount: number,
    with_: Parameters<typeof reserve>[2] = {},
  ) =>
    reserve(
      session,
      { entries: [{ priceId: (await fixture.prices(session))[place] ?? '', amount: cents(amount) }] },
      with_,
    );
  const unusedTime = (session: Session, amount: number) =>
    reserve(session, { amount: cents(amount), atMost: true, recurringLinesOnly: true });
  const dispute = async ({ id }: Session, heldCents: number, seq = 1n, disputeId = newId('dispute')) => {
    const [intent] = await fixture.test.admin<{ processor_intent_id: string }>(
      "select processor_intent_id from checkout.payment_intents where session_id = $1 and leg = 'other'",
      [id],
    );
    const held = { disputeId, amountCents: cents(heldCents), heldCents: cents(heldCents), seq };
    await recordDispute(fixture.context, fixture.scope, intent?.processor_intent_id ?? '', held);
  };

  const rowsOf = ({ id }: Session) =>
    fixture.test.admin<LineRow>(
      `select id, amount_captured_cents::int as captured, amount_refunded_cents::int as refunded, amount_fee_cents::int as fee,
         letter_fee_given_back_cents::int as given_back, letter_fee_refunded_cents::int as fee_refunded
       from checkout.session_lines where session_id = $1 order by position`,
      [id],
    );
  /** What was refunded of each line, and what of that is its letter fee. */
  const refunded = async (session: Session) =>
    (await rowsOf(session)).map(({ refunded: all, fee_refunded }) => [all, fee_refunded]);
  /** The letter fee of each line that billing is told of, and what is still to be refunded of it. */
  const told = async ({ id }: Session) =>
    (await readLineItems(fixture.context, fixture.scope, id)).map(lineStandingMessage).map((message) => {
      return [Number(message.letterFeeCents), Number(message.letterFeeToRefundCents)];
    });
  return {
    ...{ fixture, letters, sold, denied, reserve, refundFee, refundLine, unusedTime, dispute },
    ...{ rowsOf, refunded, told },
  };
}

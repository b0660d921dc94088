import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { cents, newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import { cancelSession } from '../src/actions/end-session.ts';
import { reserveRefund } from '../src/actions/reserve-refund.ts';
import type { Context } from '../src/context.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import type { ChargeFailpoint } from '../src/failpoints.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { loadSessionLines } from '../src/store/session-lines.ts';
import { type CapturesFixture, openCapturesFixture } from './captures-fixture.ts';
import { line } from './fixture.ts';
import { partialConfirmTests } from './partial-confirms.ts';

let fixture: CapturesFixture;
let short: PaymentMethod & { customerId: string };
let credit: PaymentMethod;
beforeAll(async () => {
  fixture = await openCapturesFixture();
  [short, credit] = await Promise.all([fixture.card('hsa_short'), fixture.card('credit')]);
});
afterAll(() => fixture.close());
afterEach(async () => {
  turnFailpointsOff();
  await fixture.clearFaults();
});

const pay = (session: Session, cards: readonly PaymentMethod[], acceptsPart = true, with_: Context = fixture.context) =>
  completeSession(with_, fixture.scope, {
    ...{ sessionId: session.id, paymentMethodIds: cards.map((card) => card.id), shippingDetails: null, acceptsPart },
  });

// 20.00 and 20.00 eligible, the first for a prescription, and 60.00 that is not. There are 25.00 on the card.
const cart = (parts: { captureMethod?: string } = {}) =>
  fixture.session({
    lines: [
      line({ unitAmount: 2_000, class: 'prescription' }),
      line({ unitAmount: 2_000, class: 'auto_substantiation' }),
      line({ unitAmount: 6_000 }),
    ],
    ...{ customerId: short.customerId, receiptMerchantName: 'Care', customerEmail: 'ann@example.com', ...parts },
  });

const amounts = async (session: Session) =>
  (await fixture.charges(session))
    .map(({ amount, amount_captured }) => [amount, amount_captured])
    .sort((a, b) => Number(a[0]) - Number(b[0]));

// Until nothing more is done, as the job does from second to second.
async function sweepAll(): Promise<void> {
  for (let round = 0; round < 4; round++) {
    await fixture.lapseLeases();
    // The fixture's clock stands still: holds that wait for another card would be released at once.
    await fixture.test.admin(
      "update checkout.payment_plans set release_at = now() + interval '1 hour' where release_at > '2026-01-01'",
    );
    await sweepCharges(fixture.context);
  }
}

const holds = async (session: Session) =>
  (
    await fixture.test.admin<{ status: string; amount_cents: string; asked: string | null }>(
      `select i.status, i.amount_cents, a.asked_cents as asked from checkout.payment_intents i
       join checkout.charge_attempts a on a.payment_intent_id = i.id where i.session_id = $1 order by i.id`,
      [session.id],
    )
  ).map(({ status, amount_cents, asked }) => [status, Number(amount_cents), asked === null ? null : Number(asked)]);

const inPart = {
  ...{ status: 'open', amountReceivedCents: 0 },
  nextAction: {
    type: 'provide_second_payment_method',
    message:
      'The HSA or FSA card pays $25.00 of $40.00: it has no more money. Pay the remaining $75.00 with another card.',
    ...{ eligibleAmountCents: 2_500, ineligibleAmountCents: 7_500 },
  },
};

describe('a health card that is short of money [D14.183]', () => {
  it('is approved for what it has; another card pays the rest, and both are captured', async () => {
    const session = await cart();
    expect(await pay(session, [short])).toMatchObject(inPart);
    expect(await holds(session)).toEqual([['requires_capture', 2_500, 4_000]]);
    const [attempt] = await fixture.test.admin(
      'select amount_cents, iias_cents, prescription_cents from checkout.charge_attempts where subject_id = $1',
      [session.id],
    );
    expect(attempt).toEqual({ amount_cents: '2500', iias_cents: '500', prescription_cents: '2000' });
    expect(await pay(session, [credit])).toMatchObject({
      status: 'complete',
      amountReceivedCents: 10_000,
      nextAction: null,
    });
    expect(await amounts(session)).toEqual([
      [2_500, 2_500],
      [7_500, 7_500],
    ]);
    await fixture.booksAgree(session);
    const tenders = await fixture.test.admin(
      `select i.leg, t.amount_cents, t.captured_cents from checkout.line_tenders t join checkout.payment_intents i on i.id = t.payment_intent_id
       join checkout.session_lines l on l.id = t.line_id where t.session_id = $1 order by i.leg, l.position`,
      [session.id],
    );
    expect(tenders).toEqual(
      [
        ['health', '2000'],
        ['health', '500'],
        ['other', '1500'],
        ['other', '6000'],
      ].map(([leg, amount]) => ({ leg, amount_cents: amount, captured_cents: amount })),
    );
    const { payments } = await fixture.issuedReceipt(session);
    expect(payments.map(({ leg, amountCents, lineAmountsCents }) => [leg, amountCents, lineAmountsCents])).toEqual([
      ['health', 2_500n, [2_000n, 500n]],
      ['other', 7_500n, [1_500n, 6_000n]],
    ]);
  });

  it('is asked about the other card’s part again, also where both cards were given: the shopper had agreed to less', async () => {
    const session = await cart();
    expect(await pay(session, [short, credit])).toMatchObject(inPart);
    expect(await amounts(session)).toEqual([[2_500, 0]]);
  });

  it('needs another card where everything is eligible, too', async () => {
    const session = await fixture.session({
      lines: [line({ unitAmount: 4_000, class: 'vision' })],
      customerId: short.customerId,
    });
    expect(await pay(session, [short])).toMatchObject({
      nextAction: { eligibleAmountCents: 2_500, ineligibleAmountCents: 1_500 },
    });
    expect(await pay(session, [credit])).toMatchObject({ status: 'complete', amountReceivedCents: 4_000 });
    await fixture.booksAgree(session);
  });

  it('is declined where the account does not ask for a part', async () => {
    const session = await cart();
    expect((await pay(session, [short], false)).nextAction).toMatchObject({
      type: 'payment_failed',
      declineCode: 'insufficient_funds',
    });
    expect(await amounts(session)).toEqual([[4_000, 0]]);
  });

  it.each([
    ['pays everything that it has the money for', 2_500, 'complete'],
    ['is declined where less than 50 cents would be left for another card, and its hold is voided', 2_549, 'open'],
  ])('%s', async (_what, unitAmount, status) => {
    const session = await fixture.session({
      lines: [line({ unitAmount, class: 'vision' })],
      customerId: short.customerId,
    });
    expect((await pay(session, [short])).status).toBe(status);
    const [charge] = await fixture.charges(session);
    expect(charge?.amount_captured).toBe(status === 'complete' ? 2_500 : 0);
    expect((await fixture.atProcessor(session)).map(([, , kind]) => kind)).toEqual([
      status === 'complete' ? 'succeeded' : 'canceled',
    ]);
    if (status === 'complete') return;
    expect(await pay(session, [credit])).toMatchObject({ status: 'complete', amountReceivedCents: 2_549 });
  });

  it('whose part nobody asked for is declined, and its hold is voided [D14.53]', async () => {
    const hsa = await fixture.card('hsa');
    const session = await fixture.mixedSession(hsa);
    const less = { amountCapturableCents: cents(3_000) };
    const unasked = fixture.contextWith((port) => ({
      confirmIntent: async (...call) => ({ ...(await port.confirmIntent(...call)), ...less }),
    }));
    expect((await pay(session, [hsa, credit], false, unasked)).nextAction).toMatchObject({
      ...{ type: 'payment_failed', errorCode: 'card_declined', declineCode: 'insufficient_funds' },
    });
    expect((await fixture.atProcessor(session)).map(([, , kind]) => kind)).toEqual(['canceled']);
    expect(await pay(session, [hsa, credit])).toMatchObject({ status: 'complete', amountReceivedCents: 10_000 });
  });

  it('is released when the other card is declined, and can be used again', async () => {
    const session = await cart();
    await pay(session, [short]);
    expect((await pay(session, [await fixture.card('declined')])).nextAction?.type).toBe('payment_failed');
    expect((await holds(session))[0]).toEqual(['canceled', 2_500, 4_000]);
    await pay(session, [short]);
    expect(await pay(session, [credit])).toMatchObject({ status: 'complete', amountReceivedCents: 10_000 });
    await fixture.booksAgree(session);
  });

  it('is released when the shopper goes away, and when the session is canceled', async () => {
    const [left, canceled] = [await cart(), await cart()];
    for (const session of [left, canceled]) await pay(session, [short]);
    await fixture.test.admin("update checkout.payment_plans set release_at = '2020-01-01' where session_id = $1", [
      left.id,
    ]);
    await cancelSession(fixture.context, fixture.scope, canceled.id);
    await sweepAll();
    for (const session of [left, canceled]) expect(await holds(session)).toEqual([['canceled', 2_500, 4_000]]);
  });

  it('is captured by the shop where the shop captures, line by line on each card', async () => {
    const session = await cart({ captureMethod: 'manual' });
    await pay(session, [short]);
    expect(await pay(session, [credit])).toMatchObject({ status: 'paid', amountReceivedCents: 0 });
    const [, divided = ''] = await fixture.prices(session);
    await fixture.capture(session, { entries: [{ priceId: divided, amount: 800 }] });
    await fixture.capture(session, { entries: [{ priceId: divided, amount: 1_200 }] });
    expect(await amounts(session)).toEqual([
      [2_500, 500],
      [7_500, 1_500],
    ]);
    await fixture.capture(session);
    await fixture.booksAgree(session);
    expect(await fixture.reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 10_000 });
  });

  it('has the whole tax captured with a line that both cards paid', async () => {
    const session = await fixture.heldInPart();
    await fixture.capture(session);
    await fixture.booksAgree(session);
    const [row] = await fixture.test.admin(
      'select captured_tax_cents::int as tax from checkout.sessions where id = $1',
      [session.id],
    );
    expect(row).toEqual({ tax: 1_000 });
  });

  it('is refunded first for a line that it paid in part, and by no more than it paid', async () => {
    const session = await cart();
    await pay(session, [short]);
    await pay(session, [credit]);
    const [, divided] = await loadSessionLines(fixture.database, fixture.scope, session.id);
    const refund = (amount: number) =>
      reserveRefund(fixture.context, fixture.scope, {
        ...{ refundId: newId('refund'), sessionId: session.id, paymentIntentId: null, preview: false, features: [] },
        instruction: { entries: [{ priceId: divided?.priceId, amount: cents(amount) }], methods: [] },
      }).then(({ cards }) => cards.map((card) => [card.intent.leg, Number(card.amountCents)]));
    expect(await refund(300)).toEqual([['health', 300]]);
    expect(await refund(900)).toEqual([
      ['health', 200],
      ['other', 700],
    ]);
    expect(await refund(800)).toEqual([['other', 800]]);
  });
});

/** Each place at which the process may die, as the first card is authorized and as the second one pays. */
type Crash = readonly [failpoint: ChargeFailpoint, skip: number, stage: 'first' | 'second'];
const crashes: readonly Crash[] = [
  ...(
    [
      'plan.reserved',
      'plan.attempt_begun',
      'charge.intent_created',
      'charge.fence_passed',
      'charge.processor_answered',
      'charge.before_settle_commit',
      'charge.settled',
      'plan.before_conclude_commit',
    ] as const
  ).map((failpoint): Crash => [failpoint, 0, 'first']),
  ...(
    [
      ['charge.processor_answered', 0],
      ['charge.before_settle_commit', 0],
      ['charge.settled', 0],
      ['plan.hold_decided', 0],
      ['hold.processor_answered', 0],
      ['hold.before_record_commit', 0],
      ['hold.recorded', 0],
      ['hold.processor_answered', 1],
      ['hold.before_record_commit', 1],
      ['plan.before_conclude_commit', 0],
    ] as const
  ).map(([failpoint, skip]): Crash => [failpoint, skip, 'second']),
];

describe('a process that dies on the way of a partial approval [D14.183]', () => {
  it.each(crashes)('at %s, pass %i, of the %s card', async (failpoint, skip, stage) => {
    const session = await cart();
    const die = async (cards: readonly PaymentMethod[]) => {
      turnFailpointsOn();
      armFailpoint(failpoint, { action: 'error', skip });
      await pay(session, cards).catch(() => undefined);
      turnFailpointsOff();
      await sweepAll();
    };
    if (stage === 'first') await die([short]);
    else await pay(session, [short]);
    expect(await fixture.reload(session)).toMatchObject(inPart);
    expect(await amounts(session)).toEqual([[2_500, 0]]);
    if (stage === 'second') await die([credit]);
    else await pay(session, [credit]);
    await fixture.booksAgree(session);
    expect(await fixture.reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 10_000 });
    expect(await amounts(session)).toEqual([
      [2_500, 2_500],
      [7_500, 7_500],
    ]);
  });

  it.each(['payment_intents.confirm', 'payment_intents.capture'])(
    'or an answer of %s that is lost, charges once',
    async (call) => {
      const session = await cart();
      await fixture.fault({ call, kind: 'drop_after', times: 1 });
      await pay(session, [short]);
      await sweepAll();
      expect(await fixture.reload(session)).toMatchObject(inPart);
      await pay(session, [credit]);
      await sweepAll();
      await fixture.booksAgree(session);
      expect(await fixture.reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 10_000 });
    },
  );

  it.each(['health', 'other'] as const)(
    'or a hold of the %s card that is lost before its capture, leaves no money behind',
    async (leg) => {
      const session = await cart();
      await pay(session, [short]);
      turnFailpointsOn();
      armFailpoint('plan.hold_decided', { action: 'error' });
      await pay(session, [credit]).catch(() => undefined);
      turnFailpointsOff();
      await fixture.cancelAtProcessor(session, leg);
      await sweepAll();
      const after = await fixture.reload(session);
      expect(after.amountReceivedCents - after.amountRefundedCents).toBe(
        after.status === 'canceled' ? after.amountReceivedCents : 0,
      );
      const told = await fixture.told(session);
      expect([after.status, told['command.refund'] ?? 0]).toEqual(leg === 'health' ? ['open', 0] : ['canceled', 1]);
      expect(
        (await fixture.atProcessor(session)).map(([, , kind]) => kind).filter((kind) => kind === 'requires_capture'),
      ).toEqual([]);
    },
  );
});

partialConfirmTests(() => ({ fixture, short, cart, amounts, holds, sweepAll }));

describe('the database refuses, whatever the code does [D14.183]', () => {
  const refusal = (text: string, values: readonly unknown[]) =>
    fixture.test.admin(text, [...values]).then(
      () => undefined,
      (error: { constraint?: string; constraint_name?: string }) => error.constraint_name ?? error.constraint,
    );

  it('a part that was not asked for, tenders that are not their line and card, and more than a tender', async () => {
    const [held, whole] = [await cart({ captureMethod: 'manual' }), await cart()];
    await pay(held, [short]);
    await pay(held, [credit]);
    await pay(whole, [await fixture.card('hsa')], false);
    const ofWhole = 'where subject_id = $1';
    expect(await refusal(`update checkout.charge_attempts set amount_cents = 3000 ${ofWhole}`, [whole.id])).toBe(
      'approved_part_was_asked_for',
    );
    expect(await refusal(`update checkout.charge_attempts set accepts_part = true ${ofWhole}`, [whole.id])).toBe(
      'only_a_hold_accepts_a_part',
    );
    const fresh = { id: 'fresh', purpose: 'invoice', subject_id: 'x', eligibility_record_id: null, status: 'created' };
    const insert = `insert into checkout.charge_attempts select (jsonb_populate_record(a, $2::jsonb)).* from checkout.charge_attempts a ${ofWhole}`;
    for (const part of [{ accepts_part: true }, { asked_cents: 9_000 }]) {
      const attempt = JSON.stringify({ ...fresh, processor_intent_id: null, ...part });
      expect(await refusal(insert, [whole.id, attempt])).toBe('only_a_hold_accepts_a_part');
    }
    const shrink =
      'update checkout.payment_intents set amount_cents = 3000, amount_capturable_cents = 3000 where session_id = $1';
    expect(await refusal(shrink, [whole.id])).toBe('intent_amount_is_final');
    const tender = (set: string, leg: string) =>
      refusal(
        `update checkout.line_tenders t set ${set} from checkout.payment_intents i
         where i.id = t.payment_intent_id and t.session_id = $1 and i.leg = $2`,
        [held.id, leg],
      );
    expect(await tender('captured_cents = t.amount_cents + 1', 'other')).toBe('tender_within_its_amount');
    expect(await tender('refunded_cents = 1', 'other')).toBe('tender_within_its_amount');
    expect(await tender('captured_cents = 1', 'health')).toBe('line_money_is_its_tenders');
    const copy = (session: string, amount: string, leg: string) =>
      refusal(
        `insert into checkout.line_tenders (account_id, test_mode, session_id, line_id, payment_intent_id, amount_cents)
         select l.account_id, l.test_mode, l.session_id, l.id, i.id, ${amount}
         from checkout.session_lines l join checkout.payment_intents i on i.session_id = $1 and i.leg = $3
         where l.session_id = $2 and l.position = 2`,
        [session, session === whole.id ? whole.id : held.id, leg],
      );
    expect(await copy(whole.id, '1', 'health')).toBe('health_tender_is_eligible');
    const [line0] = await loadSessionLines(fixture.database, fixture.scope, whole.id);
    const one = (amount: number) =>
      refusal(
        `insert into checkout.line_tenders (account_id, test_mode, session_id, line_id, payment_intent_id, amount_cents)
         select i.account_id, i.test_mode, i.session_id, $2, i.id, $3 from checkout.payment_intents i where i.session_id = $1 and i.leg = 'health'`,
        [whole.id, line0?.id, amount],
      );
    expect(await one(1_000)).toBe('line_is_the_sum_of_its_tenders');
    expect(await one(2_000)).toBe('card_is_the_sum_of_its_tenders');
  });
});

import { randomInt } from 'node:crypto';
import { Failure } from '@eligo/failures';
import { cents, newId } from '@eligo/values';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { RefundReservation } from '../src/actions/planned-reservation.ts';
import { recordDispute } from '../src/actions/record-dispute.ts';
import { releaseRefund } from '../src/actions/release-refund.ts';
import { reserveRefund } from '../src/actions/reserve-refund.ts';
import type { Session } from '../src/domain/session.ts';
import { findIntents } from '../src/store/payment-intents.ts';
import { loadSessionLines } from '../src/store/session-lines.ts';
import { type CaptureParts, type CapturesFixture, openCapturesFixture } from './captures-fixture.ts';

const isLong = process.env.ELIGO_TEST_LONG === 'on';
const sequences = isLong ? 10_000 : 8;
// A sequence mostly waits for its database and its processor, of which each lane has its own.
const lanes = isLong ? 4 : 1;
const seed = Number(process.env.ELIGO_TEST_SEED || randomInt(2 ** 31));

let fixtures: CapturesFixture[] = [];
beforeAll(async () => {
  fixtures = await Promise.all(Array.from({ length: lanes }, () => openCapturesFixture()));
}, 120_000);
afterAll(() => Promise.all(fixtures.map((fixture) => fixture.close())));

/** What a card holds, gave and got back, as a child would keep it. */
interface Card {
  readonly intentId: string;
  readonly methodId: string;
  readonly processorIntentId: string;
  readonly authorized: number;
  captured: number;
  refunded: number;
  /** What each dispute holds, and the last look at it that counted. */
  readonly disputes: Map<string, { held: number; seq: bigint }>;
}

interface Model {
  readonly cards: readonly Card[];
  /** By the price of each line, which is authorized for 36.00 and 24.00, and what of its tax of 10.00 was captured. */
  readonly lines: Map<string, { readonly authorized: number; captured: number }>;
  capturedTax: number;
  /** Holds that a final capture did not take are gone. */
  isFinal: boolean;
  readonly refunds: { readonly id: string; readonly parts: Map<string, number> }[];
  readonly disputeIds: string[];
}

const amount = fc.integer({ min: 1, max: 3_000 });
const card = fc.nat(1);
const sent = {
  ...{ isLost: fc.nat(3).map((pick) => pick === 0), isFinal: fc.integer({ min: 0, max: 5 }).map((pick) => pick === 0) },
};
const step = fc.oneof(
  { weight: 2, arbitrary: fc.record({ what: fc.constant('capture' as const), amount, ...sent }) },
  {
    weight: 2,
    arbitrary: fc.record({
      ...{ what: fc.constant('capture lines' as const), amounts: fc.tuple(fc.nat(2_500), fc.nat(1_500)) },
      ...{ tax: fc.option(fc.nat(400), { nil: undefined }), ...sent },
    }),
  },
  { weight: 4, arbitrary: fc.record({ what: fc.constant('refund' as const), amount }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('refund to a card' as const), card, amount }) },
  {
    weight: 1,
    arbitrary: fc.record({ what: fc.constant('refund all' as const), cent: fc.integer({ min: -1, max: 2 }) }),
  },
  { weight: 3, arbitrary: fc.record({ what: fc.constant('fail a refund' as const), which: fc.nat(20), card }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('dispute' as const), card, amount }) },
  {
    weight: 2,
    arbitrary: fc.record({
      ...{ what: fc.constant('look at a dispute' as const), which: fc.nat(5), amount: fc.nat(3_000) },
      isStale: fc.boolean(),
    }),
  },
);
/** What is captured, and how much that takes: nothing where it is refused. */
interface Asked {
  readonly asked: CaptureParts;
  readonly expected: number;
  readonly isLost: boolean;
  readonly isFinal: boolean;
}
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

it(
  'keeps captured, refunded and disputed money as a simple model does, in random sequences with failures [D6.5, D14.124, D14.160, D14.183, D14.303]',
  async () => {
    if (isLong) console.log(`money-model: ELIGO_TEST_SEED=${seed}`);
    const startedAt = performance.now();
    let done = 0;
    const run = async (fixture: CapturesFixture, steps: readonly Step[], isInPart: boolean) => {
      const session = isInPart ? await fixture.heldInPart() : await fixture.held();
      const model = await modelOf(fixture, session);
      for (const one of steps) {
        await carryOut(fixture, session, model, one);
        await agrees(fixture, session, model);
      }
      await fixture.sweepAll();
      await fixture.booksAgree(session);
      if (++done % 500 > 0 || !isLong) return;
      console.log(`money-model: ${done} of ${sequences}, ${Math.round((performance.now() - startedAt) / 1_000)} s`);
    };
    const steps = fc.array(step, { minLength: 6, maxLength: 18 });
    await Promise.all(
      fixtures.map((fixture, lane) =>
        fc.assert(
          fc.asyncProperty(steps, fc.boolean(), (steps, isInPart) =>
            run(fixture, steps, isInPart).finally(() => fixture.clearFaults()),
          ),
          { numRuns: sequences / lanes, seed: seed + lane },
        ),
      ),
    );
  },
  isLong ? 2 * 3_600_000 : 120_000,
);

async function modelOf(fixture: CapturesFixture, session: Session): Promise<Model> {
  const intents = await findIntents(fixture.database, fixture.scope, session.paymentIntentIds);
  const attempts = await fixture.test.admin<{ payment_intent_id: string; processor_intent_id: string }>(
    'select payment_intent_id, processor_intent_id from checkout.charge_attempts where subject_id = $1',
    [session.id],
  );
  const cards = intents.map((intent) => ({
    ...{ intentId: intent.id, methodId: intent.paymentMethodId ?? '', authorized: Number(intent.amountCents) },
    processorIntentId: attempts.find((one) => one.payment_intent_id === intent.id)?.processor_intent_id ?? '',
    ...{ captured: 0, refunded: 0, disputes: new Map() },
  }));
  // On two cards, or with a health card that was approved for a part of its 36.00.
  expect([
    [2_400, 3_600],
    [2_500, 3_500],
  ]).toContainEqual(cards.map((one) => one.authorized).sort());
  const [health = '', other = ''] = await fixture.prices(session);
  const lines = new Map([
    [health, { authorized: 3_600, captured: 0 }],
    [other, { authorized: 2_400, captured: 0 }],
  ]);
  return { cards, lines, capturedTax: 0, isFinal: false, refunds: [], disputeIds: [] };
}

const sum = (amounts: Iterable<number>) => [...amounts].reduce((total, one) => total + one, 0);
const disputed = (of: Card) => sum([...of.disputes.values()].map(({ held }) => held));
const refundable = (of: Card) => Math.max(0, of.captured - of.refunded - disputed(of));
const refundableOf = ({ cards }: Model) => sum(cards.map(refundable));
const capturable = (model: Model) => (model.isFinal ? 0 : sum(model.cards.map((one) => one.authorized - one.captured)));

async function carryOut(fixture: CapturesFixture, session: Session, model: Model, one: Step): Promise<void> {
  switch (one.what) {
    case 'capture': {
      const isAccepted = one.amount <= capturable(model);
      return capture(fixture, session, model, {
        ...one,
        asked: { amount: one.amount },
        expected: isAccepted ? one.amount : 0,
      });
    }
    case 'capture lines':
      return capture(fixture, session, model, { ...one, ...statedLines(model, one) });
    case 'refund':
      return refund(fixture, session, model, { amount: one.amount });
    case 'refund all':
      return refund(fixture, session, model, { amount: Math.max(1, refundableOf(model) + one.cent) });
    case 'refund to a card': {
      const to = model.cards[one.card];
      return to && refund(fixture, session, model, { amount: one.amount, to });
    }
    case 'fail a refund':
      return fail(fixture, model, one);
    case 'dispute': {
      const of = model.cards[one.card];
      if (of === undefined || of.captured === 0) return;
      const id = newId('dispute');
      model.disputeIds.push(id);
      return look(fixture, of, id, { held: one.amount, seq: 10n });
    }
    case 'look at a dispute': {
      const id = model.disputeIds[one.which % Math.max(model.disputeIds.length, 1)];
      const of = model.cards.find(({ disputes }) => id !== undefined && disputes.has(id));
      if (id === undefined || of === undefined) return;
      const known = of.disputes.get(id);
      return look(fixture, of, id, { held: one.amount, seq: (known?.seq ?? 0n) + (one.isStale ? -1n : 1n) });
    }
  }
}

// Accepted unless more is asked of a line, of the tax or of the cards than remains.
function statedLines(model: Model, { amounts, tax }: Extract<Step, { what: 'capture lines' }>) {
  const stated = [...model.lines].map(([priceId, line], index) => ({ priceId, line, amount: amounts[index] ?? 0 }));
  const total = sum(amounts) + (tax ?? 0);
  const isAccepted =
    total <= capturable(model) &&
    (tax ?? 0) <= 1_000 - model.capturedTax &&
    stated.every(({ line, amount: asked }) => asked <= line.authorized - line.captured);
  const entries = stated.map(({ priceId, amount: asked }) => ({ priceId, amount: asked }));
  return { asked: { entries, ...(tax === undefined ? {} : { tax }) }, expected: isAccepted ? total : 0 };
}

async function capture(
  fixture: CapturesFixture,
  session: Session,
  model: Model,
  { asked, expected, isLost, isFinal }: Asked,
): Promise<void> {
  if (isLost && expected > 0) {
    await fixture.fault({ call: 'payment_intents.capture', kind: 'drop_after', times: 1 });
  }
  const code = await codeOf(fixture.capture(session, { ...asked, isFinal }));
  // The circuit breaker is open, or the answer came late: the capture is done as a whole, or not at all.
  const isNotNow = !isLost && code === 'lock_timeout';
  if (isLost) await fixture.clearFaults();
  if (isLost || isNotNow) await fixture.sweepAll();
  else expect(code === undefined, code).toBe(expected > 0);
  const intents = await findIntents(fixture.database, fixture.scope, session.paymentIntentIds);
  const before = sum(model.cards.map((one) => one.captured));
  for (const of of model.cards) {
    of.captured = Number(intents.find(({ id }) => id === of.intentId)?.amountReceivedCents ?? 0);
    expect(of.captured).toBeLessThanOrEqual(of.authorized);
  }
  const captured = sum(model.cards.map((one) => one.captured)) - before;
  await lookAtLines(fixture, session, model);
  expect(isNotNow ? [0, expected] : [expected]).toContain(captured);
  if (captured > 0 && isFinal) model.isFinal = true;
}

async function lookAtLines(fixture: CapturesFixture, session: Session, model: Model): Promise<void> {
  const lines = await loadSessionLines(fixture.database, fixture.scope, session.id);
  for (const { priceId, amountCapturedCents } of lines) {
    const of = model.lines.get(priceId);
    if (of === undefined) throw new Error('a line is not of the cart');
    of.captured = amountCapturedCents;
    expect(of.captured).toBeLessThanOrEqual(of.authorized);
  }
  const records = await fixture.records(session);
  model.capturedTax = sum(records.map(({ taxCents }) => taxCents));
  expect(model.capturedTax).toBeLessThanOrEqual(1_000);
}

async function refund(
  fixture: CapturesFixture,
  session: Session,
  model: Model,
  { amount: asked, to }: { amount: number; to?: Card },
): Promise<void> {
  const remaining = to === undefined ? refundableOf(model) : refundable(to);
  const refundId = newId('refund');
  const reservation: RefundReservation = {
    ...{ refundId, sessionId: session.id, paymentIntentId: null, preview: false },
    features: ['refund_payment_methods'],
    instruction: {
      entries: [],
      methods: to === undefined ? [] : [{ paymentMethodId: to.methodId, amount: cents(asked) }],
      ...(to === undefined ? { amount: cents(asked) } : {}),
    },
  };
  let given: { readonly intentId: string; readonly amountCents: number }[] = [];
  const code = await codeOf(
    reserveRefund(fixture.context, fixture.scope, reservation).then(({ cards }) => {
      given = cards.map(({ intent, amountCents }) => ({ intentId: intent.id, amountCents }));
    }),
  );
  // The cent of the client's own rounding is left out.
  const isRounded = to === undefined && remaining > 0 && asked === remaining + 1;
  if (asked <= remaining) expect(code).toBeUndefined();
  else if (!isRounded) expect(code).toBeDefined();
  if (code !== undefined) return;
  expect(sum(given.map(({ amountCents }) => amountCents))).toBe(Math.min(asked, remaining));
  for (const { intentId, amountCents } of given) {
    const of = model.cards.find((one) => one.intentId === intentId);
    if (of === undefined) throw new Error('a refund is to a card that did not pay');
    if (to !== undefined) expect(of).toBe(to);
    expect(amountCents).toBeLessThanOrEqual(refundable(of));
    of.refunded += amountCents;
  }
  model.refunds.push({ id: refundId, parts: new Map(given.map((part) => [part.intentId, part.amountCents])) });
}

// The processor could not give it back to this card: it is the card's again, once.
async function fail(
  fixture: CapturesFixture,
  model: Model,
  { which, card: index }: Extract<Step, { what: 'fail a refund' }>,
): Promise<void> {
  const failed = model.refunds[which % Math.max(model.refunds.length, 1)];
  const of = model.cards[index];
  if (failed === undefined || of === undefined) return;
  await releaseRefund(fixture.context, fixture.scope, failed.id, [of.intentId]);
  of.refunded -= failed.parts.get(of.intentId) ?? 0;
  failed.parts.delete(of.intentId);
}

// A bank disputes no more of a card than was charged; it may dispute what was refunded.
async function look(
  fixture: CapturesFixture,
  of: Card,
  id: string,
  told: { held: number; seq: bigint },
): Promise<void> {
  const known = of.disputes.get(id);
  const news = { ...told, held: Math.min(told.held, of.captured - disputed(of) + (known?.held ?? 0)) };
  const amountCents = cents(Math.max(news.held, 1));
  const dispute = { disputeId: id, amountCents, heldCents: cents(news.held), seq: news.seq };
  await recordDispute(fixture.context, fixture.scope, of.processorIntentId, dispute);
  if (known === undefined || known.seq < news.seq) of.disputes.set(id, news);
}

async function agrees(fixture: CapturesFixture, session: Session, model: Model): Promise<void> {
  const rows = await fixture.test.admin<Record<'id' | 'received' | 'refunded' | 'disputed', string>>(
    `select id, amount_received_cents as received, amount_refunded_cents as refunded, amount_disputed_cents as disputed
     from checkout.payment_intents where session_id = $1`,
    [session.id],
  );
  const stored = rows.map((row) => [row.id, Number(row.received), Number(row.refunded), Number(row.disputed)]);
  expect(stored.toSorted()).toEqual(
    model.cards.map((one) => [one.intentId, one.captured, one.refunded, disputed(one)]).toSorted(),
  );
  const received = sum(model.cards.map((one) => one.captured));
  const refunded = sum(model.cards.map((one) => one.refunded));
  const [lines] = await fixture.test.admin<{ captured: string; refunded: string }>(
    `select sum(amount_captured_cents) as captured, sum(amount_refunded_cents) as refunded
     from checkout.session_lines where session_id = $1`,
    [session.id],
  );
  expect([Number(lines?.captured), Number(lines?.refunded)]).toEqual([received, refunded]);
  expect(await fixture.reload(session)).toMatchObject({
    ...{
      amountReceivedCents: received,
      amountRefundedCents: refunded,
      amountDisputedCents: sum(model.cards.map(disputed)),
    },
  });
}

async function codeOf(action: Promise<unknown>): Promise<string | undefined> {
  try {
    await action;
    return undefined;
  } catch (error) {
    if (error instanceof Failure) return error.code;
    throw error;
  }
}

import { withTx } from '@eligo/postgres';
import { cents, newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { decideLetter } from '../src/actions/decide-letter.ts';
import { requestCaptureOfHolds } from '../src/actions/request-capture.ts';
import { reserveRefund } from '../src/actions/reserve-refund.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { RefundInstruction } from '../src/domain/refund-allocation.ts';
import type { Session } from '../src/domain/session.ts';
import { findCaptureRecord, listCaptures } from '../src/store/capture-records.ts';
import { findIntents } from '../src/store/payment-intents.ts';
import { loadSession, lockSession } from '../src/store/sessions.ts';
import { type CapturesFixture, openCapturesFixture, refusal } from './captures-fixture.ts';
import { line, start } from './fixture.ts';
import { letterLine, lettersFixture } from './letters-fixture.ts';
import { pay as payOnPage, sweepRounds } from './pay.ts';
import { refundByCaptureTests } from './refunds-by-capture.ts';
import { reimbursementTests } from './reimbursements.ts';

let fixture: CapturesFixture;
beforeAll(async () => {
  fixture = await openCapturesFixture();
});
afterAll(() => fixture.close());
afterEach(() => fixture.clearFaults());

const twoCards = () => Promise.all([fixture.card('hsa'), fixture.card('credit')]);
const pay = (session: Session, cards: PaymentMethod[]) => payOnPage(fixture, session, cards);
const reload = async (session: Session) => {
  const found = await loadSession(fixture.database, fixture.scope, session.id);
  if (found === undefined) throw new Error('the session is gone');
  return found;
};
const captured = async (session: Session) =>
  (await fixture.charges(session)).map((charge) => [charge.amount, charge.amount_captured]).sort();
const approveLetter = (session: Session) =>
  withTx(fixture.database, fixture.scope, async (tx) => {
    const locked = await lockSession(tx, fixture.scope, session.id);
    if (locked === undefined) throw new Error('the session is gone');
    await requestCaptureOfHolds(tx, fixture.scope, locked, start);
  });

const sweepAll = () => sweepRounds(fixture, 4);

async function recordOf(session: Session, index = 0) {
  const id = (await reload(session)).captureIds[index];
  if (id === undefined) throw new Error('the session has no such capture');
  return findCaptureRecord(fixture.database, fixture.scope, id);
}

const held = () =>
  fixture.session({
    lines: [line({ unitAmount: 3_000, class: 'auto_substantiation' }), line({ unitAmount: 2_000 })],
    captureMethod: 'manual',
  });

reimbursementTests(() => fixture);
refundByCaptureTests(() => fixture);

describe('an approved letter', () => {
  it('captures both cards, completes the session and ends its payment plan [D14.65]', async () => {
    const [hsa, credit] = await twoCards();
    const session = await held();
    await pay(session, [hsa, credit]);
    await approveLetter(session);
    await sweepAll();
    expect(await reload(session)).toMatchObject({ status: 'complete', nextAction: null, amountReceivedCents: 5_000 });
    expect(await captured(session)).toEqual([
      [2_000, 2_000],
      [3_000, 3_000],
    ]);
    const { paymentIntentIds } = await reload(session);
    expect(await recordOf(session)).toMatchObject({
      ...{ cause: 'letter', status: 'succeeded', amountCents: 5_000, isFinal: true },
      lines: [
        { amountCents: 3_000, paymentIntentId: paymentIntentIds[0] },
        { amountCents: 2_000, paymentIntentId: paymentIntentIds[1] },
      ],
    });
    const [plan] = await fixture.test.admin('select state from checkout.payment_plans where session_id = $1', [
      session.id,
    ]);
    expect(plan).toEqual({ state: 'done' });
    expect(await fixture.told(session)).toEqual({
      ...{ 'checkout.session.completed': 1, 'payment_intent.created': 2, 'payment_intent.succeeded': 2 },
    });
  });

  it('captures the hold of a confirmed session', async () => {
    const hsa = await fixture.card('hsa');
    const lines = [line({ unitAmount: 3_000, class: 'letter_of_medical_necessity' }), line({ unitAmount: 2_000 })];
    const session = await fixture.session({ lines, customerId: hsa.customerId });
    await fixture.confirm(session, hsa);
    const [letter] = await fixture.test.admin<{ id: string }>('select id from checkout.letters where session_id = $1', [
      session.id,
    ]);
    await decideLetter(fixture.context, fixture.scope, letter?.id ?? '', 'approved');
    await sweepAll();
    expect(await reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 3_000 });
    expect(await recordOf(session)).toMatchObject({
      cause: 'letter',
      amountCents: 3_000,
      lines: [{ amountCents: 3_000 }],
    });
  });

  it('is not carried out when its transaction rolls back, and is refused for a session without holds', async () => {
    const [hsa, credit] = await twoCards();
    const session = await fixture.mixedSession(hsa);
    await pay(session, [hsa, credit]);
    await expect(approveLetter(session)).rejects.toMatchObject({ code: 'checkout_session_not_capturable' });
    const waiting = await held();
    await pay(waiting, [hsa, credit]);
    const rolledBack = withTx(fixture.database, fixture.scope, async (tx) => {
      const locked = await lockSession(tx, fixture.scope, waiting.id);
      if (locked !== undefined) await requestCaptureOfHolds(tx, fixture.scope, locked, start);
      throw new Error('the letter was denied after all');
    });
    await expect(rolledBack).rejects.toThrow('denied after all');
    await sweepAll();
    expect(await reload(waiting)).toMatchObject({ status: 'paid', amountReceivedCents: 0 });
  });

  it('takes each card once when answers are lost', async () => {
    const [hsa, credit] = await twoCards();
    const session = await held();
    await pay(session, [hsa, credit]);
    await approveLetter(session);
    for (const kind of ['drop_after', 'error_after', 'drop_before', 'error_before', 'in_progress']) {
      await fixture.fault({ call: 'payment_intents.capture', kind, times: 1 });
      await fixture.fault({ call: 'payment_intents.retrieve', kind: 'drop_after', times: 1 });
    }
    for (let round = 0; round < 4; round++) await sweepAll();
    expect(await reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 5_000 });
    expect(await captured(session)).toEqual([
      [2_000, 2_000],
      [3_000, 3_000],
    ]);
    expect(await fixture.told(session)).toMatchObject({
      'payment_intent.succeeded': 2,
      'checkout.session.completed': 1,
    });
  });
});

describe('a capture of two cards', () => {
  it('refunds the first card and cancels the session when the second hold is lost [D14.29]', async () => {
    const [hsa, credit] = await twoCards();
    const session = await held();
    await pay(session, [hsa, credit]);
    await fixture.cancelAtProcessor(session, 'other');
    await approveLetter(session);
    await sweepAll();
    expect(await reload(session)).toMatchObject({ status: 'canceled', amountReceivedCents: 3_000, captureIds: [] });
    expect(await fixture.told(session)).toMatchObject({ 'command.refund': 1, 'checkout.session.expired': 1 });
  });
});

describe('the list of captures', () => {
  it('shows those that succeeded, newest first, of one session or one payment intent [END-1, REC-1]', async () => {
    const [hsa, credit] = await twoCards();
    const sessions: Session[] = [];
    for (let count = 0; count < 2; count++) {
      const session = await fixture.mixedSession(hsa);
      sessions.push(await pay(session, [hsa, credit]));
    }
    const pending = await held();
    await pay(pending, [hsa, credit]);
    await approveLetter(pending);
    const list = async (of: { sessionId?: string; paymentIntentId?: string | undefined }) =>
      (await listCaptures(fixture.database, fixture.scope, { limit: 100 }, of)).captures.map(({ id }) => id);
    const ids = sessions.map(({ captureIds }) => captureIds[0]);
    expect((await list({})).slice(0, 2)).toEqual([ids[1], ids[0]]);
    expect(await list({ sessionId: sessions[0]?.id ?? '' })).toEqual([ids[0]]);
    expect(await list({ sessionId: pending.id })).toEqual([]);
    expect(await list({ paymentIntentId: sessions[0]?.paymentIntentIds[0] })).toEqual([ids[0]]);
    // The other card was charged at once.
    expect(await list({ paymentIntentId: sessions[0]?.paymentIntentIds[1] })).toEqual([]);
    const [unsettled] = await fixture.test.admin<{ id: string }>(
      'select id from checkout.captures where session_id = $1',
      [pending.id],
    );
    expect(await findCaptureRecord(fixture.database, fixture.scope, unsettled?.id ?? '')).toBeUndefined();
    await sweepAll();
    expect(await list({ sessionId: pending.id })).toEqual([unsettled?.id]);
  });
});

describe('a payment on the page', () => {
  it('has a capture of the health card’s hold, with its lines and components [D14.65]', async () => {
    const [hsa, credit] = await twoCards();
    const session = await fixture.mixedSession(hsa, { taxAmountCents: 1_000n });
    const paid = await pay(session, [hsa, credit]);
    expect(paid).toMatchObject({ status: 'complete', captureIds: [expect.stringMatching(/^fcap_/)] });
    expect(await recordOf(session)).toMatchObject({
      ...{ cause: 'page', amountCents: 4_400, taxCents: 400, isFinal: true },
      lines: [{ amountCents: 4_400, paymentIntentId: paid.paymentIntentIds[0] }],
    });
    const intents = await findIntents(fixture.database, fixture.scope, paid.paymentIntentIds);
    expect(intents.map((intent) => [intent.status, intent.amountReceivedCents])).toEqual([
      ['succeeded', 4_400],
      ['succeeded', 6_600],
    ]);
  });

  it('finishes a capture that the release before this one began, and makes its record', async () => {
    const [hsa, credit] = await twoCards();
    const session = await fixture.mixedSession(hsa);
    await fixture.fault({ call: 'payment_intents.capture', kind: 'drop_before', times: 1 });
    await fixture.fault({ call: 'payment_intents.retrieve', kind: 'drop_before', times: 1 });
    expect(await pay(session, [hsa, credit])).toMatchObject({ status: 'open' });
    // As that release wrote it.
    await fixture.test.admin(
      'update checkout.intent_operations set capture_id = null where capture_id is not null and status = $1',
      ['pending'],
    );
    await fixture.test.admin(
      'delete from checkout.capture_lines c using checkout.captures k where k.id = c.capture_id and k.session_id = $1',
      [session.id],
    );
    await fixture.test.admin('delete from checkout.captures where session_id = $1', [session.id]);
    await sweepAll();
    expect(await reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 10_000 });
    expect(await recordOf(session)).toMatchObject({
      cause: 'page',
      amountCents: 4_000,
      lines: [{ amountCents: 4_000 }],
    });
  });
});

describe('a refund of a session that was captured in parts', () => {
  const features = ['refund_payment_methods'];
  const refund = (session: Session, instruction: Partial<RefundInstruction> = {}) =>
    reserveRefund(fixture.context, fixture.scope, {
      ...{ refundId: newId('refund'), sessionId: session.id, paymentIntentId: null, features, preview: false },
      instruction: { entries: [], methods: [], ...instruction },
    });
  const amounts = ({ cards }: Awaited<ReturnType<typeof refund>>) => cards.map((card) => card.amountCents);

  it('stays within what was captured of each line, component and card [SREF-2, D6.5]', async () => {
    const session = await fixture.held();
    const [health = '', other = ''] = await fixture.prices(session);
    expect(await refusal(refund(session))).toEqual([422, 'checkout_session_not_captured']);
    await fixture.capture(session, { entries: [{ priceId: health, amount: 1_200 }] });
    const exceeds = [422, 'refund_amount_exceeds_remaining'];
    expect(await refusal(refund(session, { amount: cents(1_202) }))).toEqual(exceeds);
    const ofOther = { entries: [{ priceId: other, amount: cents(1) }] };
    expect(await refusal(refund(session, ofOther))).toEqual(exceeds);
    expect(await refusal(refund(session, { tax: cents(201) }))).toEqual(exceeds);
    expect(amounts(await refund(session, { tax: cents(200) }))).toEqual([200]);
    await fixture.capture(session, { entries: [{ priceId: other, amount: 400 }], isFinal: true });
    expect(amounts(await refund(session, { entries: [{ priceId: other, amount: cents(400) }] }))).toEqual([400]);
    expect(amounts(await refund(session))).toEqual([1_000]);
    expect(await refusal(refund(session))).toEqual(exceeds);
    expect(await fixture.reload(session)).toMatchObject({ amountReceivedCents: 1_600, amountRefundedCents: 1_600 });
  });

  it('takes components and named cards from what several captures took of each, and all of both in the end [SREF-1, SREF-4, D13.1, D14.41]', async () => {
    const session = await fixture.held();
    const [health = '', other = ''] = await fixture.prices(session);
    const intents = await findIntents(fixture.database, fixture.scope, (await reload(session)).paymentIntentIds);
    const [healthCard, otherCard] = ['health', 'other'].map(
      (leg) => intents.find((intent) => intent.leg === leg)?.paymentMethodId ?? '',
    );
    const named = (ofHealth: number, ofOther: number) => [
      { paymentMethodId: healthCard ?? '', amount: cents(ofHealth) },
      { paymentMethodId: otherCard ?? '', amount: cents(ofOther) },
    ];
    const exceeds = [422, 'refund_amount_exceeds_remaining'];
    await fixture.capture(session, { entries: [{ priceId: health, amount: 1_200 }] });
    expect(await refusal(refund(session, { methods: named(0, 1).slice(1) }))).toEqual([422, 'validation_error']);
    expect(await refusal(refund(session, { methods: named(1_201, 0).slice(0, 1) }))).toEqual(exceeds);
    await fixture.capture(session, { entries: [{ priceId: other, amount: 1_200 }] });
    const mixed = await refund(session, { amount: cents(400), tax: cents(100), methods: named(300, 100) });
    expect(amounts(mixed).sort()).toEqual([100, 300]);
    expect(await refusal(refund(session, { tax: cents(301) }))).toEqual(exceeds);
    expect(await refusal(refund(session, { methods: named(901, 0) }))).toEqual(exceeds);
    await fixture.capture(session, { entries: [{ priceId: health, amount: 600 }], isFinal: true });
    expect(await refusal(refund(session, { tax: cents(401) }))).toEqual(exceeds);
    expect(amounts(await refund(session, { tax: cents(400) })).reduce((sum, amount) => sum + amount, 0)).toBe(400);
    await refund(session);
    const [standing] = await fixture.test.admin(
      `select amount_received_cents - amount_refunded_cents as rest, captured_tax_cents - refunded_tax_cents as tax
       from checkout.sessions where id = $1`,
      [session.id],
    );
    expect(standing).toEqual({ rest: '0', tax: '0' });
    expect(await refusal(refund(session, { amount: cents(1) }))).toEqual(exceeds);
  });

  it('gives all back for an amount with the cent of the client’s own rounding, and no more than was captured [D14.160]', async () => {
    const session = await fixture.held();
    await fixture.capture(session, { amount: 1_234, isFinal: true });
    expect(amounts(await refund(session, { amount: cents(1_235) })).reduce((sum, amount) => sum + amount, 0)).toBe(
      1_234,
    );
    expect(await refusal(refund(session, { amount: cents(1) }))).toEqual([422, 'refund_amount_exceeds_remaining']);
    expect(await fixture.reload(session)).toMatchObject({ amountReceivedCents: 1_234, amountRefundedCents: 1_234 });
  });

  it('waits while a capture is unsettled', async () => {
    const session = await fixture.heldOnOneCard();
    await fixture.capture(session, { amount: 1_000 });
    await fixture.fault({ call: 'payment_intents.capture', kind: 'drop_before', times: 1 });
    await fixture.fault({ call: 'payment_intents.retrieve', kind: 'drop_before', times: 1 });
    expect(await refusal(fixture.capture(session, { key: 'lost' }))).toEqual([503, 'idempotency_key_in_use']);
    expect(await refusal(refund(session))).toEqual([503, 'lock_timeout']);
    await fixture.sweepAll();
    expect(amounts(await refund(session))).toEqual([6_000]);
  });
});

describe('the receipt of a session that was captured in part', () => {
  it('has what was captured of each item, and its amounts sum up to what the cards paid [D14.86]', async () => {
    const parts = { fees: [{ amountCents: 333n }], receiptMerchantName: 'Care', customerEmail: 'ann@example.com' };
    const session = await fixture.held({ parts });
    const [health = ''] = await fixture.prices(session);
    await fixture.capture(session, { entries: [{ priceId: health, amount: 1_234 }] });
    await fixture.capture(session, { amount: 100, isFinal: true });
    const command = await fixture.issuedReceipt(session);
    const { captured, lines, payments } = command;
    if (captured === undefined) throw new Error('the receipt has no captured amounts');
    expect(captured.totalCents).toBe(1_334n);
    const { subtotalCents, discountCents, shippingCents, taxCents, feeCents } = captured;
    expect(subtotalCents - discountCents + shippingCents + taxCents + feeCents).toBe(1_334n);
    expect([taxCents > 0n, feeCents > 0n]).toEqual([true, true]);
    const total = (amounts: readonly bigint[]) => amounts.reduce((sum, amount) => sum + amount, 0n);
    expect(total(lines.map((line) => line.amountTotalCents))).toBe(1_334n);
    expect(total(payments.map((payment) => payment.amountCents))).toBe(1_334n);
    for (const payment of payments) {
      const paid = lines.filter((line) => payment.lineItemIds.includes(line.lineItemId));
      expect(total(paid.map((line) => line.amountTotalCents))).toBe(payment.amountCents);
    }
  });

  it('lists every card that paid, including one captured earlier', async () => {
    const session = await fixture.held({ parts: { receiptMerchantName: 'Care', customerEmail: 'ann@example.com' } });
    const [health = ''] = await fixture.prices(session);
    await fixture.capture(session, { entries: [{ priceId: health, amount: 3_600 }] });
    await fixture.capture(session, { key: 'the other card' });
    const { payments } = await fixture.issuedReceipt(session);
    expect(payments.map(({ leg, amountCents }) => [leg, amountCents])).toEqual([
      ['health', 3_600n],
      ['other', 2_400n],
    ]);
  });

  it('names the letter by which each item is eligible that needed one, and no other [D14.86, D14.269]', async () => {
    const letters = lettersFixture(fixture);
    const lines = [letterLine(3_000), line({ unitAmount: 1_000, class: 'vision' }), line({ unitAmount: 2_000 })];
    const parts = { receiptMerchantName: 'Care', customerEmail: 'ann@example.com' };
    const session = await fixture.session({ lines, ...parts });
    await letters.pay(session, await Promise.all([fixture.card('hsa'), fixture.card('credit')]));
    const letter = await letters.onlyLetter(session);
    await letters.decide(letter, 'approved');
    const receipt = await fixture.issuedReceipt(session);
    expect(receipt.letters.map(({ lineItemId, letterId }) => [lineItemId, letterId])).toEqual([
      [receipt.lines.find(({ productId }) => productId === letter.productId)?.lineItemId, letter.id],
    ]);
  });

  it('is the whole one where everything was captured', async () => {
    const session = await fixture.held({ parts: { receiptMerchantName: 'Care', customerEmail: 'ann@example.com' } });
    await fixture.capture(session, { amount: 1_000 });
    await fixture.capture(session);
    expect((await fixture.issuedReceipt(session)).captured).toBeUndefined();
  });
});

it('a capture under a key that has an answer gets it while another request holds the session [D1.1]', async () => {
  const session = await fixture.heldOnOneCard();
  const first = await fixture.capture(session, { key: 'replayed' });
  const [locked, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = withTx(fixture.database, fixture.scope, async (tx) => {
    await lockSession(tx, fixture.scope, session.id);
    locked.resolve();
    await ended.promise;
  });
  await locked.promise;
  expect(await fixture.capture(session, { key: 'replayed' })).toEqual(first);
  ended.resolve();
  await holding;
});

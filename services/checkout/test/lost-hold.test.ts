import { fromBinary } from '@bufbuild/protobuf';
import type { ProcessorPort } from '@eligo/processor';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { decideLetter } from '../src/actions/decide-letter.ts';
import { reserveRefund } from '../src/actions/reserve-refund.ts';
import type { Context } from '../src/context.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';
import { pay as payOnPage, sweepRounds } from './pay.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());
afterEach(() => turnFailpointsOff());

const pay = (session: Session, cards: PaymentMethod[], context: Context = fixture.context) =>
  payOnPage({ ...fixture, context }, session, cards);
const whole = {
  ...{ amount: undefined, entries: [], tax: undefined, shipping: undefined, discount: undefined, methods: [] },
};
const reload = (session: Session) => loadSession(fixture.database, fixture.scope, session.id);
const twoCards = () => Promise.all([fixture.card('hsa'), fixture.card('credit')]);
const captured = async (session: Session) =>
  (await fixture.charges(session)).map((charge) => [charge.amount, charge.amount_captured]).sort();
const operations = (session: Session) =>
  fixture.test.admin<{ kind: string; status: string; failure_code: string | null }>(
    `select o.kind, o.status, o.failure_code from checkout.intent_operations o
     join checkout.payment_intents i on i.id = o.payment_intent_id where i.session_id = $1 order by o.id`,
    [session.id],
  );

const sweepAll = (context: Context = fixture.context) => sweepRounds({ ...fixture, context }, 5);

// The other card has paid, and the process is gone before the health card's hold is captured.
async function paidByTheOtherCard(): Promise<Session> {
  const [hsa, credit] = await twoCards();
  const session = await fixture.mixedSession(hsa);
  turnFailpointsOn();
  armFailpoint('plan.hold_decided', { action: 'error' });
  await expect(pay(session, [hsa, credit])).rejects.toThrow();
  turnFailpointsOff();
  return session;
}

describe('a hold that is gone when the other card has paid', () => {
  it('ends the session as canceled, says so, and refunds the received amount, once [D14.29]', async () => {
    const session = await paidByTheOtherCard();
    expect(await reload(session)).toMatchObject({ status: 'open', amountReceivedCents: 6_000 });
    await fixture.cancelAtProcessor(session, 'health');
    await sweepAll();

    expect(await reload(session)).toMatchObject({
      ...{ status: 'canceled', nextAction: null, amountReceivedCents: 6_000, amountRefundedCents: 0 },
    });
    expect(await operations(session)).toEqual([{ kind: 'capture', status: 'failed', failure_code: 'canceled' }]);
    expect(await fixture.told(session)).toEqual({
      'checkout.session.async_payment_failed': 1,
      'checkout.session.expired': 1,
      'command.refund': 1,
      'payment_intent.canceled': 1,
      'payment_intent.created': 2,
      'payment_intent.succeeded': 1,
    });
    expect(await refundCommand(session)).toEqual({
      operationId: `unpaid:${session.id}`,
      subject: { case: 'sessionId', value: session.id },
      amountCents: undefined,
      reason: 'payment_incomplete',
    });
    expect(await captured(session)).toEqual([
      [4_000, 0],
      [6_000, 6_000],
    ]);
  });

  it.each(['hold.processor_answered', 'hold.recorded', 'plan.before_conclude_commit'] as const)(
    'is followed once, whoever dies on the way: %s',
    async (place) => {
      const session = await paidByTheOtherCard();
      await fixture.cancelAtProcessor(session, 'health');
      turnFailpointsOn();
      armFailpoint(place, { action: 'error' });
      await sweepAll();
      turnFailpointsOff();
      await sweepAll();
      expect(await reload(session)).toMatchObject({ status: 'canceled', amountReceivedCents: 6_000 });
      expect(await fixture.told(session)).toMatchObject({
        ...{ 'command.refund': 1, 'checkout.session.expired': 1, 'payment_intent.canceled': 1 },
      });
    },
  );

  it('leaves what was received to be refunded to the card that paid it, whole', async () => {
    const session = await paidByTheOtherCard();
    await fixture.cancelAtProcessor(session, 'health');
    await sweepAll();
    const reserved = await reserveRefund(fixture.context, fixture.scope, {
      refundId: newId('refund'),
      sessionId: session.id,
      paymentIntentId: null,
      instruction: whole,
      features: [],
      preview: false,
    });
    expect(reserved.cards).toMatchObject([{ amountCents: 6_000, intent: { leg: 'other' } }]);
    expect(await reload(session)).toMatchObject({ status: 'canceled', amountRefundedCents: 6_000 });
  });

  it('leaves no intent that names the invoice of a subscription which will not be made', async () => {
    const [hsa, credit] = await twoCards();
    const session = await fixture.session({
      mode: 'subscription',
      lines: [
        line({ unitAmount: 4_000, class: 'auto_substantiation', recurring: true }),
        line({ unitAmount: 6_000, recurring: true }),
      ],
      customerId: hsa.customerId,
    });
    turnFailpointsOn();
    armFailpoint('plan.hold_decided', { action: 'error' });
    await expect(pay(session, [hsa, credit])).rejects.toThrow();
    turnFailpointsOff();
    await fixture.cancelAtProcessor(session, 'health');
    await sweepAll();
    expect((await reload(session))?.status).toBe('canceled');
    const intents = await fixture.test.admin(
      'select status, invoice_id, subscription_id from checkout.payment_intents where session_id = $1 order by status',
      [session.id],
    );
    expect(intents).toEqual([
      { status: 'canceled', invoice_id: null, subscription_id: null },
      { status: 'succeeded', invoice_id: null, subscription_id: null },
    ]);
  });

  it('is shown to the shopper at once when the hold is lost between the charge and the capture', async () => {
    const [hsa, credit] = await twoCards();
    const session = await fixture.mixedSession(hsa);
    const context = fixture.contextWith((port) => ({
      async captureIntent(id, input, call) {
        await port.cancelIntent(id, { idempotencyKey: `bank:${id}` });
        return port.captureIntent(id, input, call);
      },
    }));
    expect(await pay(session, [hsa, credit], context)).toMatchObject({
      status: 'canceled',
      amountReceivedCents: 6_000,
    });
    expect(await fixture.told(session)).toMatchObject({ 'command.refund': 1, 'checkout.session.expired': 1 });
  });

  it.each([
    { kind: 'rejected', code: 'charge_expired_for_capture', status: 400, param: undefined },
    { kind: 'declined', code: 'card_declined', declineCode: 'generic_decline', chargeId: undefined },
  ] as const)('is given up for certain after the capture was refused: $code', async (refusal) => {
    const [hsa, credit] = await twoCards();
    const session = await fixture.mixedSession(hsa);
    const context = fixture.contextWith(() => ({ captureIntent: async () => refusal }));
    expect(await pay(session, [hsa, credit], context)).toMatchObject({ status: 'canceled' });
    expect(await operations(session)).toEqual([{ kind: 'capture', status: 'failed', failure_code: refusal.code }]);
    expect(await captured(session)).toContainEqual([4_000, 0]);
  });

  it('is not treated as lost after an unrelated refusal, nor after a lost response', async () => {
    const [hsa, credit] = await twoCards();
    const session = await fixture.mixedSession(hsa);
    const refused = fixture.contextWith(() => ({
      captureIntent: async () => ({ kind: 'rejected', code: 'resource_missing', status: 404, param: undefined }),
    }));
    expect(await pay(session, [hsa, credit], refused)).toMatchObject({ status: 'open' });
    await sweepAll(refused);
    expect(await operations(session)).toMatchObject([{ kind: 'capture', status: 'pending' }]);
    await sweepAll();
    expect(await reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 10_000 });
  });

  it('is not given up before its intent is canceled: a capture that is still on its way would take it', async () => {
    const [hsa, credit] = await twoCards();
    const session = await fixture.mixedSession(hsa);
    const unknown = async () =>
      ({ kind: 'unknown', reason: 'timeout', mayHaveHappened: true, replayed: false }) as const;
    const refused = fixture.contextWith(() => ({
      captureIntent: async () => ({
        ...{ kind: 'rejected', code: 'charge_expired_for_capture', status: 400, param: undefined },
      }),
      cancelIntent: unknown,
    }));
    expect(await pay(session, [hsa, credit], refused)).toMatchObject({ status: 'open' });
    await sweepAll(refused);
    expect(await operations(session)).toMatchObject([{ kind: 'capture', status: 'pending' }]);
    expect(await reload(session)).toMatchObject({ status: 'open', amountReceivedCents: 6_000 });
    await sweepAll();
    expect(await reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 10_000 });
  });

  it('was captured all the same when the refusal came too late', async () => {
    const [hsa, credit] = await twoCards();
    const session = await fixture.mixedSession(hsa);
    const context = fixture.contextWith((port) => ({
      async captureIntent(id, input, call) {
        await port.captureIntent(id, input, call);
        return { kind: 'rejected', code: 'charge_expired_for_capture', status: 400, param: undefined };
      },
    }));
    expect(await pay(session, [hsa, credit], context)).toMatchObject({
      status: 'complete',
      amountReceivedCents: 10_000,
    });
  });
});

describe('a hold that was captured for another amount at the processor', () => {
  it('is left unsettled and logged as an error for manual review', async () => {
    const [hsa, credit] = await twoCards();
    const session = await fixture.mixedSession(hsa);
    const context = fixture.contextWith((port) => ({
      captureIntent: (id, input, call) => port.captureIntent(id, { ...input, amountCents: 3_000 }, call),
    }));
    expect(await pay(session, [hsa, credit], context)).toMatchObject({ status: 'open', amountReceivedCents: 6_000 });
    await sweepAll();
    expect(await operations(session)).toMatchObject([{ kind: 'capture', status: 'pending' }]);
    const refund = reserveRefund(fixture.context, fixture.scope, {
      refundId: newId('refund'),
      sessionId: session.id,
      paymentIntentId: null,
      instruction: whole,
      features: [],
      preview: false,
    });
    // Nothing is given back while the payment is in flight.
    await expect(refund).rejects.toMatchObject({ code: 'lock_timeout' });
  });
});

describe('a hold that is gone while the session waits for its capture', () => {
  const needsLetter = [line({ unitAmount: 3_000, class: 'letter_of_medical_necessity' }), line({ unitAmount: 2_000 })];
  const approve = async ({ id }: Session) => {
    const [letter] = await fixture.test.admin<{ id: string }>('select id from checkout.letters where session_id = $1', [
      id,
    ]);
    await decideLetter(fixture.context, fixture.scope, letter?.id ?? '', 'approved');
  };

  it('voids the other card’s hold and cancels the session: nothing was received, nothing is refunded', async () => {
    const [hsa, credit] = await twoCards();
    const session = await fixture.session({ lines: needsLetter });
    expect(await pay(session, [hsa, credit])).toMatchObject({ status: 'paid' });
    await fixture.cancelAtProcessor(session, 'health');
    await approve(session);
    await sweepAll();
    expect(await reload(session)).toMatchObject({ status: 'canceled', amountReceivedCents: 0 });
    expect(await operations(session)).toMatchObject([
      { kind: 'capture', status: 'failed' },
      { kind: 'capture', status: 'failed', failure_code: 'not_sent' },
      { kind: 'cancel', status: 'done' },
    ]);
    expect(await fixture.told(session)).toEqual({
      ...{ 'checkout.session.expired': 1, 'payment_intent.canceled': 2, 'payment_intent.created': 2 },
    });
  });

  it('cancels a confirmed session, whose hold was all that it had', async () => {
    const hsa = await fixture.card('hsa');
    const session = await fixture.session({ lines: needsLetter, customerId: hsa.customerId });
    await fixture.confirm(session, hsa);
    await fixture.cancelAtProcessor(session, 'health');
    await approve(session);
    await sweepAll();
    expect(await reload(session)).toMatchObject({ status: 'canceled', amountReceivedCents: 0 });
    expect(await fixture.told(session)).toMatchObject({ 'checkout.session.expired': 1, 'payment_intent.canceled': 1 });
  });
});

describe('the time for a hold', () => {
  it('is that of its lease: the look at the intent after a lost answer gets what the capture has left', async () => {
    const [hsa, credit] = await twoCards();
    const session = await fixture.mixedSession(hsa);
    const given: number[] = [];
    const note = (call: { timeoutMs?: number | undefined } | undefined) => given.push(call?.timeoutMs ?? Number.NaN);
    let slow = 0;
    const context = fixture.contextWith((port: ProcessorPort) => ({
      async captureIntent(_id, _input, call) {
        note(call);
        const begunMs = performance.now();
        // Whatever it takes, the next call must not be given it again.
        await port.retrieveCharge('ch_none');
        slow = performance.now() - begunMs;
        return { kind: 'unknown', reason: 'timeout', mayHaveHappened: true, replayed: false };
      },
      retrieveIntent(id, call) {
        note(call);
        return port.retrieveIntent(id, call);
      },
    }));
    await pay(session, [hsa, credit], context);
    expect(given).toHaveLength(2);
    expect(given[1]).toBeLessThanOrEqual(Math.max((given[0] ?? 0) - Math.floor(slow), 0));
  });
});

async function refundCommand(session: Session) {
  const rows = await fixture.test.admin<{ payload: Buffer }>(
    "select payload from checkout.outbox where aggregate_id = $1 and type = 'command.refund'",
    [session.id],
  );
  const { object } = fromBinary(EventSchema, rows[0]?.payload ?? Buffer.alloc(0));
  if (object.case !== 'refundRequested') throw new Error('no refund command');
  const { operationId, subject, amountCents, reason } = object.value;
  return { operationId, subject, amountCents, reason };
}

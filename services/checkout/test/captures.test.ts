import { withTx } from '@eligo/postgres';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import { decideLetter } from '../src/actions/decide-letter.ts';
import { requestCaptureOfHolds } from '../src/actions/request-capture.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { findCaptureRecord, listCaptures } from '../src/store/capture-records.ts';
import { findIntents } from '../src/store/payment-intents.ts';
import { loadSession, lockSession } from '../src/store/sessions.ts';
import { type ChargingWorld, openChargingWorld } from './charging-world.ts';
import { line, start } from './world.ts';

let world: ChargingWorld;
beforeAll(async () => {
  world = await openChargingWorld();
});
afterAll(() => world.close());
afterEach(() => world.clearFaults());

const twoCards = () => Promise.all([world.card('hsa'), world.card('credit')]);
const pay = (session: Session, cards: PaymentMethod[]) =>
  completeSession(world.charging, world.scope, {
    sessionId: session.id,
    paymentMethodIds: cards.map((card) => card.id),
    shippingDetails: null,
  });
const reload = async (session: Session) => {
  const found = await loadSession(world.database, world.scope, session.id);
  if (found === undefined) throw new Error('the session is gone');
  return found;
};
const captured = async (session: Session) =>
  (await world.charges(session)).map((charge) => [charge.amount, charge.amount_captured]).sort();
const approveLetter = (session: Session) =>
  withTx(world.database, world.scope, async (tx) => {
    const locked = await lockSession(tx, world.scope, session.id);
    if (locked === undefined) throw new Error('the session is gone');
    await requestCaptureOfHolds(tx, world.scope, locked, start);
  });

async function sweepAll(): Promise<void> {
  for (let round = 0; round < 4; round++) {
    await world.lapseLeases();
    await sweepCharges(world.charging);
  }
}

async function recordOf(session: Session, index = 0) {
  const id = (await reload(session)).captureIds[index];
  if (id === undefined) throw new Error('the session has no such capture');
  return findCaptureRecord(world.database, world.scope, id);
}

const held = () =>
  world.session({
    lines: [line({ unitAmount: 3_000, class: 'auto_substantiation' }), line({ unitAmount: 2_000 })],
    captureMethod: 'manual',
  });

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
    const [plan] = await world.test.admin('select state from checkout.payment_plans where session_id = $1', [
      session.id,
    ]);
    expect(plan).toEqual({ state: 'done' });
    expect(await world.told(session)).toEqual({
      ...{ 'checkout.session.completed': 1, 'payment_intent.created': 2, 'payment_intent.succeeded': 2 },
    });
  });

  it('captures the hold of a confirmed session', async () => {
    const hsa = await world.card('hsa');
    const lines = [line({ unitAmount: 3_000, class: 'letter_of_medical_necessity' }), line({ unitAmount: 2_000 })];
    const session = await world.session({ lines, customerId: hsa.customerId });
    await world.confirm(session, hsa);
    const [letter] = await world.test.admin<{ id: string }>('select id from checkout.letters where session_id = $1', [
      session.id,
    ]);
    await decideLetter(world.charging, world.scope, letter?.id ?? '', 'approved');
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
    const session = await world.mixedSession(hsa);
    await pay(session, [hsa, credit]);
    await expect(approveLetter(session)).rejects.toMatchObject({ code: 'checkout_session_not_capturable' });
    const waiting = await held();
    await pay(waiting, [hsa, credit]);
    const rolledBack = withTx(world.database, world.scope, async (tx) => {
      const locked = await lockSession(tx, world.scope, waiting.id);
      if (locked !== undefined) await requestCaptureOfHolds(tx, world.scope, locked, start);
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
      await world.fault({ call: 'payment_intents.capture', kind, times: 1 });
      await world.fault({ call: 'payment_intents.retrieve', kind: 'drop_after', times: 1 });
    }
    for (let round = 0; round < 4; round++) await sweepAll();
    expect(await reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 5_000 });
    expect(await captured(session)).toEqual([
      [2_000, 2_000],
      [3_000, 3_000],
    ]);
    expect(await world.told(session)).toMatchObject({ 'payment_intent.succeeded': 2, 'checkout.session.completed': 1 });
  });
});

describe('a capture of two cards', () => {
  it('refunds the first card and cancels the session when the second hold is lost [D14.29]', async () => {
    const [hsa, credit] = await twoCards();
    const session = await held();
    await pay(session, [hsa, credit]);
    await world.cancelAtProcessor(session, 'other');
    await approveLetter(session);
    await sweepAll();
    expect(await reload(session)).toMatchObject({ status: 'canceled', amountReceivedCents: 3_000, captureIds: [] });
    expect(await world.told(session)).toMatchObject({ 'command.refund': 1, 'checkout.session.expired': 1 });
  });
});

describe('the list of captures', () => {
  it('shows those that succeeded, newest first, of one session or one payment intent [END-1, REC-1]', async () => {
    const [hsa, credit] = await twoCards();
    const sessions: Session[] = [];
    for (let count = 0; count < 2; count++) {
      const session = await world.mixedSession(hsa);
      sessions.push(await pay(session, [hsa, credit]));
    }
    const pending = await held();
    await pay(pending, [hsa, credit]);
    await approveLetter(pending);
    const list = async (of: { sessionId?: string; paymentIntentId?: string | undefined }) =>
      (await listCaptures(world.database, world.scope, { limit: 100 }, of)).captures.map(({ id }) => id);
    const ids = sessions.map(({ captureIds }) => captureIds[0]);
    expect((await list({})).slice(0, 2)).toEqual([ids[1], ids[0]]);
    expect(await list({ sessionId: sessions[0]?.id ?? '' })).toEqual([ids[0]]);
    expect(await list({ sessionId: pending.id })).toEqual([]);
    expect(await list({ paymentIntentId: sessions[0]?.paymentIntentIds[0] })).toEqual([ids[0]]);
    // The other card was charged at once.
    expect(await list({ paymentIntentId: sessions[0]?.paymentIntentIds[1] })).toEqual([]);
    const [unsettled] = await world.test.admin<{ id: string }>(
      'select id from checkout.captures where session_id = $1',
      [pending.id],
    );
    expect(await findCaptureRecord(world.database, world.scope, unsettled?.id ?? '')).toBeUndefined();
    await sweepAll();
    expect(await list({ sessionId: pending.id })).toEqual([unsettled?.id]);
  });
});

describe('a payment on the page', () => {
  it('has a capture of the health card’s hold, with its lines and components [D14.65]', async () => {
    const [hsa, credit] = await twoCards();
    const session = await world.mixedSession(hsa, { taxAmountCents: 1_000n });
    const paid = await pay(session, [hsa, credit]);
    expect(paid).toMatchObject({ status: 'complete', captureIds: [expect.stringMatching(/^fcap_/)] });
    expect(await recordOf(session)).toMatchObject({
      ...{ cause: 'page', amountCents: 4_400, taxCents: 400, isFinal: true },
      lines: [{ amountCents: 4_400, paymentIntentId: paid.paymentIntentIds[0] }],
    });
    const intents = await findIntents(world.database, world.scope, paid.paymentIntentIds);
    expect(intents.map((intent) => [intent.status, intent.amountReceivedCents])).toEqual([
      ['succeeded', 4_400],
      ['succeeded', 6_600],
    ]);
  });

  it('finishes a capture that the release before this one began, and makes its record', async () => {
    const [hsa, credit] = await twoCards();
    const session = await world.mixedSession(hsa);
    await world.fault({ call: 'payment_intents.capture', kind: 'drop_before', times: 1 });
    await world.fault({ call: 'payment_intents.retrieve', kind: 'drop_before', times: 1 });
    expect(await pay(session, [hsa, credit])).toMatchObject({ status: 'open' });
    // As that release wrote it.
    await world.test.admin(
      'update checkout.intent_operations set capture_id = null where capture_id is not null and status = $1',
      ['pending'],
    );
    await world.test.admin(
      'delete from checkout.capture_lines c using checkout.captures k where k.id = c.capture_id and k.session_id = $1',
      [session.id],
    );
    await world.test.admin('delete from checkout.captures where session_id = $1', [session.id]);
    await sweepAll();
    expect(await reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 10_000 });
    expect(await recordOf(session)).toMatchObject({
      cause: 'page',
      amountCents: 4_000,
      lines: [{ amountCents: 4_000 }],
    });
  });
});

import { withTx } from '@eligo/postgres';
import { armFailpoint, releaseFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { createCustomer } from '../src/actions/create-customer.ts';
import { cancelSession } from '../src/actions/end-session.ts';
import { reserveRefund } from '../src/actions/reserve-refund.ts';
import type { Context } from '../src/context.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import type { ChargeFailpoint } from '../src/failpoints.ts';
import { expireSessions } from '../src/jobs/expire-sessions.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { loadSession } from '../src/store/sessions.ts';
import { mirrorTestClock } from '../src/store/test-clocks.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line, start } from './fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());
afterEach(async () => {
  turnFailpointsOff();
  fixture.clock.set(start);
  await fixture.clearFaults();
});

const inUse = { code: 'idempotency_key_in_use' };
const toldLate = {
  ...{ 'payment_intent.created': 1, 'payment_intent.canceled': 1, 'checkout.session.async_payment_failed': 1 },
};
const down = () => fixture.contextWith(() => ({ isDown: () => true }));
const reload = (session: Session) => loadSession(fixture.database, fixture.scope, session.id);
const sweep = async (context: Context = fixture.context) => {
  await fixture.lapseLeases();
  await sweepCharges(context);
};
const attemptsOf = (session: Session) =>
  fixture.test.admin<{ id: string; status: string; failure_code: string | null; processor_intent_id: string }>(
    `select id, status, failure_code, processor_intent_id, checks from checkout.charge_attempts where subject_id = $1
     order by created_at`,
    [session.id],
  );
const statusesOf = async (session: Session) => (await attemptsOf(session)).map(({ status }) => status);
const atProcessor = async (session: Session) => {
  const [attempt] = await attemptsOf(session);
  return (await fixture.context.processors.of(fixture.scope).retrieveIntent(attempt?.processor_intent_id ?? '')).kind;
};
// The time to confirm is over by the database's clock, as it is a few minutes after the claim.
const comeTooLate = (session: Session) =>
  fixture.test.admin(
    `update checkout.charge_attempts set confirm_until = least(confirm_until, now() - interval '1 second')
     where subject_id = $1`,
    [session.id],
  );
// The session's own time is over, and nobody has expired it yet.
const outlive = (session: Session) => fixture.clock.set(new Date(session.expiresAt.getTime() + 1));
const captured = async (session: Session) =>
  (await fixture.charges(session)).filter(({ amount_captured }) => amount_captured > 0).length;

interface Begun {
  readonly card: PaymentMethod & { customerId: string };
  readonly session: Session;
}
async function begin(cardName = 'hsa', parts: Parameters<ChargingFixture['mixedSession']>[1] = {}): Promise<Begun> {
  const card = await fixture.card(cardName);
  return { card, session: await fixture.mixedSession(card, parts) };
}

// Each leaves an attempt that has passed its fence and moved nothing.
const ways: Record<string, (begun: Begun, key: string) => Promise<void>> = {
  async 'a process that dies after its fence'({ session, card }, key) {
    turnFailpointsOn();
    armFailpoint('charge.fence_passed', { action: 'error' });
    // It gives nothing back, as a process that is killed.
    const context = { ...fixture.context, database: lostDatabase() };
    await expect(fixture.confirm(session, card, { key }, context)).rejects.toThrow();
    turnFailpointsOff();
    expect(await statusesOf(session)).toEqual(['sending']);
  },
  async 'a send that is lost'({ session, card }, key) {
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_before', times: 1 });
    await expect(fixture.confirm(session, card, { key })).rejects.toMatchObject(inUse);
  },
  async 'a processor that is down for hours'({ session, card }, key) {
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_before', times: 1 });
    await expect(fixture.confirm(session, card, { key })).rejects.toMatchObject(inUse);
    await comeTooLate(session);
    for (let round = 0; round < 3; round++) await sweep(down());
    expect(await attemptsOf(session)).toMatchObject([{ status: 'unknown', checks: 1 }]);
  },
};

// The claim and the fence are written by the process's groups. What follows them would give the attempt and the key back.
function lostDatabase() {
  const database = fixture.test.open('checkout', { max: 1 });
  database.checkOut = () => Promise.reject(new Error('the process is dead'));
  return database;
}

describe.each(Object.entries(ways))('a charge that did not set out in time because of %s', (name, unsent) => {
  it('is canceled at the processor, and its key charges a new intent [D14.30]', async () => {
    const begun = await begin();
    const { session, card } = begun;
    await unsent(begun, name);
    await comeTooLate(session);
    await sweep();
    expect(await fixture.charges(session)).toEqual([]);
    expect(await atProcessor(session)).toBe('canceled');
    expect(await attemptsOf(session)).toMatchObject([{ status: 'abandoned', failure_code: 'canceled_late' }]);
    expect(await fixture.told(session)).toEqual(toldLate);

    expect((await fixture.confirm(session, card, { key: name })).session?.status).toBe('complete');
    const [first, second] = await attemptsOf(session);
    expect(second?.processor_intent_id).not.toBe(first?.processor_intent_id);
    expect(await captured(session)).toBe(1);
  });

  it('lets another key in once that is certain', async () => {
    const begun = await begin();
    const { session, card } = begun;
    await unsent(begun, `${name}, first`);
    await comeTooLate(session);
    await expect(fixture.confirm(session, card, { key: `${name}, other` })).rejects.toMatchObject({
      code: 'lock_timeout',
    });
    await sweep();
    expect((await fixture.confirm(session, card, { key: `${name}, other` })).session?.status).toBe('complete');
    await expect(fixture.confirm(session, card, { key: `${name}, first` })).rejects.toMatchObject({
      code: 'checkout_session_already_processed',
    });
    expect(await captured(session)).toBe(1);
  });

  it('is never charged when the session has ended meanwhile: its key says so, and the session expires [D14.30]', async () => {
    const begun = await begin();
    const { session, card } = begun;
    await unsent(begun, `${name}, ended`);
    outlive(session);
    await sweep();
    expect(await fixture.charges(session)).toEqual([]);
    expect(await statusesOf(session)).toEqual(['abandoned']);
    await expireSessions(fixture.context).run(new AbortController().signal);
    expect((await reload(session))?.status).toBe('expired');
    await expect(fixture.confirm(session, card, { key: `${name}, ended` }, down())).rejects.toMatchObject({
      code: 'checkout_session_expired',
    });
  });
});

describe('a charge that came too late', () => {
  async function lost(begun: Begun, key: string, kind = 'drop_before'): Promise<void> {
    await fixture.fault({ call: 'payment_intents.confirm', kind, times: 1 });
    await expect(fixture.confirm(begun.session, begun.card, { key })).rejects.toMatchObject(inUse);
  }

  it('is canceled by its own key, too, which then starts a new attempt', async () => {
    const begun = await begin();
    await lost(begun, 'own key');
    await comeTooLate(begun.session);
    await expect(fixture.confirm(begun.session, begun.card, { key: 'own key' })).rejects.toMatchObject(inUse);
    expect(await statusesOf(begun.session)).toEqual(['abandoned']);
    expect((await fixture.confirm(begun.session, begun.card, { key: 'own key' })).session?.status).toBe('complete');
    expect(await captured(begun.session)).toBe(1);
  });

  it('is not confirmed by a process that has slept since its fence', async () => {
    const { session, card } = await begin();
    turnFailpointsOn();
    armFailpoint('charge.fence_passed', { action: 'pause' });
    const sleeping = fixture.confirm(session, card, { key: 'sleeping' });
    await fixture.sending(session);
    await comeTooLate(session);
    await sweep();
    expect(await statusesOf(session)).toEqual(['abandoned']);
    releaseFailpoint('charge.fence_passed');
    await expect(sleeping).rejects.toMatchObject(inUse);
    expect(await fixture.charges(session)).toEqual([]);
    turnFailpointsOff();
    expect((await fixture.confirm(session, card, { key: 'sleeping' })).session?.status).toBe('complete');
    expect(await captured(session)).toBe(1);
  });

  it('that was never sent is given up by its own key, which charges a new intent at once', async () => {
    const { session, card } = await begin();
    await fixture.fault({ call: 'payment_intents.create', kind: 'drop_before', times: 1 });
    await expect(fixture.confirm(session, card, { key: 'unsent' })).rejects.toMatchObject(inUse);
    await comeTooLate(session);
    expect((await fixture.confirm(session, card, { key: 'unsent' })).session?.status).toBe('complete');
    expect(await statusesOf(session)).toEqual(['abandoned', 'succeeded']);
    expect(await captured(session)).toBe(1);
  });

  it('ends with its session’s time on a test clock that is moved [D14.30]', async () => {
    const clock = newId('test_clock');
    const move = (time: Date) =>
      withTx(fixture.database, fixture.scope, (tx) => mirrorTestClock(tx, fixture.scope, clock, time, null));
    await move(start);
    const { customerId } = await createCustomer(fixture.context, fixture.scope, {
      ...{ firstName: null, lastName: null, email: null, phone: null, employer: null, shipping: null, metadata: {} },
      testClockId: clock,
    });
    const card = await fixture.card('hsa', { customerId });
    const session = await fixture.mixedSession(card);
    await lost({ session, card }, 'on a clock');
    await move(new Date(session.expiresAt.getTime() + 1));
    await sweep();
    expect(await statusesOf(session)).toEqual(['abandoned']);
    await expect(fixture.confirm(session, card, { key: 'on a clock' })).rejects.toMatchObject({
      code: 'checkout_session_expired',
    });
    expect(await fixture.charges(session)).toEqual([]);
  });

  it('has at most the time that is left of its session', async () => {
    const { session, card } = await begin();
    fixture.clock.set(new Date(session.expiresAt.getTime() - 5_000));
    await lost({ session, card }, 'short');
    const [left] = await fixture.test.admin<{ from_begin: string; from_now: string }>(
      `select extract(epoch from confirm_until - created_at) as from_begin, extract(epoch from confirm_until - now()) as from_now
       from checkout.charge_attempts where subject_id = $1`,
      [session.id],
    );
    // The time begins with the claim, which lies between the two.
    expect(Number(left?.from_begin)).toBeGreaterThanOrEqual(5);
    expect(Number(left?.from_now)).toBeLessThan(5);
  });

  it('is settled when it was charged in time, while its session takes payments', async () => {
    const begun = await begin();
    await lost(begun, 'charged', 'drop_after');
    await comeTooLate(begun.session);
    await sweep();
    expect(await reload(begun.session)).toMatchObject({ status: 'complete', amountReceivedCents: 4_000 });
    expect((await fixture.confirm(begun.session, begun.card, { key: 'charged' })).session?.status).toBe('complete');
    expect(await captured(begun.session)).toBe(1);
  });

  it.each([
    ['expired', 'by its time', async (session: Session) => outlive(session)],
    [
      'canceled',
      'by a statement',
      async (session: Session) =>
        void (await fixture.test.admin(
          "update checkout.sessions set status = 'canceled', ended_at = now() where id = $1",
          [session.id],
        )),
    ],
  ])('is recorded and given back, once, when its session has %s %s', async (status, _how, end) => {
    const begun = await begin();
    const { session, card } = begun;
    await lost(begun, `charged ${status}`, 'drop_after');
    await end(session);
    await comeTooLate(session);
    for (let round = 0; round < 2; round++) await sweep();
    expect(await reload(session)).toMatchObject({ status, amountReceivedCents: 4_000, amountRefundedCents: 0 });
    expect(await fixture.told(session)).toMatchObject({ 'command.refund': 1, 'payment_intent.succeeded': 1 });
    expect((await fixture.told(session))['checkout.session.completed']).toBeUndefined();
    await expect(fixture.confirm(session, card, { key: `charged ${status}` })).rejects.toMatchObject({
      code: `checkout_session_${status}`,
    });
    const reserved = await reserveRefund(fixture.context, fixture.scope, {
      ...{ refundId: newId('refund'), sessionId: session.id, paymentIntentId: null, features: [], preview: false },
      instruction: {
        ...{ amount: undefined, entries: [], tax: undefined, shipping: undefined, discount: undefined, methods: [] },
      },
    });
    expect(reserved.cards).toMatchObject([{ amountCents: 4_000 }]);
    expect(await fixture.test.admin('select 1 from checkout.payment_locks where id = $1', [card.id])).toEqual([]);
  });

  it('has its hold voided, and its key creates a new hold', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.session({
      lines: [line({ unitAmount: 3_000, class: 'letter_of_medical_necessity' })],
      customerId: card.customerId,
    });
    await lost({ card, session }, 'held', 'drop_after');
    await comeTooLate(session);
    await sweep();
    expect(await atProcessor(session)).toBe('canceled');
    expect(await reload(session)).toMatchObject({ status: 'open', amountReceivedCents: 0 });
    expect((await fixture.confirm(session, card, { key: 'held' })).session?.status).toBe('paid');
  });

  it('is declined when the card had said no [D14.30]', async () => {
    const begun = await begin('insufficient_funds');
    await lost(begun, 'declined', 'drop_after');
    await comeTooLate(begun.session);
    await sweep();
    expect(await atProcessor(begun.session)).toBe('canceled');
    await expect(fixture.confirm(begun.session, begun.card, { key: 'declined' })).rejects.toMatchObject({
      status: 402,
    });
  });

  it('stays unknown while the processor does not know it, and keeps its session from ending', async () => {
    const begun = await begin();
    await lost(begun, 'not found');
    await comeTooLate(begun.session);
    const missing = { kind: 'rejected', code: 'resource_missing', status: 404, param: undefined } as const;
    const forgetful = fixture.contextWith(() => ({
      retrieveIntent: async () => missing,
      cancelIntent: async () => missing,
    }));
    await sweep(forgetful);
    expect(await statusesOf(begun.session)).toEqual(['unknown']);
    await expect(cancelSession(fixture.context, fixture.scope, begun.session.id)).rejects.toMatchObject({
      code: 'lock_timeout',
    });
    await sweep();
    expect(await statusesOf(begun.session)).toEqual(['abandoned']);
  });

  it.each(['drop_before', 'drop_after', 'error_before', 'error_after'])(
    'stays unknown until its cancellation is answered: %s [D14.30]',
    async (kind) => {
      const begun = await begin();
      await lost(begun, `cancel ${kind}`);
      await comeTooLate(begun.session);
      await fixture.fault({ call: 'payment_intents.cancel', kind, times: 1 });
      await sweep();
      expect(await statusesOf(begun.session)).toEqual(['unknown']);
      await sweep();
      expect(await statusesOf(begun.session)).toEqual(['abandoned']);
      expect(await atProcessor(begun.session)).toBe('canceled');
    },
  );

  it('is asked about again without counting it when the processor has no time for its cancellation', async () => {
    const begun = await begin();
    await lost(begun, 'no time');
    await comeTooLate(begun.session);
    await fixture.fault({ call: 'payment_intents.cancel', kind: 'rate_limited', delay_ms: 7_000, times: 1 });
    await sweep();
    expect(await attemptsOf(begun.session)).toMatchObject([{ status: 'unknown', checks: 1 }]);
    await sweep();
    expect(await statusesOf(begun.session)).toEqual(['abandoned']);
  });

  const places: ChargeFailpoint[] = ['late.processor_answered', 'late.before_abandon_commit', 'late.abandoned'];
  it.each(places)('converges when its cancellation fails at %s', async (place) => {
    const begun = await begin();
    await lost(begun, place);
    await comeTooLate(begun.session);
    turnFailpointsOn();
    armFailpoint(place, { action: 'error' });
    await sweep();
    turnFailpointsOff();
    await sweep();
    expect(await fixture.told(begun.session)).toEqual(toldLate);
    expect((await fixture.confirm(begun.session, begun.card, { key: place })).session?.status).toBe('complete');
    expect(await captured(begun.session)).toBe(1);
  });

  it.each(['late.processor_answered', 'late.before_give_back_commit', 'late.given_back'] as const)(
    'is given back once when that fails at %s',
    async (place) => {
      const begun = await begin();
      await lost(begun, place, 'drop_after');
      outlive(begun.session);
      turnFailpointsOn();
      armFailpoint(place, { action: 'error' });
      await sweep();
      turnFailpointsOff();
      for (let round = 0; round < 2; round++) await sweep();
      expect(await reload(begun.session)).toMatchObject({ status: 'expired', amountReceivedCents: 4_000 });
      expect(await fixture.told(begun.session)).toMatchObject({ 'command.refund': 1, 'checkout.session.expired': 1 });
    },
  );
});

import { requestHash, withTx } from '@eligo/postgres';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { untilLockWait, waitUntil } from '@eligo/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { confirmSession } from '../src/actions/confirm-session.ts';
import { cancelSession, expireSession } from '../src/actions/end-session.ts';
import type { Context } from '../src/context.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import type { ChargeFailpoint } from '../src/failpoints.ts';
import { expireSessions } from '../src/jobs/expire-sessions.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { claimAttempt, liveAttempts } from '../src/store/charge-attempts.ts';
import { countChargeWork } from '../src/store/charge-work.ts';
import { loadSession, lockSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line, shortBudgets, start } from './fixture.ts';
import { pay as payOnPage } from './pay.ts';

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

const down = () => fixture.contextWith(() => ({ isDown: () => true }));
const pay = (session: Session, cards: PaymentMethod[], context: Context = fixture.context) =>
  payOnPage({ ...fixture, context }, session, cards);
const twoCards = () => Promise.all([fixture.card('hsa'), fixture.card('credit')]);
const reload = (session: Session) => loadSession(fixture.database, fixture.scope, session.id);
const attemptsOf = (session: Session) =>
  fixture.test.admin<{ id: string; status: string; checks: number; sends: number }>(
    'select id, status, checks, sends from checkout.charge_attempts where subject_id = $1 order by id',
    [session.id],
  );
const planOf = async ({ id }: Session) => {
  const [plan] = await fixture.test.admin<{ state: string; tries: number; seconds: string }>(
    `select state, tries, extract(epoch from next_check_at - lease_until) as seconds from checkout.payment_plans
     where session_id = $1`,
    [id],
  );
  return plan;
};
const sweep = async (context: Context = fixture.context) => {
  await fixture.lapseLeases();
  await sweepCharges(context);
};
const confirmIn = (context: Context, session: Session, card: PaymentMethod, key: string, body = card.id) =>
  confirmSession(context, fixture.scope, {
    ...{ sessionId: session.id, paymentMethodId: card.id, captureMethod: null, expand: [], features: [], key },
    requestHash: requestHash({ method: 'POST', path: session.id, body }),
  });

// The payment was begun, and the processor was gone before anything was sent.
async function begunPayment(): Promise<Session> {
  const [hsa, credit] = await twoCards();
  const session = await fixture.mixedSession(hsa);
  await fixture.fault({ call: 'payment_intents.create', kind: 'drop_before', times: 1 });
  expect((await pay(session, [hsa, credit])).status).toBe('open');
  return session;
}

describe('a payment on the page while the processor is down', () => {
  it('resumes with the same attempt once the processor is back, and publishes nothing meanwhile [D14.31]', async () => {
    const session = await begunPayment();
    const [begun] = await attemptsOf(session);
    for (let round = 0; round < 5; round++) await sweep(down());
    expect(await attemptsOf(session)).toEqual([begun]);
    expect(await fixture.told(session)).toEqual({ 'payment_intent.created': 1 });
    await sweep();
    await sweep();
    expect(await reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 10_000 });
    expect(await fixture.told(session)).toEqual({
      'checkout.session.async_payment_succeeded': 1,
      'checkout.session.completed': 1,
      'payment_intent.created': 2,
      'payment_intent.succeeded': 2,
    });
    expect((await attemptsOf(session))[0]?.id).toBe(begun?.id);
  });

  it('resumes with the same attempt when calls fail one by one, too', async () => {
    const session = await begunPayment();
    await fixture.fault({ call: 'payment_intents.create', kind: 'error_before', times: 2 });
    for (let round = 0; round < 2; round++) await sweep();
    expect(await attemptsOf(session)).toMatchObject([{ status: 'created', checks: 3, sends: 0 }]);
    expect(await fixture.told(session)).toEqual({ 'payment_intent.created': 1 });
    await sweep();
    expect((await reload(session))?.status).toBe('complete');
  });

  it('is looked at later and later, up to half a minute, and at once when something of it is settled [D14.31]', async () => {
    const session = await begunPayment();
    const waits: number[] = [Number((await planOf(session))?.seconds)];
    for (let round = 0; round < 6; round++) {
      await sweep(down());
      waits.push(Number((await planOf(session))?.seconds));
    }
    expect(waits.map(Math.round)).toEqual([1, 2, 4, 8, 16, 30, 30]);
    await fixture.fault({ call: 'payment_intents.capture', kind: 'drop_before', times: 1 });
    await sweep();
    expect((await planOf(session))?.tries).toBe(1);
    await fixture.test.admin(
      `with plan as (update checkout.payment_plans set next_check_at = now() + interval '1 hour' where session_id = $1)
       update checkout.intent_operations set next_check_at = now() - interval '1 second' where status = 'pending'`,
      [session.id],
    );
    const isWoken = async () => {
      await sweepCharges(fixture.context);
      return (await planOf(session))?.state === 'done';
    };
    await waitUntil(isWoken, { what: 'the plan that is woken' });
  });

  it('is refused before anything is written, but not where nothing is to be charged [D14.31]', async () => {
    const [hsa, credit] = await twoCards();
    const session = await fixture.mixedSession(hsa);
    await expect(pay(session, [hsa, credit], down())).rejects.toMatchObject({
      code: 'lock_timeout',
      retryAfterSeconds: 5,
    });
    expect(await planOf(session)).toBeUndefined();
    const free = await fixture.session({ lines: [line({ unitAmount: 0 })] });
    expect(await pay(free, [credit], down())).toMatchObject({ status: 'complete' });
  });

  it('does not take its second card either, and keeps the first one’s hold', async () => {
    const [hsa, credit] = await twoCards();
    const session = await fixture.mixedSession(hsa);
    await pay(session, [hsa]);
    await expect(pay(session, [credit], down())).rejects.toMatchObject({ code: 'lock_timeout' });
    expect(await planOf(session)).toMatchObject({ state: 'awaiting_second_card' });
    expect(await pay(session, [credit])).toMatchObject({ status: 'complete' });
  });

  it('ends with its session: what was not sent is given up, and never charged later [D14.31]', async () => {
    const session = await begunPayment();
    await fixture.lapseLeases();
    expect((await cancelSession(fixture.context, fixture.scope, session.id)).status).toBe('canceled');
    for (let round = 0; round < 2; round++) await sweep();
    expect(await attemptsOf(session)).toMatchObject([{ status: 'abandoned', sends: 0 }]);
    expect(await planOf(session)).toMatchObject({ state: 'failed' });
    expect(await fixture.charges(session)).toEqual([]);
    expect(await fixture.told(session)).toEqual({
      ...{ 'checkout.session.expired': 1, 'payment_intent.canceled': 1, 'payment_intent.created': 1 },
    });
  });
});

describe('a charge with an unknown outcome', () => {
  it('is not looked at later and later for as long as the processor is known to be down', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
    await expect(fixture.confirm(session, card)).rejects.toMatchObject({ code: 'idempotency_key_in_use' });
    for (let round = 0; round < 5; round++) await sweep(down());
    expect(await attemptsOf(session)).toMatchObject([{ status: 'unknown', checks: 1, sends: 1 }]);
    await sweep();
    expect((await reload(session))?.status).toBe('complete');
  });

  it('is counted for the metrics, with the plans and the holds that wait', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    const before = await countChargeWork(fixture.database, 0);
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
    await expect(fixture.confirm(session, card)).rejects.toThrow();
    const paged = await begunPayment();
    expect(await countChargeWork(fixture.database, 0)).toEqual({
      attemptsInDoubt: before.attemptsInDoubt + 1,
      plans: before.plans + 1,
      holds: before.holds,
    });
    expect((await countChargeWork(fixture.database, 300)).attemptsInDoubt).toBe(0);
    await sweep();
    await sweep();
    expect((await reload(paged))?.status).toBe('complete');
    expect(await countChargeWork(fixture.database, 0)).toEqual({ attemptsInDoubt: 0, plans: 0, holds: 0 });
  });
});

describe('the sweep after an outage', () => {
  it('goes round at once while a kind of work came back full, and not when nothing of it can be done', async () => {
    const card = await fixture.card('hsa');
    const sessions = await Promise.all(Array.from({ length: 25 }, () => fixture.mixedSession(card)));
    turnFailpointsOn();
    for (const session of sessions) {
      armFailpoint('confirm.claimed', { action: 'error' });
      await expect(fixture.confirm(session, card)).rejects.toThrow();
      await fixture.test.admin('delete from checkout.payment_locks');
    }
    await fixture.lapseLeases();
    const database = fixture.test.open('checkout', { max: 2 });
    database.checkOut = () => Promise.reject(new Error('no connection for a transaction'));
    expect(await sweepCharges({ ...fixture.context, database })).toBe(false);
    expect(await sweepCharges(fixture.context)).toBe(true);
    expect(await sweepCharges(fixture.context)).toBe(false);
    const statuses = await Promise.all(sessions.map(attemptsOf));
    expect(statuses.flat().every(({ status }) => status === 'abandoned')).toBe(true);
  });
});

describe('a confirm that fails itself', () => {
  const places: ChargeFailpoint[] = [
    'charge.intent_created',
    'charge.fence_passed',
    'charge.processor_answered',
    'charge.before_settle',
    'charge.before_settle_commit',
    'charge.settled',
  ];
  it.each(places)('at %s gives its key and its attempt back: the same key goes on at once', async (place) => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    turnFailpointsOn();
    armFailpoint(place, { action: 'error' });
    await expect(fixture.confirm(session, card, { key: place })).rejects.toThrow();
    turnFailpointsOff();
    const [left] = await attemptsOf(session);
    // What may have been sent is unknown, and neither failed nor forgotten.
    const expected = { 'charge.intent_created': 'created', 'charge.settled': 'succeeded' };
    expect(left?.status).toBe(expected[place as keyof typeof expected] ?? 'unknown');
    expect((await fixture.confirm(session, card, { key: place })).session?.status).toBe('complete');
    expect(await fixture.charges(session)).toHaveLength(1);
  });

  it('lets no other key in meanwhile', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    turnFailpointsOn();
    armFailpoint('charge.processor_answered', { action: 'error' });
    await expect(fixture.confirm(session, card, { key: 'first' })).rejects.toThrow();
    turnFailpointsOff();
    await expect(fixture.confirm(session, card, { key: 'second' })).rejects.toMatchObject({ code: 'lock_timeout' });
    expect((await fixture.confirm(session, card, { key: 'first' })).session?.status).toBe('complete');
  });
});

describe('a key while the processor is known to be down', () => {
  it('is in use while its request is in flight, answers what is stored, and refuses another request', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    const answered = Promise.withResolvers<void>();
    const waiting = fixture.contextWith((port) => ({
      async confirmIntent(...call) {
        const answer = await port.confirmIntent(...call);
        await answered.promise;
        return answer;
      },
    }));
    const first = confirmIn(waiting, session, card, 'down');
    await fixture.sending(session);
    await expect(confirmIn(down(), session, card, 'down')).rejects.toMatchObject({ code: 'idempotency_key_in_use' });
    await expect(confirmIn(down(), session, card, 'new')).rejects.toMatchObject({ code: 'lock_timeout' });
    answered.resolve();
    const answer = await first;
    expect(await confirmIn(down(), session, card, 'down')).toEqual({ ...answer, replayed: true });
    await expect(confirmIn(down(), session, card, 'down', 'other')).rejects.toMatchObject({
      code: 'idempotency_key_reused',
    });
  });
});

describe('a charge that was begun and never sent', () => {
  // Its process has died, or its intent could not be made.
  async function unsent(key: string): Promise<{ session: Session; card: PaymentMethod }> {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    await fixture.fault({ call: 'payment_intents.create', kind: 'drop_before', times: 1 });
    await expect(fixture.confirm(session, card, { key })).rejects.toMatchObject({ code: 'idempotency_key_in_use' });
    return { session, card };
  }

  it('is never started by the sweeper: it is abandoned, and its key starts a new attempt [D14.31]', async () => {
    const { session, card } = await unsent('given up');
    await fixture.lapseLeases();
    await sweepCharges(fixture.context);
    expect(await fixture.charges(session)).toEqual([]);
    expect((await fixture.confirm(session, card, { key: 'given up' })).session?.status).toBe('complete');
    expect(await fixture.charges(session)).toHaveLength(1);
  });

  it('is abandoned only after the holder of its session, as a confirm does: neither then waits for the other', async () => {
    const { session } = await unsent('order');
    await fixture.lapseLeases();
    const locked = Promise.withResolvers<void>();
    const mayGoOn = Promise.withResolvers<void>();
    const retry = withTx(fixture.database, fixture.scope, async (tx) => {
      await lockSession(tx, fixture.scope, session.id);
      locked.resolve();
      await mayGoOn.promise;
      const [attempt] = await liveAttempts(tx, fixture.scope, 'session', session.id);
      return claimAttempt(tx, fixture.scope, attempt?.id ?? '', 4_000);
    });
    await locked.promise;
    const sweep = sweepCharges(fixture.context);
    await untilLockWait(fixture.test.admin, 'the sweeper at the session');
    mayGoOn.resolve();
    expect(await retry).toMatchObject({ status: 'created' });
    await sweep;
  });

  it('keeps its session neither from being canceled nor from being expired', async () => {
    for (const end of [cancelSession, expireSession]) {
      const { session, card } = await unsent(end.name);
      expect(['canceled', 'expired']).toContain((await end(fixture.context, fixture.scope, session.id)).status);
      expect(await attemptsOf(session)).toMatchObject([{ status: 'abandoned' }]);
      // Its key is finished, and not in progress forever.
      const [kept] = await fixture.test.admin<{ state: string }>(
        'select state from checkout.idempotency_keys where key = $1',
        [end.name],
      );
      expect(kept?.state).toBe('finished');
      const refused = end === cancelSession ? 'checkout_session_canceled' : 'checkout_session_expired';
      await expect(fixture.confirm(session, card, { key: end.name })).rejects.toMatchObject({ code: refused });
      expect(await fixture.charges(session)).toEqual([]);
    }
  });

  it('keeps it while somebody may still send it', async () => {
    const { session } = await unsent('held');
    await fixture.test.admin(
      "update checkout.charge_attempts set lease_until = now() + interval '1 minute' where subject_id = $1",
      [session.id],
    );
    await expect(cancelSession(fixture.context, fixture.scope, session.id)).rejects.toMatchObject({
      code: 'lock_timeout',
    });
    expect(await attemptsOf(session)).toMatchObject([{ status: 'created' }]);
  });

  it('does not keep the job from expiring its session', async () => {
    const { session } = await unsent('due');
    fixture.clock.set(new Date(session.expiresAt.getTime() + 1));
    await expireSessions(fixture.context).run(new AbortController().signal);
    expect((await reload(session))?.status).toBe('expired');
  });

  it('is not sent by its key once the session’s time is over', async () => {
    const { session, card } = await unsent('late');
    fixture.clock.set(new Date(session.expiresAt.getTime() + 1));
    await expect(fixture.confirm(session, card, { key: 'late' })).rejects.toMatchObject({
      code: 'checkout_session_expired',
    });
    expect(await attemptsOf(session)).toMatchObject([{ status: 'abandoned', sends: 0 }]);
  });

  it('waits for the customer and the card again, which another charge may hold by now', async () => {
    const { session, card } = await unsent('queue');
    await fixture.lapseLeases();
    await fixture.test.admin(
      `insert into checkout.payment_locks (account_id, test_mode, kind, id, attempt_id, lease_until)
       values ($1, true, 'payment_method', $2, 'another', now() + interval '1 minute')
       on conflict (account_id, test_mode, kind, id) do update set attempt_id = 'another', lease_until = excluded.lease_until`,
      [fixture.scope.accountId, card.id],
    );
    const hurried = { ...fixture.context, budgets: shortBudgets };
    const refused = fixture.confirm(session, card, { key: 'queue' }, hurried);
    await expect(refused).rejects.toMatchObject({ code: 'lock_timeout' });
    await fixture.test.admin("delete from checkout.payment_locks where attempt_id = 'another'");
    expect((await fixture.confirm(session, card, { key: 'queue' })).session?.status).toBe('complete');
  });
});

describe('a hold that is being voided', () => {
  it('does not keep its session from being canceled while the processor is down', async () => {
    const hsa = await fixture.card('hsa');
    const session = await fixture.mixedSession(hsa);
    await pay(session, [hsa]);
    await fixture.test.admin(
      "update checkout.payment_plans set release_at = now() - interval '1 second' where session_id = $1",
      [session.id],
    );
    await fixture.fault({ call: 'payment_intents.cancel', kind: 'drop_before', times: 1 });
    await sweepCharges(fixture.context);
    expect(await planOf(session)).toMatchObject({ state: 'releasing' });
    expect((await cancelSession(fixture.context, fixture.scope, session.id)).status).toBe('canceled');
    await sweep();
    expect(await attemptsOf(session)).toMatchObject([{ status: 'released' }]);
    expect(await fixture.told(session)).toMatchObject({ 'payment_intent.canceled': 1, 'checkout.session.expired': 1 });
  });
});

import { fromBinary } from '@bufbuild/protobuf';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { cancelSession, expireSession } from '../src/actions/end-session.ts';
import { setTestClock } from '../src/actions/set-test-clock.ts';
import { updateSession } from '../src/actions/update-session.ts';
import type { Session } from '../src/domain/session.ts';
import { expireSessions } from '../src/jobs/expire-sessions.ts';
import { settleCatalogTasks } from '../src/jobs/settle-catalog-tasks.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type Fixture, openFixture, start } from './fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
beforeEach(() => fixture.clock.set(start));
afterAll(() => fixture.close());

const HOUR = 3_600_000;
const never = new AbortController().signal;

describe('expire and cancel', () => {
  test('an open session expires, and the event carries it as it then is [EVT-2, SESS-5]', async () => {
    const { id } = await fixture.session();
    const ended = await expireSession(fixture.context, fixture.scope, id);
    expect(ended).toMatchObject({ status: 'expired', endedAt: start });
    expect(await eventsOf(id)).toMatchObject([{ type: 'checkout.session.expired', status: 'expired' }]);
    expect(await reload(id)).toEqual(ended);
  });

  test('a canceled session is announced by the same event [EVT-2, SESS-5]', async () => {
    const { id } = await fixture.session();
    await cancelSession(fixture.context, fixture.scope, id);
    expect(await eventsOf(id)).toMatchObject([{ type: 'checkout.session.expired', status: 'canceled' }]);
  });

  test('what has ended is not ended again, and says how it ended', async () => {
    const { id } = await fixture.session();
    await cancelSession(fixture.context, fixture.scope, id);
    await expect(cancelSession(fixture.context, fixture.scope, id)).rejects.toMatchObject({
      code: 'checkout_session_canceled',
    });
    await expect(expireSession(fixture.context, fixture.scope, id)).rejects.toMatchObject({
      code: 'checkout_session_not_open',
    });
    const missing = cancelSession(fixture.context, fixture.scope, 'fcs_none');
    await expect(missing).rejects.toMatchObject({ code: 'checkout_session_not_found' });
  });

  test('never after a capture', async () => {
    const { id } = await fixture.session();
    await fixture.test.admin(
      `with card as (
         insert into checkout.payment_intents (account_id, test_mode, id, session_id, leg, capture_method, status, amount_cents,
           amount_received_cents, created_at)
         values ($2, true, 'fpi_captured', $1, 'health', 'manual', 'succeeded', 500, 500, now())
       ), line as (update checkout.session_lines set amount_captured_cents = 500 where session_id = $1)
       update checkout.sessions set status = 'paid', amount_received_cents = 500 where id = $1`,
      [id, fixture.scope.accountId],
    );
    await expect(cancelSession(fixture.context, fixture.scope, id)).rejects.toMatchObject({
      code: 'checkout_session_already_processed',
    });
  });

  test('not while a charge is in flight: 503, and nothing is written [D14.16]', async () => {
    const { id } = await fixture.session();
    await liveAttempt(id);
    await expect(cancelSession(fixture.context, fixture.scope, id)).rejects.toMatchObject({ code: 'lock_timeout' });
    await expect(expireSession(fixture.context, fixture.scope, id)).rejects.toMatchObject({ code: 'lock_timeout' });
    expect((await reload(id)).status).toBe('open');
    expect(await eventsOf(id)).toEqual([]);
  });
});

describe('the job that expires due sessions', () => {
  test('expires what is due, leaves what is not, and skips what is being charged [D14.16]', async () => {
    const due = await fixture.session();
    const charged = await fixture.session();
    await liveAttempt(charged.id);
    fixture.clock.set(new Date(start.getTime() + 25 * HOUR));
    const fresh = await fixture.session();
    await expireSessions(fixture.context).run(never);
    expect((await reload(due.id)).status).toBe('expired');
    expect((await reload(charged.id)).status).toBe('open');
    expect((await reload(fresh.id)).status).toBe('open');
  });

  test('says when the next session is due', async () => {
    await fixture.test.admin(
      `update checkout.sessions set expires_at = created_at + interval '7 days' where status = 'open'`,
    );
    const at = new Date('2020-06-01T00:00:00.000Z');
    fixture.clock.set(at);
    await fixture.session();
    expect(await expireSessions(fixture.context).run(never)).toEqual({ dueInMs: 24 * HOUR });
  });

  test('a session of a customer on a test clock is due by that clock alone', async () => {
    const { createCustomer } = await import('../src/actions/create-customer.ts');
    const clockId = 'fclk_00000000000000000000000002';
    const frozenTime = new Date('2031-01-01T00:00:00.000Z');
    await setTestClock(fixture.context, fixture.scope, { testClockId: clockId, frozenTime, deleted: false });
    const customer = await createCustomer(
      fixture.context,
      fixture.scope,
      {
        ...{ firstName: null, lastName: null, email: null, phone: null, employer: null, shipping: null, metadata: {} },
        testClockId: clockId,
      },
      undefined,
    );
    const { id } = await fixture.session({ customerId: customer.customerId });
    fixture.clock.set(new Date('2040-01-01T00:00:00.000Z'));
    await expireSessions(fixture.context).run(never);
    expect((await reload(id)).status).toBe('open');
    const later = new Date(frozenTime.getTime() + 24 * HOUR);
    await setTestClock(fixture.context, fixture.scope, { testClockId: clockId, frozenTime: later, deleted: false });
    await expireSessions(fixture.context).run(never);
    expect(await reload(id)).toMatchObject({ status: 'expired', endedAt: later });
    // Nothing of the clock is due any more, so that it is looked at again only when it moves.
    expect(await isUnsettled(clockId)).toBe(false);
    await setTestClock(fixture.context, fixture.scope, { testClockId: clockId, frozenTime: later, deleted: false });
    expect(await isUnsettled(clockId)).toBe(true);
  });

  test('a clock never goes back, in whatever order its times arrive', async () => {
    const clockId = 'fclk_00000000000000000000000003';
    const set = (iso: string) =>
      setTestClock(fixture.context, fixture.scope, { testClockId: clockId, frozenTime: new Date(iso), deleted: false });
    await set('2031-02-01T00:00:00Z');
    await set('2031-01-01T00:00:00Z');
    const [row] = await fixture.test.admin('select frozen_time from checkout.test_clocks where id = $1', [clockId]);
    expect(row?.frozen_time).toEqual(new Date('2031-02-01T00:00:00Z'));
  });
});

describe('redemptions at the catalog', () => {
  const discounts = [
    {
      source: {
        case: 'couponId' as const,
        value: JSON.stringify({ couponId: 'fcoup_b', duration: 'once', percentOffBasisPoints: 500 }),
      },
    },
  ];
  // A second ago: now() is rounded to a millisecond that may still be to come.
  const makeDue = (id: string, from = '-1 second') =>
    fixture.test.admin('update checkout.catalog_tasks set due_at = now() + $2::interval where session_id = $1', [
      ...[id, from],
    ]);
  // By the database's clock, which the tasks go by.
  const now = async () => {
    const [row] = await fixture.test.admin<{ at: Date }>('select clock_timestamp() as at');
    return row?.at.getTime() ?? Number.NaN;
  };
  const dueAtOf = async (id: string) => {
    const [row] = await fixture.test.admin<{ at: Date }>(
      'select due_at as at from checkout.catalog_tasks where session_id = $1',
      [id],
    );
    return row?.at.getTime() ?? Number.NaN;
  };
  const job = () => settleCatalogTasks(fixture.context);

  test('are released when the session ends, also when the catalog is down at first [D14.12]', async () => {
    const { id } = await fixture.session({ discounts });
    await expireSession(fixture.context, fixture.scope, id);
    fixture.catalog.failNext('releaseRedemption', new Error('away'));
    const [before, , after] = [await now(), await job().run(never), await now()];
    expect(await tasksOf(id)).toMatchObject([{ kind: 'release', tries: 1 }]);
    const dueAt = await dueAtOf(id);
    expect(dueAt - before, 'the task is put off by a second').toBeGreaterThanOrEqual(999);
    expect(dueAt - after).toBeLessThanOrEqual(1_001);
    await makeDue(id, '1 hour');
    const { dueInMs } = (await job().run(never)) as { dueInMs: number };
    expect(dueInMs).toBeGreaterThan(0);
    expect(dueInMs).toBeLessThanOrEqual(HOUR + 1);
    await makeDue(id);
    await job().run(never);
    expect(await tasksOf(id)).toEqual([]);
    expect(
      fixture.catalog.calls.filter((call) => call.name === 'releaseRedemption' && call.sessionId === id),
    ).toHaveLength(2);
  });

  test('of a session that was never written are released', async () => {
    fixture.catalog.failNext('reserveRedemption', new Error('lost'));
    await expect(fixture.session({ discounts })).rejects.toThrow('lost');
    const lost = fixture.catalog.calls.at(-1)?.sessionId ?? '';
    await job().run(never);
    expect(fixture.catalog.calls.at(-1)).toEqual({ name: 'reserveRedemption', sessionId: lost });
    await makeDue(lost);
    await job().run(never);
    expect(fixture.catalog.calls.at(-1)).toEqual({ name: 'releaseRedemption', sessionId: lost });
  });
});

test('an update changes metadata, reference and storefront details, and nothing else [SESS-5, D4.3]', async () => {
  const session = await fixture.session({ metadata: { a: '1' } });
  const change = {
    metadata: { b: '2' },
    clientReferenceId: 'order 7',
    storefrontPaymentDetails: { cardLast4: '4242' },
  };
  const updated = await updateSession(fixture.context, fixture.scope, session.id, change);
  expect(updated).toEqual({ ...session, ...change, version: 2n });
  expect(await reload(session.id)).toEqual(updated);
});

async function reload(id: string): Promise<Session> {
  const session = await loadSession(fixture.database, fixture.scope, id);
  if (session === undefined) throw new Error('the session is gone');
  return session;
}

async function eventsOf(sessionId: string): Promise<{ type: string; status: string | undefined }[]> {
  const rows = await fixture.test.admin<{ payload: Buffer }>(
    'select payload from checkout.outbox where aggregate_id = $1 order by aggregate_seq',
    [sessionId],
  );
  return rows.map(({ payload }) => {
    const { type, object } = fromBinary(EventSchema, payload);
    return { type, status: object.case === 'checkoutSession' ? object.value.status : undefined };
  });
}

function tasksOf(sessionId: string) {
  return fixture.test.admin('select kind, tries from checkout.catalog_tasks where session_id = $1', [sessionId]);
}

async function isUnsettled(clockId: string): Promise<unknown> {
  const [row] = await fixture.test.admin('select unsettled from checkout.test_clocks where id = $1', [clockId]);
  return row?.unsettled;
}

// A charge of the eligible part that was sent and not answered yet.
async function liveAttempt(sessionId: string): Promise<void> {
  const { accountId } = fixture.scope;
  const intent = `fpi_${sessionId.slice(4)}`;
  await fixture.test.admin(
    `insert into checkout.payment_intents (account_id, test_mode, id, session_id, leg, capture_method, status, amount_cents, created_at)
     values ($1, true, $2, $3, 'health', 'automatic', 'processing', 1000, now())`,
    [accountId, intent, sessionId],
  );
  await fixture.test.admin(
    `insert into checkout.charge_attempts (account_id, test_mode, id, purpose, subject_id, leg, driver, payment_intent_id,
       payment_method_id, processor_payment_method_id, off_session, capture_method, amount_cents, status, lease_until,
       processor_intent_id, acting_at)
     values ($1, true, $2, 'session', $3, 'health', 'confirm', $4, 'fpm_x', 'pm_x', true, 'automatic', 1000, 'unknown', now(),
       $2, now())`,
    [accountId, `fatt_${sessionId.slice(4)}`, sessionId, intent],
  );
}

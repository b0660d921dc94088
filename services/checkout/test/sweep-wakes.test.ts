import { scoped, withTx } from '@eligo/postgres';
import { Recovery } from '@eligo/processor';
import {
  armFailpoint,
  prepareJobs,
  type RunningJobs,
  turnFailpointsOff,
  turnFailpointsOn,
  wakeJobsOf,
} from '@eligo/service';
import { waitUntil } from '@eligo/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { cancelSession } from '../src/actions/end-session.ts';
import { requestCaptureOfHolds } from '../src/actions/request-capture.ts';
import type { Context } from '../src/context.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges, sweepDueCharges } from '../src/jobs/sweep-charges.ts';
import { dueChargeWork, nextChargeWorkInMs, sweepChargesJob, wakeChargeWork } from '../src/store/charge-work.ts';
import { releaseRunningPlan, wakePlan } from '../src/store/payment-plans.ts';
import { loadSession, lockSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { pay as payOnPage } from './pay.ts';

let fixture: ChargingFixture;
let wakes: { readonly job: string; readonly at: number }[] = [];
beforeAll(async () => {
  fixture = await openChargingFixture();
});
beforeEach(() => {
  wakes = [];
  const wake = (job: string, inMs = 0) => void wakes.push({ job, at: performance.now() + inMs });
  wakeJobsOf(fixture.database, { wake } as RunningJobs);
});
afterEach(async () => {
  turnFailpointsOff();
  await fixture.clearFaults();
  await fixture.test.admin('truncate checkout.payment_locks');
  for (let round = 0; round < 5; round++) await sweep();
  expect(await nextChargeWorkInMs(fixture.database)).toBeUndefined();
});
afterAll(() => fixture.close());

const down = () => fixture.contextWith(() => ({ isDown: () => true }));
const twoCards = () => Promise.all([fixture.card('hsa'), fixture.card('credit')]);
const pay = (session: Session, cards: PaymentMethod[]) => payOnPage(fixture, session, cards);

async function sweep(context: Context = fixture.context): Promise<void> {
  await fixture.lapseLeases();
  await sweepCharges(context);
}

const leaseEnded = scoped(
  'test.lease_ended',
  `update checkout.charge_attempts set lease_until = now() - $4 * interval '1 second', next_check_at = now() - interval '1 minute'
   where account_id = $1 and test_mode = $2 and subject_id = $3`,
);

async function lostConfirm(): Promise<Session> {
  const card = await fixture.card('hsa');
  const session = await fixture.mixedSession(card);
  await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
  await expect(fixture.confirm(session, card)).rejects.toMatchObject({ code: 'idempotency_key_in_use' });
  return session;
}

async function unsentConfirm(): Promise<Session> {
  const card = await fixture.card('hsa');
  const session = await fixture.mixedSession(card);
  await fixture.fault({ call: 'payment_intents.create', kind: 'drop_before', times: 1 });
  await expect(fixture.confirm(session, card)).rejects.toMatchObject({ code: 'idempotency_key_in_use' });
  return session;
}

async function failedConfirm(): Promise<void> {
  const card = await fixture.card('hsa');
  const session = await fixture.mixedSession(card);
  turnFailpointsOn();
  armFailpoint('charge.fence_passed', { action: 'error' });
  await expect(fixture.confirm(session, card)).rejects.toThrow();
}

async function begunPage(): Promise<Session> {
  const [hsa, credit] = await twoCards();
  const session = await fixture.mixedSession(hsa);
  await fixture.fault({ call: 'payment_intents.create', kind: 'drop_before', times: 1 });
  expect((await pay(session, [hsa, credit])).status).toBe('open');
  return session;
}

async function heldByTwoCards(): Promise<Session> {
  const [hsa, credit] = await twoCards();
  const session = await fixture.mixedSession(hsa, { captureMethod: 'manual' });
  await pay(session, [hsa, credit]);
  return session;
}

async function canceledHolds(): Promise<void> {
  const session = await heldByTwoCards();
  wakes = [];
  await cancelSession(fixture.context, fixture.scope, session.id);
}

describe('the sweep', () => {
  it('gives up an attempt that was never sent three seconds after its lease, and no sooner [D14.271]', async () => {
    const session = await unsentConfirm();
    // In one transaction, whose time stands still.
    await withTx(fixture.database, fixture.scope, async (tx) => {
      const sinceLease = (seconds: number) => tx.execute(leaseEnded, fixture.scope, [session.id, seconds]);
      await sinceLease(2.999);
      expect(await dueChargeWork(tx, 20)).toEqual([]);
      expect(await nextChargeWorkInMs(tx)).toBeLessThanOrEqual(1);
      await sinceLease(3.001);
      expect(await dueChargeWork(tx, 20)).toMatchObject([{ kind: 'abandoned' }]);
    });
    await sweepCharges(fixture.context);
    const attempts = 'select status from checkout.charge_attempts where subject_id = $1';
    expect(await fixture.test.admin(attempts, [session.id])).toEqual([{ status: 'abandoned' }]);
  });

  it.each<[string, () => Promise<unknown>]>([
    ['a confirm whose outcome is unknown', lostConfirm],
    ['a confirm that failed in between', failedConfirm],
    [
      'an attempt while the processor is down',
      async () => {
        await lostConfirm();
        wakes = [];
        await sweep(down());
      },
    ],
    ['a payment on the page', begunPage],
    [
      'a payment on the page while the processor is down',
      async () => {
        await begunPage();
        wakes = [];
        await sweep(down());
      },
    ],
    ['holds to void', canceledHolds],
    [
      'holds to void while the processor is down',
      async () => {
        await canceledHolds();
        wakes = [];
        await sweep(down());
      },
    ],
    [
      'holds to capture',
      async () => {
        const session = await heldByTwoCards();
        wakes = [];
        await withTx(fixture.database, fixture.scope, async (tx) => {
          const held = await lockSession(tx, fixture.scope, session.id);
          if (held === undefined) throw new Error('the session is gone');
          await requestCaptureOfHolds(tx, fixture.scope, held, new Date());
        });
      },
    ],
    [
      'a plan whose session has ended',
      async () => {
        const session = await begunPage();
        wakes = [];
        await withTx(fixture.database, fixture.scope, (tx) => releaseRunningPlan(tx, fixture.scope, session.id));
      },
    ],
    [
      'a plan of which something is settled',
      async () => {
        const session = await begunPage();
        wakes = [];
        await withTx(fixture.database, fixture.scope, (tx) => wakePlan(tx, fixture.scope, session.id));
      },
    ],
  ])('is woken for %s when that falls due', async (_, act) => {
    await act();
    const dueInMs = (await nextChargeWorkInMs(fixture.database)) ?? expect.fail('nothing waits');
    expect(dueInMs).toBeLessThan(15_000);
    const earliest = Math.min(...wakes.filter(({ job }) => job === sweepChargesJob).map(({ at }) => at));
    // A sweep comes a second after the commit at the earliest.
    expect(earliest - performance.now()).toBeLessThanOrEqual(Math.max(dueInMs, 0) + 1_000);
  });

  it('does work of each account beside the older work of an account that has more than a sweep takes [D14.205]', async () => {
    const session = await lostConfirm();
    await fixture.lapseLeases();
    // Forty attempts of another account, due for an hour.
    const bypass = (statement: string) =>
      fixture.test.admin(`set session_replication_role = replica; ${statement}; reset session_replication_role`);
    const backlog = "account_id = 'facct_backlog'";
    await bypass(`insert into checkout.charge_attempts select (jsonb_populate_record(a, jsonb_build_object(
        'account_id', 'facct_backlog', 'id', a.id || n, 'subject_id', a.subject_id || n, 'payment_intent_id', a.payment_intent_id || n,
        'processor_intent_id', a.processor_intent_id || n, 'eligibility_record_id', null, 'next_check_at', now() - interval '1 hour'))).*
      from checkout.charge_attempts a cross join generate_series(1, 40) n where a.subject_id = '${session.id}'`);
    try {
      const { logger } = fixture.context;
      const place = {};
      await sweepCharges(
        { ...fixture.context, logger: Object.assign(Object.create(logger), { error: () => undefined }) },
        undefined,
        place,
      );
      expect((await loadSession(fixture.database, fixture.scope, session.id))?.status).toBe('complete');
      // The accounts behind the last one are looked at next; behind all of them it begins anew.
      expect(place).toEqual({});
    } finally {
      await bypass(`delete from checkout.charge_attempts where ${backlog}`);
    }
  });

  it('settles a lost confirm by its wake, long before its next look', async () => {
    const job = sweepDueCharges(fixture.context);
    expect(job.everyMs).toBe(15_000);
    const jobs = prepareJobs([{ ...job, everyMs: 3_600_000 }], { logger: fixture.context.logger });
    wakeJobsOf(fixture.database, jobs);
    expect(await jobs.runOnce(sweepChargesJob)).toEqual({ dueInMs: undefined });
    jobs.start();
    try {
      const session = await lostConfirm();
      const isComplete = async () =>
        (await loadSession(fixture.database, fixture.scope, session.id))?.status === 'complete';
      await waitUntil(isComplete, { what: 'the charge settled' });
    } finally {
      await jobs.stop();
    }
  });
});

describe('a processor that responds again', () => {
  const waiting = (lease: string, id = '%') =>
    fixture.test.admin(
      `with attempts as (update checkout.charge_attempts set next_check_at = now() + interval '5 minutes', lease_until = ${lease}
           where status = 'unknown' and subject_id like $1),
         plans as (update checkout.payment_plans set next_check_at = now() + interval '5 minutes', lease_until = ${lease}
           where state in ('running', 'releasing') and session_id like $1)
       update checkout.intent_operations set next_check_at = now() + interval '5 minutes', lease_until = ${lease} where status = 'pending'`,
      [id],
    );

  it('has unknown charges, payments on the page and holds continued at once, and not when they are next due [D14.246]', async () => {
    const [unknown, page] = [await lostConfirm(), await begunPage()];
    await canceledHolds();
    await waiting('now()');
    const recovery = new Recovery(() => jobs.wake(sweepChargesJob));
    const jobs = prepareJobs([sweepDueCharges(fixture.context, recovery)], { logger: fixture.context.logger });
    wakeJobsOf(fixture.database, jobs);
    jobs.start();
    try {
      await jobs.runOnce(sweepChargesJob);
      expect(await loadSession(fixture.database, fixture.scope, unknown.id)).toMatchObject({ status: 'open' });
      recovery.note();
      const done = async () => {
        const sessions = await Promise.all(
          [unknown, page].map(({ id }) => loadSession(fixture.database, fixture.scope, id)),
        );
        const operations = await fixture.test.admin("select from checkout.intent_operations where status = 'pending'");
        return sessions.every((session) => session?.status === 'complete') && operations.length === 0;
      };
      // Sweeps of its own, each 15 seconds, would find nothing due.
      await waitUntil(done, { what: 'what waited' });
    } finally {
      await jobs.stop();
    }
  });

  it('leaves alone what a process has taken since, and wakes no more than it is told [D14.246]', async () => {
    const [taken, first, second] = [await lostConfirm(), await lostConfirm(), await lostConfirm()];
    await waiting("now() - interval '1 minute'");
    await waiting('now()', taken.id);
    await wakeChargeWork(fixture.database, 30_000, 1);
    expect(await dueChargeWork(fixture.database, 10)).toHaveLength(1);
    await wakeChargeWork(fixture.database, 30_000, 10);
    await wakeChargeWork(fixture.database, 30_000, 10);
    const due = await fixture.test.admin<{ subject_id: string }>(
      "select subject_id from checkout.charge_attempts where status = 'unknown' and next_check_at <= now() order by id",
    );
    expect(due.map((row) => row.subject_id)).toEqual([first.id, second.id]);
  });

  it('is told once: a wake that fails is repeated by the next run', async () => {
    const recovery = new Recovery(() => undefined);
    const acts: string[] = [];
    await recovery.act(async () => void acts.push('nothing was noted'));
    recovery.note();
    await expect(recovery.act(() => Promise.reject(new Error('the database is away')))).rejects.toThrow();
    await recovery.act(async () => void acts.push('first'));
    await recovery.act(async () => void acts.push('again'));
    expect(acts).toEqual(['first']);
  });
});

describe('the time of the next charge work', () => {
  const serverTime = async (statement = '') => {
    await fixture.test.admin(statement);
    const [row] = await fixture.test.admin<{ s: string }>('select extract(epoch from clock_timestamp()) as s');
    return Number(row?.s);
  };
  // Between which times of the server it was moved.
  let moved = { from: 0, to: 0 };
  const moveBy = async (statement: string) => {
    moved = { from: await serverTime(), to: await serverTime(statement) };
  };
  const move = (table: string, sets: string) => moveBy(`update checkout.${table} set ${sets}`);
  // So many seconds after it was moved, however long the test takes in between.
  const expectNext = async (seconds: number) => {
    const from = await serverTime();
    const inSeconds = ((await nextChargeWorkInMs(fixture.database)) ?? Number.NaN) / 1_000;
    expect(seconds).toBeGreaterThan(from + inSeconds - moved.to - 0.01);
    expect(seconds).toBeLessThan((await serverTime()) + inSeconds - moved.from + 0.01);
  };
  const due = async () => (await dueChargeWork(fixture.database, 10)).map(({ kind }) => kind);

  it.each([
    ['charge_attempts', lostConfirm, 'attempt'],
    ['payment_plans', begunPage, 'plan'],
    ['intent_operations', canceledHolds, 'operation'],
  ] as const)('is the later of next check and lease of %s', async (table, act, kind) => {
    await act();
    await fixture.test.admin(
      "update checkout.charge_attempts set next_check_at = now() + interval '1 hour' where status in ('created', 'unknown')",
    );
    const only = {
      charge_attempts: "status = 'unknown'",
      payment_plans: "state = 'running'",
      intent_operations: "status = 'pending'",
    };
    for (const [check, lease, expected] of [
      ['100 seconds', '-1 second', 100],
      ['-1 second', '100 seconds', 100],
      ['50 seconds', '100 seconds', 100],
    ] as const) {
      await move(
        table,
        `next_check_at = now() + interval '${check}', lease_until = now() + interval '${lease}' where ${only[table]}`,
      );
      await expectNext(expected);
      expect(await due()).not.toContain(kind);
    }
    await move(
      table,
      `next_check_at = now() - interval '3 seconds', lease_until = now() - interval '1 second' where ${only[table]}`,
    );
    await expectNext(-1);
    expect(await due()).toContain(kind);
  });

  it('is three seconds after the lease of an attempt that was never sent', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    turnFailpointsOn();
    armFailpoint('confirm.claimed', { action: 'error' });
    await expect(fixture.confirm(session, card)).rejects.toThrow();
    await move(
      'charge_attempts',
      "next_check_at = now(), lease_until = now() + interval '5 seconds' where status = 'created'",
    );
    await expectNext(8);
    // An invoice's attempt waits for billing to ask again.
    const asInvoice = (driver: string) => move('charge_attempts', `driver = '${driver}' where status = 'created'`);
    await fixture.test.admin('alter table checkout.charge_attempts disable trigger user');
    await asInvoice('invoice');
    expect(await nextChargeWorkInMs(fixture.database)).toBeUndefined();
    await asInvoice('confirm');
    await fixture.test.admin('alter table checkout.charge_attempts enable trigger user');
  });

  it('is when the wait for a second card ends', async () => {
    const [hsa] = await twoCards();
    const session = await fixture.mixedSession(hsa);
    expect((await pay(session, [hsa])).nextAction).not.toBeNull();
    await move('payment_plans', "release_at = now() + interval '200 seconds' where state = 'awaiting_second_card'");
    await expectNext(200);
    await move('payment_plans', "release_at = now() - interval '1 second' where state = 'awaiting_second_card'");
    await expectNext(-1);
    expect(await due()).toEqual(['lapsed']);
  });

  it('is never too late, however many leases are live: what is behind a hundred of them counts by its next check', async () => {
    await lostConfirm();
    await moveBy(`do $$ begin
      set local session_replication_role = 'replica';
      insert into checkout.charge_attempts
        select (jsonb_populate_record(a, jsonb_build_object('id', 'copy ' || n, 'subject_id', 'copy ' || n, 'payment_intent_id', 'copy ' || n, 'eligibility_record_id', null, 'processor_intent_id', 'copy ' || n,
          'next_check_at', now() + make_interval(secs => n), 'lease_until', now() + case when n <= 100 then interval '1 hour' else '0' end))).*
        from checkout.charge_attempts a, generate_series(1, 101) n where a.status = 'unknown';
      update checkout.charge_attempts set next_check_at = now() + interval '1 day' where status = 'unknown' and id not like 'copy %';
    end $$`);
    await expectNext(100);
    const later = "update checkout.charge_attempts set next_check_at = now() + interval '2 days' where id = 'copy 100'";
    await fixture.test.admin(later);
    await expectNext(101);
    await fixture.test.admin("delete from checkout.charge_attempts where id like 'copy %'");
  });
});

import { create, toBinary } from '@bufbuild/protobuf';
import { isOwnWork } from '@eligo/postgres';
import { RefundInstructionSchema } from '@eligo/proto/checkout/v1/checkout';
import { waitUntil } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { carryOutAttempt } from '../src/actions/carry-out-attempt.ts';
import { defaultBudgets } from '../src/budgets.ts';
import type { Context } from '../src/context.ts';
import { carryOutWork } from '../src/jobs/carry-out-work.ts';
import { RefundWorker } from '../src/jobs/refund-worker.ts';
import { countWorkInDoubt, type DueWork } from '../src/store/due-work.ts';
import { type Fixture, openFixture, someScope, untilStatus } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());

const requestsOf = (accountId: string) =>
  on.admin<{ checks: number; next: Date }>(
    `select checks, next_check_at as next from refunds.refunds where account_id = $1 and status = 'requested' order by id`,
    [accountId],
  );

// Requests whose process has gone, all due at one moment.
async function leaveBehind(accountId: string, count: number): Promise<void> {
  await on.admin(
    `insert into refunds.refunds (account_id, test_mode, id, status, subject_session_id, instruction, next_check_at)
     select $1, true, id, 'requested', 'fcs_x', $3, date_trunc('second', now()) - interval '1 second' from unnest($2::text[]) id`,
    [
      accountId,
      Array.from({ length: count }, () => newId('refund')),
      Buffer.from(toBinary(RefundInstructionSchema, create(RefundInstructionSchema))),
    ],
  );
}

it('a sweep sees each row of a backlog once, also when all of them fail, and puts each off', async () => {
  const { accountId } = someScope();
  await leaveBehind(accountId, 250);
  const { database } = on.service;
  const carriedOut: string[] = [];
  const worker = new RefundWorker({
    database,
    async carryOut(work) {
      carriedOut.push(nameOf(work));
      // No more than this of a service is needed to fail.
      await carryOutWork({ database } as Context, work);
    },
    onError: () => undefined,
  });
  await worker.sweep();
  expect(new Set(carriedOut).size).toBe(250);
  expect(carriedOut).toHaveLength(250);
  expect((await requestsOf(accountId)).map(({ checks }) => checks)).toEqual(Array(250).fill(1));
  await on.admin('delete from refunds.refunds where account_id = $1', [accountId]);
});

it('a worker carries out what a call has handed over beside the calls of the account [D14.387]', async () => {
  const marks: boolean[] = [];
  const worker = new RefundWorker({
    database: on.service.database,
    atOnce: 1,
    carryOut: async () => void marks.push(isOwnWork()),
    onError: () => undefined,
  });
  const scope = someScope();
  worker.wake(['first', 'second'].map((refundId) => ({ kind: 'requested', scope, refundId }) as const));
  await worker.idle();
  expect([isOwnWork(), ...marks]).toEqual([false, true, true]);
});

it('a worker keeps a thousand steps at most; the sweep finds the others', async () => {
  const scope = someScope();
  const opened = Promise.withResolvers<void>();
  const carriedOut: string[] = [];
  const worker = new RefundWorker({
    database: on.service.database,
    atOnce: 1,
    async carryOut(work) {
      await opened.promise;
      carriedOut.push(nameOf(work));
    },
    onError: () => undefined,
  });
  // One is in flight, a thousand wait.
  worker.wake([{ kind: 'requested', scope, refundId: 'first' }]);
  worker.wake(Array.from({ length: 1_200 }, (_, index) => ({ kind: 'requested', scope, refundId: `refund ${index}` })));
  opened.resolve();
  await worker.idle();
  expect(carriedOut).toHaveLength(1_001);
});

it('a sweep continues past a row that stays due', async () => {
  const { accountId } = someScope();
  await leaveBehind(accountId, 130);
  const carriedOut: string[] = [];
  const worker = new RefundWorker({
    database: on.service.database,
    // Neither done nor put off: the worst that a step can do.
    carryOut: async (work) => void carriedOut.push(nameOf(work)),
    onError: () => undefined,
  });
  await worker.sweep();
  expect(new Set(carriedOut).size).toBe(130);
  expect(carriedOut).toHaveLength(130);
  await on.admin('delete from refunds.refunds where account_id = $1', [accountId]);
});

it('a sweep leaves what it has put off to the next one, also when that is due again before it ends', async () => {
  const { accountId } = someScope();
  await leaveBehind(accountId, 130);
  const carriedOut: string[] = [];
  const worker = new RefundWorker({
    database: on.service.database,
    async carryOut(work) {
      carriedOut.push(nameOf(work));
      if (work.kind !== 'requested') throw new Error(`a ${work.kind}`);
      await on.admin(
        "update refunds.refunds set next_check_at = clock_timestamp() - interval '1 second' where id = $1",
        [work.refundId],
      );
    },
    onError: () => undefined,
  });
  await worker.sweep();
  expect(new Set(carriedOut).size).toBe(130);
  expect(carriedOut).toHaveLength(130);
  await on.admin('delete from refunds.refunds where account_id = $1', [accountId]);
});

it('a stopping sweep starts no new work and does not wait for queued work', async () => {
  const { accountId } = someScope();
  await leaveBehind(accountId, 40);
  const stopping = new AbortController();
  const carriedOut: string[] = [];
  const begun = Promise.withResolvers<void>();
  const worker = new RefundWorker({
    database: on.service.database,
    atOnce: 2,
    async carryOut(work) {
      carriedOut.push(nameOf(work));
      if (carriedOut.length === 2) begun.resolve();
      await new Promise((resolve) => stopping.signal.addEventListener('abort', resolve));
    },
    onError: () => undefined,
  });
  const sweeping = worker.sweep(stopping.signal);
  await begun.promise;
  const stopped = worker.stop();
  stopping.abort();
  await Promise.all([sweeping, stopped]);
  expect(carriedOut).toHaveLength(2);
  await on.admin('delete from refunds.refunds where account_id = $1', [accountId]);
});

it('work that fails unexpectedly waits longer each time, and no other work waits for it', async () => {
  const scope = someScope();
  const session = await on.paid(scope, { hsa: 2_000 });
  const nonsense = newId('checkout_session');
  on.checkout.answersNonsense(nonsense);
  await on.refunds.refundSession({ sessionId: nonsense }, on.as(scope)).catch(() => undefined);
  await on.refunds
    .refundSession({ sessionId: session.id }, on.as(scope))
    .then(({ refund }) => untilStatus(on, scope, refund?.refundId ?? '', 'succeeded'));
  for (const pause of [1, 2, 4, 8]) {
    const before = Date.now();
    await on.sweepOnce();
    const after = Date.now();
    const [row] = await requestsOf(scope.accountId);
    // Rounded by the database and by the clock here.
    expect(row?.next.getTime()).toBeGreaterThanOrEqual(before + pause * 1_000 - 1);
    expect(row?.next.getTime()).toBeLessThanOrEqual(after + pause * 1_000 + 1);
  }
});

it('nothing is asked of a processor that is known to be down, and no check is counted: what waits is asked soon after its return', async () => {
  const scope = someScope();
  const session = await on.paid(scope, { hsa: 2_000 });
  await on.fault({ call: 'refunds.create', kind: 'drop_before' });
  const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
  const attempts = () =>
    on.admin<{ id: string; epoch: number; status: string; checks: number; sends: number; seconds: string }>(
      `select id, epoch, status, checks, sends, round(extract(epoch from next_check_at - lease_until)) as seconds
         from refunds.refund_attempts where refund_id = $1`,
      [refund?.refundId],
    );
  const [left] = await waitUntil(async () => {
    const rows = await attempts();
    return rows[0]?.status === 'unknown' ? rows : undefined;
  });
  if (left === undefined) throw new Error('an attempt');
  const down = {
    ...{ database: on.service.database, budgets: defaultBudgets },
    processors: { findAt: () => ({ isDown: () => true }) },
  } as unknown as Context;
  // By whoever has just made it, and by the sweeper.
  await carryOutAttempt(down, scope, left.id, left.epoch);
  await carryOutAttempt(down, scope, left.id);
  expect(await attempts()).toEqual([{ ...left, epoch: left.epoch + 1, seconds: '5' }]);
  await on.sweep();
  await untilStatus(on, scope, refund?.refundId ?? '', 'succeeded');
});

it('an outage of the processor ends no watch over a refund that went through', async () => {
  const scope = someScope();
  const session = await on.paid(scope, { hsa: 2_000 });
  const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
  const id = refund?.refundId ?? '';
  await untilStatus(on, scope, id, 'succeeded');
  // Of the refunds of this file it is the only one that is still watched, so each fault hits it.
  await on.admin(`update refunds.refund_attempts set status = 'ended' where status = 'accepted' and refund_id <> $1`, [
    id,
  ]);
  const watch = () =>
    on.admin<{ status: string; checks: number }>(
      'select status, checks from refunds.refund_attempts where refund_id = $1',
      [id],
    );
  // As many looks as a watch has, each of which fails.
  for (let look = 0; look < 10; look++) {
    await on.fault({ call: 'refunds.retrieve', kind: 'error_before' });
    await on.sweepOnce();
  }
  expect(await watch()).toEqual([{ status: 'accepted', checks: 0 }]);
  await on.sweepOnce();
  expect(await watch()).toEqual([{ status: 'accepted', checks: 1 }]);
});

it('what should have been settled by now is counted: asked for, sent, or not heard by checkout', async () => {
  const scope = someScope();
  const inDoubt = () => countWorkInDoubt(on.service.database, 300);
  const before = await inDoubt();
  await leaveBehind(scope.accountId, 2);
  expect(await inDoubt()).toBe(before);
  await on.admin(`update refunds.refunds set requested_at = now() - interval '6 minutes' where account_id = $1`, [
    scope.accountId,
  ]);
  expect(await inDoubt()).toBe(before + 2);
  await on.admin('delete from refunds.refunds where account_id = $1', [scope.accountId]);

  const session = await on.paid(scope, { hsa: 2_000 });
  await on.fault({ call: 'refunds.create', kind: 'drop_before' });
  const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
  const id = refund?.refundId ?? '';
  const attempts = () =>
    on.admin('select 1 from refunds.refund_attempts where refund_id = $1 and status = $2', [id, 'unknown']);
  await waitUntil(async () => (await attempts()).length === 1);
  await on.admin(`update refunds.refund_attempts set created_at = now() - interval '6 minutes' where refund_id = $1`, [
    id,
  ]);
  expect(await inDoubt()).toBe(before + 1);
  await on.sweep();
  await untilStatus(on, scope, id, 'succeeded');
  expect(await inDoubt()).toBe(before);
});

function nameOf(work: DueWork): string {
  return work.kind === 'requested' ? work.refundId : work.kind;
}

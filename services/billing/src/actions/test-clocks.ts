import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { Call } from '@eligo/rpc';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import type { TestClock } from '../domain/test-clock.ts';
import { deleteTestClock, findTestClock, insertTestClock, lockTestClock, moveTestClock } from '../store/test-clocks.ts';
import { cancelOnClock } from './cancel-due-subscriptions.ts';

/** Makes a clock. Checkout mirrors it first: a clock that exists here can be given to a customer there. */
export async function createTestClock(
  work: Context,
  call: Call,
  input: { frozenTime: Date; name: string | null },
): Promise<TestClock> {
  const clock: TestClock = {
    id: newId('test_clock'),
    name: input.name,
    frozenTime: input.frozenTime,
    status: 'ready',
    createdAt: work.clock.now(),
  };
  await mirror(work, call, clock, false);
  await withTx(work.database, call.scope, (tx) => insertTestClock(tx, call.scope, clock));
  return clock;
}

/**
 * Moves a clock forward and does what has become due. `advancing` is stored before anything acts on the new time, so that a crash in between
 * is finished by the job. Throws `test_clock_cannot_go_back`.
 */
export async function advanceTestClock(work: Context, call: Call, id: string, to: Date): Promise<TestClock> {
  const moving = await withTx(work.database, call.scope, async (tx) => {
    const clock = await lockTestClock(tx, call.scope, id);
    if (clock === undefined) throw new Failure('test_clock_not_found');
    if (to < clock.frozenTime) {
      const loc = ['body', 'test_clock', 'frozen_time'];
      throw Failure.invalid(loc, 'test_clock_cannot_go_back', 'A test clock can only move forward.');
    }
    await moveTestClock(tx, call.scope, id, to, 'advancing');
    return { ...clock, frozenTime: to };
  });
  await work.failpoint('clock.advancing');
  await finishAdvance(work, call.scope, moving, call);
  return { ...moving, status: 'ready' };
}

/** Makes the clock's time known and does what it has made due; safe to repeat. */
export async function finishAdvance(
  work: Context,
  scope: Scope,
  clock: TestClock,
  call: Pick<Call, 'caller'> & Partial<Call>,
): Promise<void> {
  await mirror(work, call, clock, false);
  let isMore = true;
  while (isMore) isMore = await cancelOnClock(work, scope, clock.id, clock.frozenTime, call.signal);
  // What is left is done by the job, which then says that the clock is ready.
  call.signal?.throwIfAborted();
  await withTx(work.database, scope, async (tx) => {
    const now = await lockTestClock(tx, scope, clock.id);
    if (now?.frozenTime.getTime() === clock.frozenTime.getTime()) {
      await moveTestClock(tx, scope, clock.id, clock.frozenTime, 'ready');
    }
  });
}

/** Deletes a clock; its customers continue by the wall clock. */
export async function removeTestClock(work: Context, call: Call, id: string): Promise<TestClock> {
  const clock = await findTestClock(work.database, call.scope, id);
  if (clock === undefined) throw new Failure('test_clock_not_found');
  await mirror(work, call, clock, true);
  await withTx(work.database, call.scope, (tx) => deleteTestClock(tx, call.scope, id, work.clock.now()));
  return clock;
}

async function mirror(
  work: Context,
  call: Pick<Call, 'caller'> & Partial<Call>,
  clock: TestClock,
  deleted: boolean,
): Promise<void> {
  const frozenTimeMs = BigInt(clock.frozenTime.getTime());
  await work.checkout.setTestClock({ testClockId: clock.id, frozenTimeMs, deleted }, call);
}

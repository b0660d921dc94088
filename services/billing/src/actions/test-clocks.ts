import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { Call } from '@eligo/rpc';
import { newId } from '@eligo/values';
import { boundedSignal } from '../bounded-signal.ts';
import type { Context } from '../context.ts';
import type { TestClock } from '../domain/test-clock.ts';
import { deleteTestClock, findTestClock, insertTestClock, lockTestClock, moveTestClock } from '../store/test-clocks.ts';
import { mirrorDeletedTestClock, mirrorTestClock } from './mirror-test-clock.ts';
import { type ClockProgress, runDueOnClock } from './run-due-on-clock.ts';

/** Makes a clock. Checkout mirrors it first: a clock that exists here can be given to a customer there. */
export async function createTestClock(
  context: Context,
  call: Call,
  input: { frozenTime: Date; name: string | null },
): Promise<TestClock> {
  const clock: TestClock = {
    id: newId('test_clock'),
    name: input.name,
    frozenTime: input.frozenTime,
    status: 'ready',
    createdAt: context.clock.now(),
  };
  await mirrorTestClock(context, call, clock);
  await withTx(context.database, call.scope, (tx) => insertTestClock(tx, call.scope, clock));
  return clock;
}

/**
 * Moves a clock forward and does what has become due. `advancing` is stored before anything acts on the new time, so that a crash in between
 * is finished by the job. Throws `test_clock_cannot_go_back`.
 */
export async function advanceTestClock(context: Context, call: Call, id: string, to: Date): Promise<TestClock> {
  const moving = await withTx(context.database, call.scope, async (tx) => {
    const clock = await lockTestClock(tx, call.scope, id);
    if (clock === undefined) throw new Failure('test_clock_not_found');
    if (to < clock.frozenTime) {
      const loc = ['body', 'test_clock', 'frozen_time'];
      throw Failure.invalid(loc, 'test_clock_cannot_go_back', 'A test clock can only move forward.');
    }
    await moveTestClock(tx, call.scope, id, to, 'advancing');
    return { ...clock, frozenTime: to };
  });
  await context.failpoint('clock.advancing');
  const progress = await finishAdvance(context, call.scope, moving, call, { signal: withinCall(call), wait: true });
  return { ...moving, status: progress === 'done' ? 'ready' : 'advancing' };
}

// The answer says how far it has come. The job goes on with what takes longer than the call may.
function withinCall(call: Call): AbortSignal {
  return boundedSignal(call.signal, Math.max(0, Math.floor(call.timeoutMs() - answerMs)));
}

const answerMs = 500;

/** Does what the clock has made due, and makes its time known; safe to repeat. The clock is ready when all is done. */
export async function finishAdvance(
  context: Context,
  scope: Scope,
  clock: TestClock,
  call: Pick<Call, 'caller'> & Partial<Call>,
  options: { readonly signal: AbortSignal; readonly wait: boolean },
): Promise<ClockProgress> {
  const progress = await runDueOnClock(context, scope, clock.id, clock.frozenTime, options);
  if (progress !== 'done') return progress;
  await mirrorTestClock(context, call, clock);
  return withTx(context.database, scope, async (tx) => {
    const now = await lockTestClock(tx, scope, clock.id);
    // It may have been moved on meanwhile.
    if (now?.frozenTime.getTime() !== clock.frozenTime.getTime()) return 'stopped';
    await moveTestClock(tx, scope, clock.id, clock.frozenTime, 'ready');
    return 'done';
  });
}

/** Deletes a clock; its customers continue by the wall clock. */
export async function removeTestClock(context: Context, call: Call, id: string): Promise<TestClock> {
  const clock = await findTestClock(context.database, call.scope, id);
  if (clock === undefined) throw new Failure('test_clock_not_found');
  await mirrorDeletedTestClock(context, call, clock);
  await withTx(context.database, call.scope, (tx) => deleteTestClock(tx, call.scope, id, context.clock.now()));
  return clock;
}

import type { Call } from '@eligo/rpc';
import type { Context } from '../context.ts';
import type { TestClock } from '../domain/test-clock.ts';

/** Tells checkout the time of a clock. There it only goes forward, so that an earlier time changes nothing. */
export async function mirrorTestClock(
  { checkout }: Pick<Context, 'checkout'>,
  call: Pick<Call, 'caller'> & Partial<Call>,
  { id, frozenTime }: Pick<TestClock, 'id' | 'frozenTime'>,
): Promise<void> {
  await checkout.setTestClock({ testClockId: id, frozenTimeMs: BigInt(frozenTime.getTime()), deleted: false }, call);
}

/** Tells checkout that a clock is deleted. */
export async function mirrorDeletedTestClock(
  { checkout }: Pick<Context, 'checkout'>,
  call: Pick<Call, 'caller'> & Partial<Call>,
  { id, frozenTime }: Pick<TestClock, 'id' | 'frozenTime'>,
): Promise<void> {
  await checkout.setTestClock({ testClockId: id, frozenTimeMs: BigInt(frozenTime.getTime()), deleted: true }, call);
}

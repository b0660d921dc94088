import { type Scope, withTx } from '@eligo/postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTestClock, removeTestClock } from '../src/actions/test-clocks.ts';
import { finishClocks } from '../src/jobs/finish-clocks.ts';
import { findTestClock, moveTestClock } from '../src/store/test-clocks.ts';
import { callOf, type Fixture, openFixture, sell, someScope, start } from './fixture.ts';

let on: Fixture;

beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
beforeEach(async () => {
  on.at(start);
  await on.test.admin(`update billing.test_clocks set status = 'ready'`);
});

const later = new Date('2026-05-02T00:00:00.000Z');
// A process that has died left each of them so.
const leftBehind = async (scope: Scope) => {
  const { id } = await createTestClock(on.context, callOf(scope), { frozenTime: start, name: null });
  await withTx(on.database, scope, (tx) => moveTestClock(tx, scope, id, later, 'advancing'));
  return id;
};
/** One that cannot go on: another process holds what is due by it. */
const stuck = async (scope: Scope) => {
  const id = await leftBehind(scope);
  const { subscriptionId } = await sell(on, scope, { testClockId: id });
  await on.test.admin(`update billing.subscriptions set held_until = '2030-01-01' where id = $1`, [subscriptionId]);
};
const twenty = async (make: () => Promise<unknown>) => {
  for (let count = 0; count < 20; count++) await make();
};
const statusOf = async (scope: Scope, id: string) => (await findTestClock(on.database, scope, id))?.status;
const { signal } = new AbortController();

describe('a test clock whose advance was cut short is finished', () => {
  it('behind any number of clocks that were deleted while they advanced [D14.93]', async () => {
    const [scope, other] = [someScope(), someScope()];
    await twenty(async () => removeTestClock(on.context, callOf(scope), await leftBehind(scope)));
    const clocks = [await leftBehind(scope), await leftBehind(other)] as const;
    expect(await finishClocks(on.context, signal)).toBeUndefined();
    expect([await statusOf(scope, clocks[0]), await statusOf(other, clocks[1])]).toEqual(['ready', 'ready']);
  });

  it('behind clocks of another account that take long, and soon behind those of its own [D14.93]', async () => {
    const [scope, other] = [someScope(), someScope()];
    await twenty(() => stuck(scope));
    const clocks = [await leftBehind(scope), await leftBehind(other)] as const;
    const place = { clocks: new Map<string, string>() };
    expect(await finishClocks(on.context, signal, place)).toEqual({ dueInMs: 1_000 });
    expect(await statusOf(other, clocks[1])).toBe('ready');
    await finishClocks(on.context, signal, place);
    expect(await statusOf(scope, clocks[0])).toBe('ready');
  });
});

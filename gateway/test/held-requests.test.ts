import { CostBudgets, CostMeter, Neighbors, SharedRequests } from '@eligo/service';
import { describe, expect, test } from 'vitest';
import { RequestTurns } from '../src/turns/request-turns.ts';

const account = (accountId: string) => ({ accountId, testMode: false });

/** Two accounts that have asked for something, in a process whose clock and load the test sets. */
function neighborhood() {
  const set = { nowMs: 1_000, isBusy: true, utilization: 1, spare: 0 };
  const neighbors = new Neighbors({
    ...{ isBusy: () => set.isBusy, now: () => set.nowMs },
    ...{ utilization: () => set.utilization, spare: () => set.spare },
  });
  for (const accountId of ['facct_1', 'facct_2']) neighbors.saw(account(accountId));
  const budgets = new CostBudgets(neighbors);
  return { set, neighbors, budgets, here: { neighbors, budgets, meter: new CostMeter(neighbors, budgets) } };
}

/** Enters, and says by `has` whether the turn has begun. */
function entering(lane: SharedRequests, accountId: string) {
  const state = { has: false, leave: (): void => undefined };
  const entered = lane.enter(account(accountId));
  const has = (leave: () => void) => void Object.assign(state, { has: true, leave });
  // A turn that never begins is refused in the end.
  if (entered instanceof Promise) entered.then(has, () => undefined);
  else has(entered);
  return state;
}

describe('requests that a budget holds back', () => {
  test('have what the process spares besides their share once it is no longer busy, one after the other [D14.393]', async () => {
    const { set, neighbors, budgets } = neighborhood();
    const reads = new SharedRequests(neighbors, {}, (caller) => budgets.isSpent(caller));
    budgets.charge(account('facct_1'), 100);
    const waiting = Array.from({ length: 20 }, () => entering(reads, 'facct_1'));
    const begunAfter = async (ms: number) => {
      set.nowMs += ms;
      neighbors.saw(account('facct_2'));
      // The end of any turn has those that wait looked at.
      entering(reads, 'facct_2').leave();
      await Promise.resolve();
      return waiting.filter(({ has }) => has).length;
    };
    // 50 ms are worked off by a tenth of what is worked and by what is spared: 0.23 ms in each millisecond.
    Object.assign(set, { isBusy: false, utilization: 0.3, spare: 0.2 });
    expect(await begunAfter(215)).toBe(0);
    expect(await begunAfter(5)).toBe(1);
    // What the first one costs is known at its end.
    expect(await begunAfter(400)).toBe(1);
    waiting[0]?.leave();
    expect(await begunAfter(0)).toBe(2);
    budgets.charge(account('facct_1'), 100);
    waiting[1]?.leave();
    expect(await begunAfter(0)).toBe(2);
    expect(await begunAfter(400)).toBe(3);
  });

  test('are held back for a second after the last one waited, and then no more in a process that is not busy [D14.393]', () => {
    const { set, neighbors } = neighborhood();
    set.isBusy = false;
    expect([neighbors.areShort('facct_1'), neighbors.areAnyShort()]).toEqual([false, false]);
    neighbors.noteHeld(account('facct_1'));
    expect([neighbors.areShort('facct_1'), neighbors.areAnyShort()]).toEqual([true, true]);
    expect(neighbors.areShort('facct_2')).toBe(false);
    set.nowMs += 1_000;
    for (const accountId of ['facct_1', 'facct_2']) neighbors.saw(account(accountId));
    expect([neighbors.areShort('facct_1'), neighbors.areAnyShort()]).toEqual([false, false]);
  });

  test.each([
    ['reads a list', { id: 'products.list', method: 'GET', path: '/v1/products' }, 59_000, 1],
    ['reads a list, a minute later', { id: 'products.list', method: 'GET', path: '/v1/products' }, 61_000, 8],
    ['writes', { id: 'products.create', method: 'POST', path: '/v1/products' }, 900, 1],
    ['writes, a second later', { id: 'products.create', method: 'POST', path: '/v1/products' }, 1_100, 8],
    ['writes with a key for 300 requests a second', { id: 'x', method: 'POST', path: '/v1/x' }, 900, 2, 300],
  ])(
    'an account whose budget was used up and %s has as many at work [D14.393]',
    async (_, route, laterMs, atWork, perSecond = 100) => {
      const { set, neighbors, here, budgets } = neighborhood();
      const turns = new RequestTurns(here);
      neighbors.arrived(account('facct_2'));
      const caller = { ...account('facct_1'), perSecond };
      budgets.charge(caller, 60);
      const first = turns.begin(caller, route);
      expect(first).toBeInstanceOf(Promise);
      set.nowMs += laterMs;
      neighbors.saw(account('facct_2'));
      (await first).end();
      const begun = Array.from({ length: 9 }, () => turns.begin(caller, route)).filter(
        (turn) => !(turn instanceof Promise),
      );
      expect(begun).toHaveLength(atWork);
    },
  );
});

test('the next piece of a stream waits while the budget of its account is used up [D14.393]', async () => {
  const { set, neighbors, budgets, here } = neighborhood();
  const turn = await new RequestTurns(here).begin(account('facct_1'), { id: 'list', method: 'GET', path: '/v1/list' });
  expect(turn.goesOn()).toBeUndefined();
  budgets.charge(account('facct_1'), 60);
  const next = turn.goesOn();
  expect(next).toBeInstanceOf(Promise);
  set.nowMs += 101;
  neighbors.saw(account('facct_2'));
  await next;
  turn.end();
});

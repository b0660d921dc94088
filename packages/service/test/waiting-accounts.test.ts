import { expect, test } from 'vitest';
import { CostBudgets, Neighbors } from '../src/index.ts';

const buyer = { accountId: 'facct_buyer', testMode: false, perSecond: 100 };
const shop = { accountId: 'facct_shop', testMode: false };

function busyProcess() {
  const set = { nowMs: 1_000 };
  const neighbors = new Neighbors({ isBusy: () => true, now: () => set.nowMs });
  const waits = (ms: number) => {
    neighbors.arrived(shop);
    set.nowMs += ms;
    neighbors.left(shop);
  };
  return { set, neighbors, waits, others: () => [...neighbors.othersOf(buyer)] };
}

test('an account that waits for most of the time counts as waiting in the gaps between its requests [D14.393]', () => {
  const { set, neighbors, waits, others } = busyProcess();
  const budgets = new CostBudgets(neighbors);
  for (let payment = 0; payment < 30; payment++) {
    waits(60);
    set.nowMs += 20;
  }
  expect(others()).toEqual([shop.accountId]);
  budgets.charge(buyer, 100, false);
  expect(budgets.isOver(buyer)).toBe(true);
  set.nowMs += 200;
  neighbors.saw(shop);
  expect([others(), budgets.isOver(buyer)]).toEqual([[], false]);
});

test('an account that waits for a third of the time counts as waiting while it does, and not between [D14.393]', () => {
  const { set, neighbors, waits, others } = busyProcess();
  for (let payment = 0; payment < 30; payment++) {
    waits(30);
    set.nowMs += 60;
  }
  waits(30);
  expect(others()).toEqual([]);
  neighbors.arrived(shop);
  expect(others()).toEqual([shop.accountId]);
});

test('pauses are forgotten after a second', () => {
  const { set, neighbors, waits, others } = busyProcess();
  waits(5_000);
  set.nowMs += 300;
  expect(others()).toEqual([shop.accountId]);
  set.nowMs += 701;
  expect([neighbors.areShort(buyer.accountId), neighbors.yields({ ...buyer, testMode: true })]).toEqual([false, false]);
  expect(neighbors.size).toBe(0);
});

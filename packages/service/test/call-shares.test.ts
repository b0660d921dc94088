import { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import type { Call } from '@eligo/rpc';
import { expect, onTestFinished, test, vi } from 'vitest';
import { CostBudgets, CostMeter, Neighbors, type TurnCaller } from '../src/index.ts';
import { callTurns } from '../src/turns/call-turns.ts';
import { WorkElsewhere } from '../src/turns/work-elsewhere.ts';
import { identityOf } from './support.ts';

const gateway = identityOf('gateway');
const confirmMs = 10;
const simulatedMs = 12_000;

test.each([100, 200])(
  'in simulated time, a shop with eight shoppers keeps its calls of a busy service beside the small calls of an account whose limit is %i requests a second, which get their share [D14.249]',
  async (limit) => {
    const share = 0.0005 * limit;
    const found = await simulate(limit);
    // What is over is the burst, and what is at work.
    expect(found.attacker).toBeLessThanOrEqual(share + (50 + 8 * confirmMs) / simulatedMs);
    expect(found.attacker).toBeGreaterThan(share * 0.7);
    expect(found.shop).toBeGreaterThanOrEqual(0.7);
    expect(found.attacker + found.shop).toBeCloseTo(1, 2);
  },
  30_000,
);

test('a service tells a caller that asks for how long it and those that it called worked, also while it has time to spare [D14.249]', async () => {
  const neighbors = new Neighbors({ isBusy: () => false });
  const budgets = { charge: vi.fn() };
  const meter = new CostMeter(neighbors, budgets);
  const takeTurn = callTurns({ neighbors, budgets: new CostBudgets(neighbors), meter });
  const turnOf = (isMeasured: boolean) =>
    takeTurn(CheckoutService.method.getSession, callOf('facct_1', 100), isMeasured);
  const work = async () => {
    // As a call to another service does.
    meter.tellWorked()?.(30_000);
    await workFor(20);
  };
  const unmeasured = turnOf(false);
  await unmeasured?.run(work);
  expect(unmeasured?.workedMs).toBeUndefined();
  const measured = turnOf(true);
  await measured?.run(work);
  expect(measured?.workedMs?.()).toBeGreaterThanOrEqual(30_000 + 19);
  // What others worked counts at the caller, and in no budget here.
  expect(Math.max(0, ...budgets.charge.mock.calls.map(([, tookMs]) => tookMs))).toBeLessThan(30_000);
});

test('what other processes work for a request counts towards the budgets of its account, and is worked time that refills them [D14.249]', async () => {
  const set = { nowMs: 1_000 };
  const elsewhere = new WorkElsewhere(() => set.nowMs);
  const neighbors = new Neighbors({
    isBusy: () => true,
    now: () => set.nowMs,
    utilization: () => 0.5 + elsewhere.utilization,
  });
  const budgets = new CostBudgets(neighbors);
  const meter = new CostMeter(neighbors, budgets, elsewhere);
  const [attacker, shop] = [
    { accountId: 'facct_attacker', testMode: false, perSecond: 100 },
    { accountId: 'facct_shop', testMode: false },
  ];
  for (const account of [attacker, shop]) neighbors.arrived(account);
  const told = (caller: TurnCaller, workedMs: number) =>
    meter.run({ caller, isExpensive: false, wholeFor: 'budgets' }, async () => meter.tellWorked()?.(workedMs));
  await told(attacker, 49);
  expect(budgets.isOver(attacker)).toBe(false);
  await told(attacker, 51);
  expect(budgets.isOver(attacker)).toBe(true);
  // Others work one and a half milliseconds in each for the shop: with this process, a share of 5% is 0.1 ms.
  for (let ms = 0; ms < 1_000; ms += 10, set.nowMs += 10) await told(shop, 15);
  expect(elsewhere.utilization).toBeCloseTo(1.5, 1);
  await told(attacker, 150);
  const isOverAfter = (ms: number) => {
    set.nowMs += ms;
    for (let at = 0; at < ms; at += 10) elsewhere.note(15);
    return budgets.isOver(attacker);
  };
  expect(isOverAfter(900)).toBe(true);
  expect(isOverAfter(200)).toBe(false);
});

test('what others worked is known for the last second', () => {
  const set = { nowMs: 1_000 };
  const elsewhere = new WorkElsewhere(() => set.nowMs);
  expect(elsewhere.utilization).toBe(0);
  elsewhere.note(300);
  set.nowMs += 499;
  expect(elsewhere.utilization).toBeCloseTo(300 / 999, 2);
  set.nowMs += 2;
  expect(elsewhere.utilization).toBeCloseTo(300 / 501, 2);
  set.nowMs += 500;
  expect(elsewhere.utilization).toBe(0);
});

/** Runs the calls of the shop, whose key has no limit, and of an attacker, whose gateway lets all through. Answers the part of the service's time that each got. */
async function simulate(limit: number) {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const set = { nowMs: 1_000 };
  const neighbors = new Neighbors({ isBusy: () => true, now: () => set.nowMs });
  const budgets = new CostBudgets(neighbors);
  const takeTurn = callTurns({ neighbors, budgets, meter: new CostMeter(neighbors, budgets) });
  const queue: { steps: number; accountId: string; perSecond?: number | undefined; end: () => void }[] = [];
  const took: Record<string, number> = { facct_shop: 0, facct_attacker: 0 };
  const call = async (accountId: string, perSecond?: number) => {
    const turn = takeTurn(CheckoutService.method.confirmSession, callOf(accountId, perSecond), false);
    const leave = await turn?.entered;
    await new Promise<void>((end) => queue.push({ steps: confirmMs, accountId, perSecond, end }));
    leave?.();
  };
  const shop = async (): Promise<void> => call('facct_shop').then(shop);
  for (let shopper = 0; shopper < 8; shopper++) void shop();
  const startMs = set.nowMs;
  for (let sent = 0; set.nowMs - startMs < simulatedMs; ) {
    // Calls that wait for too long are refused.
    for (; sent < ((set.nowMs - startMs) * 100) / 1_000; sent++) call('facct_attacker', limit).catch(() => undefined);
    await vi.advanceTimersByTimeAsync(0);
    const next = queue.shift();
    set.nowMs += 1;
    if (next !== undefined) {
      const { accountId, perSecond } = next;
      took[accountId] = (took[accountId] ?? 0) + 1;
      // What a meter measures.
      budgets.charge({ accountId, testMode: false, perSecond }, 1, false);
      next.steps -= 1;
      if (next.steps > 0) queue.push(next);
      else next.end();
    }
    await vi.advanceTimersByTimeAsync(1);
  }
  return { shop: (took.facct_shop ?? 0) / simulatedMs, attacker: (took.facct_attacker ?? 0) / simulatedMs };
}

// In continuations of promises, as a handler does.
async function workFor(ms: number): Promise<void> {
  for (let step = 0; step < 5; step++) {
    await new Promise((resolve) => setImmediate(resolve));
    for (const untilMs = performance.now() + ms / 5; performance.now() < untilMs; );
  }
}

function callOf(accountId: string, requestsPerSecond: number | undefined): Call {
  const scope = { accountId, testMode: false };
  return {
    ...{ scope, from: 'gateway', requestId: 'req_1', signal: new AbortController().signal },
    caller: gateway.callerFor({ ...scope, keyId: 'fkey_1', requestsPerSecond }),
    timeoutMs: () => 9_200,
  };
}

import { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import type { Call } from '@eligo/rpc';
import { expect, onTestFinished, test, vi } from 'vitest';
import { CostBudgets, CostMeter, Neighbors } from '../src/index.ts';
import { callTurns } from '../src/turns/call-turns.ts';
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
    const turn = takeTurn(CheckoutService.method.confirmSession, callOf(accountId, perSecond));
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

function callOf(accountId: string, requestsPerSecond: number | undefined): Call {
  const scope = { accountId, testMode: false };
  return {
    ...{ scope, from: 'gateway', requestId: 'req_1', signal: new AbortController().signal },
    caller: gateway.callerFor({ ...scope, keyId: 'fkey_1', requestsPerSecond }),
    timeoutMs: () => 9_200,
  };
}

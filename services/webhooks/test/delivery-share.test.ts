import { CostBudgets, CostMeter, Neighbors } from '@eligo/service';
import { expect, it } from 'vitest';
import { deliveryShare } from '../src/jobs/delivery/delivery-share.ts';
import { someScope } from './fixture.ts';

function busyProcess() {
  const neighbors = new Neighbors({ isBusy: () => true });
  const budgets = new CostBudgets(neighbors);
  const charged = new Map<string, number>();
  const meter = new CostMeter(neighbors, {
    charge(caller, tookMs, ...more) {
      charged.set(caller.accountId, (charged.get(caller.accountId) ?? 0) + tookMs);
      budgets.charge(caller, tookMs, ...more);
    },
  });
  const share = deliveryShare({ neighbors, budgets, meter });
  return { share, chargedTo: (accountId: string) => charged.get(accountId) ?? 0 };
}

async function work(ms: number): Promise<void> {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

it('accounts that only have events delivered share a process as those that ask for something [D14.371]', async () => {
  const { share } = busyProcess();
  const [many, few] = [someScope(), someScope()];
  await share.run(many, () => work(200));
  expect(share.isSpent(many)).toBe(false);
  await share.run(few, () => work(1));
  await share.run(many, () => work(200));
  expect([share.isSpent(many), share.isSpent(few)]).toEqual([true, false]);
  expect(share.mostPlanned(many)).toBe(128);
});

it('a delivery that begins as one of another account ends counts as its own account’s [D14.371]', async () => {
  const { share, chargedTo } = busyProcess();
  const [many, few] = [someScope(), someScope()];
  await share.run(many, () => work(1));
  let next: Promise<void> | undefined;
  await share.run(few, async () => {
    await work(1);
    next = share.run(many, () => work(100));
  });
  await next;
  expect(chargedTo(many.accountId)).toBeGreaterThan(90);
  expect(chargedTo(few.accountId)).toBeLessThan(50);
});

it('an account that asks for many deliveries again has one transaction at a time plan them, and none once it took its share [D14.381]', async () => {
  const { share } = busyProcess();
  const [many, other] = [someScope(), someScope()];
  await share.run(other, () => work(1));
  const refused = { code: 'rate_limited', retryAfterSeconds: 1 };
  const { promise, resolve } = Promise.withResolvers<void>();
  const first = share.planMany(many, () => promise);
  await expect(share.planMany(many, () => work(1))).rejects.toMatchObject(refused);
  await share.planMany({ ...many, testMode: !many.testMode }, () => work(1));
  resolve();
  await first;
  await share.planMany(many, () => work(200));
  await expect(share.planMany(many, () => work(1))).rejects.toMatchObject(refused);
});

it('an account that asks for many deliveries again in a process with time to spare has them planned [D14.381]', async () => {
  const neighbors = new Neighbors({ isBusy: () => false });
  const budgets = new CostBudgets(neighbors);
  const share = deliveryShare({ neighbors, budgets, meter: new CostMeter(neighbors, budgets) });
  const many = someScope();
  await share.run(someScope(), () => work(1));
  await Promise.all([share.planMany(many, () => work(200)), share.planMany(many, () => work(1))]);
  await share.planMany(many, () => work(1));
});

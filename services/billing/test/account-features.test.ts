import { create } from '@bufbuild/protobuf';
import { type Scope, withTx } from '@eligo/postgres';
import { EvaluateEligibilityResponseSchema } from '@eligo/proto/catalog/v1/catalog';
import { createLogger, type RunningJobs, wakeJobsOf } from '@eligo/service';
import { untilLockWait } from '@eligo/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { recordAccountFeatures } from '../src/actions/record-account-features.ts';
import { runDueJob } from '../src/actions/wake-when-due.ts';
import type { Context } from '../src/context.ts';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { findAccountFeatures, saveAccountFeatures } from '../src/store/account-features.ts';
import { lockAccountFeatures } from '../src/store/awaited-features.ts';
import { loadInvoiceLines } from '../src/store/invoice-lines.ts';
import { findInvoice } from '../src/store/invoices.ts';
import { findSubscription } from '../src/store/subscriptions.ts';
import { type Fixture, openFixture, sell, someScope, start } from './fixture.ts';
import { may } from './subscription-calls.ts';

let on: Fixture;
let scope: Scope;

beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
beforeEach(() => {
  on.at(start);
  scope = someScope();
});

const tell = (features: string[], version: bigint, of: Scope = scope) =>
  recordAccountFeatures(on, of, { features, version });

/** Billing beside a catalog that knows food by its policy, and judges by it where the caller has the feature. */
function withFood(): { context: Context; asked: string[][] } {
  const asked: string[][] = [];
  const judge = (requests: { items: readonly unknown[] }[], { caller }: { caller: { features: string[] } }) => {
    asked.push(caller.features);
    const passes = caller.features.includes('food_eligibility');
    const decision = passes
      ? { hsaFsaEligibility: 'auto_substantiation', rule: 'food_policy', ruleVersion: '2026-01' }
      : { rule: 'none' };
    return requests.map(({ items }) =>
      create(EvaluateEligibilityResponseSchema, { items: items.map(() => ({ decision })) }),
    );
  };
  const catalog = {
    ...on.context.catalog,
    evaluateEligibility: async (request: never, call: never) => judge([request], call)[0],
    batchEvaluateEligibility: async ({ requests }: { requests: never[] }, call: never) => ({
      responses: judge(requests, call),
    }),
  } as unknown as Context['catalog'];
  return { context: { ...on.context, catalog, callerFor: (init) => init as never }, asked };
}

/** Food that was sold by the food policy, on a health card and another one. */
async function sellFood() {
  const sold = await sell(on, scope, { backup: on.peers.card(false) });
  await on.test.admin(`update billing.subscription_items set sold_by_rule = 'food_policy' where subscription_id = $1`, [
    sold.subscriptionId,
  ]);
  return sold;
}

async function renewedOf(subscriptionId: string) {
  const subscription = await findSubscription(on.database, scope, subscriptionId);
  const id = subscription?.latestInvoiceId ?? '';
  const [line] = await loadInvoiceLines(on.database, scope, id);
  const { billingReason, status } = (await findInvoice(on.database, scope, id)) ?? expect.fail('no invoice');
  const taken = on.peers.taken.filter(({ invoiceId }) => invoiceId === id).map(({ leg }) => leg);
  return { billingReason, status, rule: line?.rule, taken };
}

const byHealthCard = { billingReason: 'subscription_cycle', status: 'paid', rule: 'food_policy', taken: ['health'] };
const byOtherCard = { ...byHealthCard, rule: 'none', taken: ['other'] };
const runAt = async (context: Context, time: string) => {
  on.at(time);
  while (await runDueSubscriptions(context));
};

describe('what was sold by the food policy', () => {
  it.each([1, 3])('is renewed by what the account can do today, %i at once [D14.355]', async (count) => {
    const { context } = withFood();
    const ids: string[] = [];
    for (let n = 0; n < count; n++) ids.push((await sellFood()).subscriptionId);
    const expectAll = async (expected: object) => {
      for (const id of ids) expect(await renewedOf(id)).toEqual(expected);
    };
    await tell(['receipts', 'food_eligibility'], 1n);
    await runAt(context, may);
    await expectAll(byHealthCard);
    await tell(['receipts'], 2n);
    await runAt(context, '2026-06-01T00:00:00.000Z');
    await expectAll(byOtherCard);
    await tell(['food_eligibility'], 3n);
    await runAt(context, '2026-07-01T00:00:00.000Z');
    await expectAll(byHealthCard);
  });

  it('waits while nothing was told of the account, and what is beside it does not [D14.355]', async () => {
    const { context, asked } = withFood();
    const food = await sellFood();
    const other = await sell(on, scope, { backup: on.peers.card(false) });
    await runAt(context, may);
    expect((await renewedOf(food.subscriptionId)).billingReason).toBe('subscription_create');
    expect(await renewedOf(other.subscriptionId)).toMatchObject({
      billingReason: 'subscription_cycle',
      status: 'paid',
    });
    expect(asked).toEqual([[]]);
    await tell(['food_eligibility'], 1n);
    await runAt(context, may);
    expect(await renewedOf(food.subscriptionId)).toEqual(byHealthCard);
  });

  it.each([1, 3])('waits quietly, %i at once: no turn of the pace, and one warning [D14.359]', async (count) => {
    const { context } = withFood();
    const lines: string[] = [];
    const logger = createLogger({ service: 'billing', destination: { write: (text) => lines.push(text) } });
    const takes: Scope[] = [];
    const pace: Context['pace'] = {
      ...on.context.pace,
      take(of, now) {
        takes.push(of);
        return on.context.pace.take(of, now);
      },
    };
    const quiet = { ...context, logger, pace };
    const ids: string[] = [];
    for (let n = 0; n < count; n++) ids.push((await sellFood()).subscriptionId);
    // For an hour, and after a restart.
    for (const time of [may, '2026-05-01T00:00:15.000Z', '2026-05-01T00:30:00.000Z', '2026-05-01T01:00:00.000Z'])
      await runAt(quiet, time);
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      {
        level: 'warn',
        accountId: scope.accountId,
        msg: expect.stringContaining('wait until the gateway sends the features'),
      },
    ]);
    expect(takes).toEqual([]);
    await tell(['food_eligibility'], 1n);
    await runAt(quiet, '2026-05-01T01:00:00.000Z');
    for (const id of ids) expect(await renewedOf(id)).toEqual(byHealthCard);
    expect([lines.length, takes.length]).toEqual([1, count]);
  });

  it('is woken once what the account can do is recorded [D14.359]', async () => {
    const { context } = withFood();
    const woken: string[] = [];
    wakeJobsOf(on.database, { wake: (job: string) => woken.push(job) } as unknown as RunningJobs);
    await sellFood();
    await runAt(context, may);
    // Of another account, and of the other mode.
    await tell([], 1n, someScope());
    await tell([], 1n, { ...scope, testMode: false });
    woken.length = 0;
    await tell([], 1n);
    expect(woken).toEqual([runDueJob]);
    await tell([], 2n);
    expect(woken).toEqual([runDueJob]);
  });

  it('stays with the process that works on it when what the account can do is recorded [D14.359]', async () => {
    const { context } = withFood();
    const { subscriptionId } = await sellFood();
    await runAt(context, may);
    const heldUntil = new Date('2026-05-01T00:11:00.000Z');
    await on.test.admin('update billing.subscriptions set held_until = $2 where id = $1', [subscriptionId, heldUntil]);
    await tell(['food_eligibility'], 1n);
    const [row] = await on.test.admin('select held_until from billing.subscriptions where id = $1', [subscriptionId]);
    expect(row).toEqual({ held_until: heldUntil });
  });

  it('does not begin to wait for what is recorded at that moment [D14.359]', async () => {
    const { context } = withFood();
    const { subscriptionId } = await sellFood();
    const locked = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const recording = withTx(on.database, scope, async (tx) => {
      await lockAccountFeatures(tx, scope);
      locked.resolve();
      await go.promise;
      await saveAccountFeatures(tx, scope, { features: ['food_eligibility'], version: 1n });
    });
    await locked.promise;
    const running = runAt(context, may);
    await untilLockWait(on.test.admin, 'the renewal to wait', { event: 'advisory' });
    go.resolve();
    await Promise.all([recording, running]);
    expect(await renewedOf(subscriptionId)).toEqual(byHealthCard);
  });

  it('that an account could not have sold then is eligible once it has the feature [D14.355]', async () => {
    const { context } = withFood();
    const { subscriptionId } = await sell(on, scope, { backup: on.peers.card(false) });
    await tell(['food_eligibility'], 1n);
    await runAt(context, may);
    expect(await renewedOf(subscriptionId)).toEqual(byHealthCard);
  });
});

it('what an account can do is kept as it was told last, in each mode, and nothing older replaces it [D14.355]', async () => {
  const live = { ...scope, testMode: false };
  await tell(['food_eligibility'], 5n);
  await tell([], 4n);
  await tell([], 5n);
  expect(await findAccountFeatures(on.database, scope)).toEqual(['food_eligibility']);
  expect(await findAccountFeatures(on.database, live)).toBeUndefined();
  await tell(['receipts'], 6n, live);
  expect(await findAccountFeatures(on.database, live)).toEqual(['receipts']);
  const goBack = on.test.admin('update billing.account_features set version = version - 1 where account_id = $1', [
    scope.accountId,
  ]);
  await expect(goBack).rejects.toMatchObject({ constraint: 'account_features_ascend' });
});

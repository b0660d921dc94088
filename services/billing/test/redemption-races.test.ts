import { type Scope, scoped, withTx } from '@eligo/postgres';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { type LateCommit, loseNextCommit } from '@eligo/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createSubscription, type NewSubscription } from '../src/actions/create-subscription.ts';
import { updateSubscription } from '../src/actions/update-subscription.ts';
import type { Context } from '../src/context.ts';
import { settleCatalogTasks } from '../src/jobs/settle-catalog-tasks.ts';
import { callOf, type Fixture, openFixture, patience, sell, someScope, start } from './fixture.ts';

let on: Fixture;
let scope: Scope;
let couponId: string;

beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
beforeEach(() => {
  on.at(start);
  scope = someScope();
  couponId = on.peers.coupon({ percentOffBasisPoints: 1_000, duration: 'forever' });
  on.peers.redemptions.clear();
});
afterEach(() => turnFailpointsOff());

const key = { key: 'a-key', requestHash: Buffer.alloc(32) };
const inputWithCoupon = (): NewSubscription => {
  const customerId = on.peers.customer();
  return {
    ...{ customerId, items: [{ priceId: on.peers.price(), quantity: 1 }], discount: { couponId, promoCode: null } },
    ...{ defaultPaymentMethodId: on.peers.cardOf(customerId, true), backupPaymentMethodId: null, metadata: {} },
    ...{ trialEnd: null, trialDays: null, missingPaymentMethod: null, prorationBehavior: null },
    ...{ cancelAt: null, cancelAtPeriodEnd: false },
  };
};
const create = (context: Context, input: NewSubscription) => createSubscription(context, callOf(scope), input, key);
/** Billing, which calls this once a redemption is counted. */
const whenReserved = (then: () => Promise<unknown> | undefined): Context => ({
  ...on.context,
  catalog: {
    ...on.context.catalog,
    async reserveRedemption(...call) {
      const answer = await on.context.catalog.reserveRedemption(...call);
      await then();
      return answer;
    },
  },
});
const redemptions = () => [...on.peers.redemptions.values()];
const tasks = () =>
  on.test.admin(
    "select kind, due_at > now() + interval '20 seconds' as is_later from billing.catalog_tasks where account_id = $1",
    [scope.accountId],
  );
const made = () => on.test.admin('select id from billing.subscriptions where account_id = $1', [scope.accountId]);

describe('the redemption of a coupon', () => {
  it('is released at once where a creation is refused: the same key succeeds then [D14.92]', async () => {
    const database = on.test.open('billing', { ...patience, lockTimeoutMs: 100 });
    const input = inputWithCoupon();
    const taken = Promise.withResolvers<void>();
    const finished = Promise.withResolvers<void>();
    onTestFinished(() => finished.resolve());
    const holder = withTx(on.database, scope, async (tx) => {
      await tx.execute(takeNumber, scope);
      taken.resolve();
      await finished.promise;
    });
    await taken.promise;
    await expect(create({ ...on.context, database }, input)).rejects.toMatchObject({ code: 'lock_timeout' });
    expect(redemptions()).toEqual(['released']);
    expect(await tasks()).toEqual([]);
    finished.resolve();
    await holder;
    expect(await create(on.context, input)).toMatchObject({ status: 'active', discounts: [{ couponId }] });
  });

  it('is released at once where another request with the key made the subscription [D1.1, D14.92]', async () => {
    const input = inputWithCoupon();
    let first: Awaited<ReturnType<typeof create>> | undefined;
    const context = whenReserved(async () => {
      first = await create(on.context, input);
    });
    expect((await create(context, input)).subscriptionId).toBe(first?.subscriptionId);
    expect(redemptions()).toEqual(['released', 'reserved']);
    expect(await made()).toHaveLength(1);
  });

  it('is released at once where another request is at work under the key [D1.1, D14.92]', async () => {
    const input = inputWithCoupon();
    turnFailpointsOn();
    armFailpoint('subscription.written', { action: 'error', skip: 0 });
    const second = create(
      whenReserved(() => expect(create(on.context, input)).rejects.toThrow('failpoint')),
      input,
    );
    await expect(second).rejects.toMatchObject({ code: 'idempotency_key_in_use' });
    expect(redemptions()).toEqual(['released', 'reserved']);
  });

  it.each([
    ['a creation', (context: Context) => createSubscription(context, callOf(scope), inputWithCoupon(), undefined)],
    [
      'an update',
      async (context: Context) => {
        const { subscriptionId } = await sell(on, scope);
        const asked = { discount: { couponId, promoCode: null }, clearsDiscounts: false };
        return updateSubscription(context, callOf(scope), subscriptionId, asked);
      },
    ],
  ])('stays with %s whose COMMIT arrives after its connection was lost', async (_what, write) => {
    let late: LateCommit | undefined;
    onTestFinished(() => late?.arrive());
    const context = whenReserved(() => {
      late = loseNextCommit(on.database);
    });
    await expect(write(context)).rejects.toMatchObject({ code: 'service_unavailable' });
    expect(redemptions()).toEqual(['reserved']);
    expect(await tasks()).toEqual([{ kind: 'release_unless_written', is_later: true }]);
    await late?.arrive();
    await settleCatalogTasks(on.context).run(new AbortController().signal);
    expect(redemptions()).toEqual([expect.stringMatching(/^(reserved|final)$/)]);
    expect(await made()).toHaveLength(1);
  });
});

const takeNumber = scoped<never>(
  'test.take_number',
  'insert into billing.invoice_numbers (account_id, test_mode, next) values ($1, $2, 1)',
);

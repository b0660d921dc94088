import { scoped, withTx } from '@eligo/postgres';
import { waitUntil } from '@eligo/testkit';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { asleep, type Fixture, openFixture, receiver, refundEvent, someScope } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());

it('a process that was turned away from an endpoint which another one then served asks for it as often as at first', async () => {
  const scope = someScope();
  const { webhookId } = await on.endpoint(scope, 'http://127.0.0.1:9/hooks');
  on.webhooks.sender = asleep;
  const claims = vi.spyOn(on.database, 'checkOut');
  const begun = () => claims.mock.calls.length;
  const turnAway = async () => {
    await on.consume(refundEvent(scope));
    await on.admin(
      `update webhooks.lanes set owner = 'another', lease_until = now() + interval '1 hour' where endpoint_id = $1`,
      [webhookId],
    );
    claims.mockClear();
    on.worker.wake(scope, [webhookId]);
  };

  await turnAway();
  await waitUntil(() => begun() >= 5);
  await on.admin(
    `with served as (
       update webhooks.deliveries set status = 'succeeded', delivered_at = now(), next_attempt_at = null where endpoint_id = $1)
     update webhooks.lanes set lease_until = null where endpoint_id = $1`,
    [webhookId],
  );
  const before = begun();
  await waitUntil(() => begun() > before);
  await on.worker.idle();

  // The first claim, and twenty more.
  await turnAway();
  await waitUntil(() => begun() === 21);
  claims.mockRestore();
  expect(on.errors).toEqual([]);
});

it('a process comes back to an endpoint whose lane another transaction had locked', async () => {
  const scope = someScope();
  const shop = await receiver();
  const { webhookId } = await on.endpoint(scope, shop.url);
  on.webhooks.sender = asleep;
  await on.consume(refundEvent(scope));
  const unlock = Promise.withResolvers<void>();
  const locked = Promise.withResolvers<void>();
  const lock = withTx(on.database, scope, async (tx) => {
    await tx.rows(lockLane, scope, [webhookId]);
    locked.resolve();
    await unlock.promise;
  });
  await locked.promise;
  const claims = vi.spyOn(on.database, 'checkOut');
  on.worker.wake(scope, [webhookId]);
  await waitUntil(() => claims.mock.calls.length >= 2);
  claims.mockRestore();
  expect(shop.received).toHaveLength(0);

  unlock.resolve();
  await lock;
  await waitUntil(() => shop.received.length === 1);
  await on.worker.idle();
  await shop.close();
});

const lockLane = scoped(
  'lanes.lock_by_test',
  'select endpoint_id from webhooks.lanes where account_id = $1 and test_mode = $2 and endpoint_id = $3 for update',
);

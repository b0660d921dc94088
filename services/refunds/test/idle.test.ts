import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Fixture, openFixture, someScope, untilStatus } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());

it('what is put off wakes the sweep when its pause ends', async () => {
  const scope = someScope();
  const session = await on.paid(scope, { hsa: 2_000 });
  // Idle, the sweep sleeps 15 s from here on.
  expect(await on.service.jobs.runOnce('sweep-refunds')).toEqual({ dueInMs: undefined });
  on.service.jobs.start();
  await on.fault({ call: 'refunds.create', kind: 'drop_before' });
  const startedAt = performance.now();
  const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
  await untilStatus(on, scope, refund?.refundId ?? '', 'succeeded');
  expect(performance.now() - startedAt).toBeLessThan(10_000);
});

it('the sweep sleeps until the next look at a refund that went through, and not a second at a time', async () => {
  const next = (await on.service.jobs.runOnce('sweep-refunds')) as { dueInMs?: number };
  expect(next.dueInMs).toBeGreaterThan(30_000);
  expect(next.dueInMs).toBeLessThanOrEqual(60_000);
});

it('old keys are removed a batch after the other until none is left', async () => {
  await on.admin(
    `insert into refunds.idempotency_keys (account_id, test_mode, endpoint, key, request_hash, lease_until, state, status, body, created_at)
     select 'facct_old', true, 'POST /v1/refunds', 'k' || n, decode(repeat('00', 32), 'hex'), now(), 'finished', 200, '', now() - interval '31 days'
       from generate_series(1, 1500) n`,
  );
  expect(await on.service.jobs.runOnce('prune-keys')).toBe(true);
  expect(await on.service.jobs.runOnce('prune-keys')).toBe(false);
  expect(await on.admin('select 1 from refunds.idempotency_keys')).toEqual([]);
});

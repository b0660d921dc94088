import { newId } from '@eligo/values';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { WaitingWalk } from '../src/jobs/delivery/waiting-walk.ts';
import { type Fixture, openFixture } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
beforeEach(() => on.admin('truncate webhooks.endpoints, webhooks.events cascade'));

// One endpoint for each of so many accounts, in the order of their ids; each has a delivery that waits for this long.
async function waiting(waitMs: readonly number[]): Promise<string[]> {
  const ids = waitMs.map(() => newId('account'));
  const values = [ids, waitMs];
  const each = 'unnest($1::text[], $2::float8[]) as e (id, wait_ms)';
  await on.admin(
    `insert into webhooks.endpoints (account_id, test_mode, id, url, events, status, created_at)
     select id, true, 'fwh_' || id, 'http://127.0.0.1/', '{*}', 'enabled', now() from ${each}`,
    values,
  );
  await on.admin(
    `insert into webhooks.lanes (account_id, test_mode, endpoint_id) select id, true, 'fwh_' || id from ${each}`,
    values,
  );
  await on.admin(
    `insert into webhooks.events (account_id, test_mode, id, event_type, body, request_id, traceparent, occurred_at)
     select id, true, 'fevt_' || id, 'refund.created', '', '', '', now() from ${each}`,
    values,
  );
  await on.admin(
    `insert into webhooks.deliveries (account_id, test_mode, id, endpoint_id, event_id, event_type, status, next_attempt_at, created_at)
     select id, true, 'fdel_' || id, 'fwh_' || id, 'fevt_' || id, 'refund.created', 'pending', now() + wait_ms * interval '1 ms', now() from ${each}`,
    values,
  );
  return ids;
}

const found = async (walk: WaitingWalk) => {
  const { endpoints, dueInMs } = await walk.sweep(on.database, on.clock.now());
  return { accounts: endpoints.map(({ scope }) => scope.accountId), dueInMs };
};

const minute = 60_000;

test('a sweep reads some pages of the waiting endpoints, the next one goes on, and the last knows when the first is due', async () => {
  const accounts = await waiting([minute, -1, 2 * minute, 3 * minute, 4 * minute, -1, 5 * minute, -1, 6 * minute]);
  const walk = new WaitingWalk('one', { endpointsOfPage: 2, mostPages: 2 });
  expect(await found(walk)).toEqual({ accounts: [accounts[1]], dueInMs: 1_000 });
  expect(await found(walk)).toEqual({ accounts: [accounts[5], accounts[7]], dueInMs: 1_000 });
  const last = await found(walk);
  expect(last.accounts).toEqual([]);
  expect(last.dueInMs).toBeGreaterThan(minute - 30_000);
  expect(last.dueInMs).toBeLessThanOrEqual(minute);
  expect(await found(walk)).toEqual({ accounts: [accounts[1]], dueInMs: 1_000 });
});

test('a page that ends with the last waiting endpoint ends the round with the page after it', async () => {
  await waiting([minute, minute]);
  const walk = new WaitingWalk('one', { endpointsOfPage: 2, mostPages: 2 });
  const { dueInMs } = await found(walk);
  expect(dueInMs).toBeGreaterThan(minute - 30_000);
});

test('a sweep that found enough leaves the other pages to the next one', async () => {
  const accounts = await waiting([-1, -1, -1]);
  const walk = new WaitingWalk('one', { endpointsOfPage: 1, mostPages: 10, mostEndpoints: 2 });
  expect(await found(walk)).toEqual({ accounts: accounts.slice(0, 2), dueInMs: 1_000 });
  expect(await found(walk)).toEqual({ accounts: accounts.slice(2), dueInMs: undefined });
});

test('without waiting deliveries no sweep is wanted', async () => {
  expect(await found(new WaitingWalk('one'))).toEqual({ accounts: [], dueInMs: undefined });
});

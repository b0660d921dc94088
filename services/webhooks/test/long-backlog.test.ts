import type { Scope } from '@eligo/postgres';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, test } from 'vitest';
import { deleteEndpoint } from '../src/actions/delete-endpoint.ts';
import { disableEndpoint } from '../src/actions/disable-endpoint.ts';
import { updateEndpoint } from '../src/actions/update-endpoint.ts';
import { exhaustDeliveries } from '../src/jobs/exhaust-deliveries.ts';
import { purgeEvents } from '../src/jobs/purge-events.ts';
import { purgeEvents as purgeSome } from '../src/store/events.ts';
import { type Fixture, inScope, openFixture, type Receiver, receiver, rowsOf, someScope } from './fixture.ts';

let on: Fixture;
let shop: Receiver;

beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
beforeEach(async () => {
  shop = await receiver();
});
afterEach(() => shop.close());

describe('a backlog that is longer than one statement may change', () => {
  const backlog = 1_500;
  const long = (scope: Scope, webhookId: string) =>
    on.admin(
      `with e as (
         insert into webhooks.events (account_id, test_mode, id, event_type, body, request_id, traceparent, occurred_at)
         select $1, true, 'fevt_' || n, 'refund.created', '', '', '', now() from generate_series(1, ${backlog}) n returning id)
       insert into webhooks.deliveries (account_id, test_mode, id, endpoint_id, event_id, event_type, status, next_attempt_at, created_at)
       select $1, true, 'fdel_' || id, $2, id, 'refund.created', 'pending', now(), now() from e`,
      [scope.accountId, webhookId],
    );
  const statuses = async (scope: Scope) =>
    Object.fromEntries(
      Object.entries(Object.groupBy(await rowsOf(on, 'deliveries', scope), ({ status }) => String(status))).map(
        ([status, rows]) => [status, rows?.length],
      ),
    );

  const exhausted = async () => {
    const { run } = exhaustDeliveries(on);
    while (await run(new AbortController().signal));
  };

  it('is exhausted with a deleted endpoint, some now and the others by the job, and none of it is sent', async () => {
    const scope = someScope();
    const { webhookId } = await on.endpoint(scope, shop.url);
    await long(scope, webhookId);
    await deleteEndpoint(on.webhooks, scope, webhookId);
    expect(await statuses(scope)).toEqual({ exhausted: 1_000, pending: 500 });
    await on.worker.sweep();
    await on.worker.idle();
    expect(shop.received).toEqual([]);
    await exhausted();
    expect(await statuses(scope)).toEqual({ exhausted: backlog });
  });

  it('is sent where the endpoint has been enabled again meanwhile', async () => {
    const scope = someScope();
    const { webhookId } = await on.endpoint(scope, shop.url);
    await long(scope, webhookId);
    await inScope(on, scope, (tx) => disableEndpoint(tx, scope, webhookId, 'test', on.clock.now()));
    await updateEndpoint(on.webhooks, scope, webhookId, {});
    await exhausted();
    await on.worker.sweep();
    await on.worker.idle();
    expect(await statuses(scope)).toEqual({ exhausted: 1_000, succeeded: 500 });
  });
});

describe('a webhooks service', () => {
  it('reported no error of its own', () => expect(on.errors).toEqual([]));
});

test('an old event with more deliveries than one statement may delete is forgotten in parts, and goes with the last', async () => {
  const scope = someScope();
  await on.admin(
    `insert into webhooks.events (account_id, test_mode, id, event_type, body, request_id, traceparent, occurred_at, created_at)
     values ($1, true, 'fevt_old', 'refund.created', '', '', '', now(), now() - interval '31 days')`,
    [scope.accountId],
  );
  await on.admin(
    `with e as (
       insert into webhooks.endpoints (account_id, test_mode, id, url, events, status, created_at)
       select $1, true, 'fwh_' || n, 'http://127.0.0.1/', '{*}', 'enabled', now() from generate_series(1, 2500) n returning id), tried as (
       insert into webhooks.attempts (account_id, test_mode, delivery_id, started_at, epoch, duration_ms)
       select $1, true, 'fdel_' || id, now(), 1, 1 from e)
     select count(*) from e`,
    [scope.accountId],
  );
  await on.admin(
    `insert into webhooks.deliveries (account_id, test_mode, id, endpoint_id, event_id, event_type, status, attempts, delivered_at, created_at)
     select account_id, true, 'fdel_' || id, id, 'fevt_old', 'refund.created', 'succeeded', 1, now(), now() from webhooks.endpoints where account_id = $1`,
    [scope.accountId],
  );
  const left = async () => {
    const [events, deliveries, attempts] = await Promise.all(
      ['events', 'deliveries', 'attempts'].map(async (table) => (await rowsOf(on, table, scope)).length),
    );
    return { events, deliveries, attempts };
  };
  expect(await inScope(on, scope, (tx) => purgeSome(tx, scope, ['fevt_old']))).toBe(true);
  expect(await left()).toEqual({ events: 1, deliveries: 500, attempts: 500 });
  await purgeEvents(on);
  expect(await left()).toEqual({ events: 0, deliveries: 0, attempts: 0 });
});

import type { Scope } from '@eligo/postgres';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { exhaustDeliveries } from '../src/jobs/exhaust-deliveries.ts';
import { purgeEvents, purgeOldEvents } from '../src/jobs/purge-events.ts';
import { purgeEvents as purgeSome } from '../src/store/events.ts';
import { type Fixture, inScope, openFixture, rowsOf, someScope } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
afterEach(() => on.admin('drop trigger if exists fails on webhooks.deliveries'));

/** Has every change of this account's deliveries fail. */
async function breakAccount({ accountId }: Scope): Promise<void> {
  await on.admin(`create or replace function webhooks.fails() returns trigger language plpgsql as $$
    begin raise 'broken on purpose'; end $$`);
  await on.admin(`create trigger fails before update or delete on webhooks.deliveries for each row
    when (old.account_id = '${accountId}') execute function webhooks.fails()`);
}

/** Events of the account from so many days ago, each with a delivery to one endpoint of this status. */
async function events(scope: Scope, count: number, days: number, status = 'enabled'): Promise<void> {
  const { webhookId } = await on.endpoint(scope, 'http://127.0.0.1/');
  const at = `now() - interval '${days} days'`;
  await on.admin(
    `with e as (
       insert into webhooks.events (account_id, test_mode, id, event_type, body, request_id, traceparent, occurred_at, created_at)
       select $1, true, 'fevt_' || $1 || n, 'refund.created', '', '', '', ${at}, ${at} from generate_series(1, ${count}) n returning id),
     changed as (
       update webhooks.endpoints set status = '${status}', disabled_at = case when '${status}' = 'disabled' then now() end
        where account_id = $1)
     insert into webhooks.deliveries (account_id, test_mode, id, endpoint_id, event_id, event_type, status, next_attempt_at, created_at)
     select $1, true, 'fdel_' || id, $2, id, 'refund.created', 'pending', ${at}, ${at} from e`,
    [scope.accountId, webhookId],
  );
}

const left = async (scope: Scope) => {
  const counts = ['events', 'deliveries', 'attempts'].map(async (table) => (await rowsOf(on, table, scope)).length);
  return Promise.all(counts);
};
const signal = new AbortController().signal;

describe('the purge of old events', () => {
  it('deletes the attempts of one delivery in parts, and the delivery and its event after the last', async () => {
    const scope = someScope();
    await events(scope, 1, 31);
    await on.admin(
      `insert into webhooks.attempts (account_id, test_mode, delivery_id, started_at, epoch, duration_ms)
       select account_id, true, id, now() + n * interval '1 second', 1, 1 from webhooks.deliveries, generate_series(1, 11000) n
        where account_id = $1`,
      [scope.accountId],
    );
    const [event] = await rowsOf(on, 'events', scope);
    const some = () => inScope(on, scope, (tx) => purgeSome(tx, scope, [String(event?.id)]));
    expect(await some()).toBe(true);
    expect(await left(scope)).toEqual([1, 1, 6_000]);
    expect(await some()).toBe(true);
    expect(await left(scope)).toEqual([1, 1, 1_000]);
    expect(await some()).toBe(false);
    expect(await left(scope)).toEqual([0, 0, 0]);
  });

  it('continues with the events of other accounts when those of one cannot be deleted, and fails at the end', async () => {
    const [broken, other] = [someScope(), someScope()];
    await events(broken, 1, 40);
    await events(other, 1, 31);
    await breakAccount(broken);
    await expect(purgeEvents(on)).rejects.toMatchObject({ errors: [{ message: 'broken on purpose' }] });
    expect(await left(broken)).toEqual([1, 1, 0]);
    expect(await left(other)).toEqual([0, 0, 0]);
    await on.admin('drop trigger fails on webhooks.deliveries');
    expect(await purgeEvents(on)).toBe(false);
    expect(await left(broken)).toEqual([0, 0, 0]);
  });

  it('reaches the events behind a whole page that cannot be deleted, and tries that page again after them', async () => {
    const [broken, other] = [someScope(), someScope()];
    await events(broken, 100, 40);
    await events(other, 1, 31);
    await breakAccount(broken);
    const { run } = purgeOldEvents(on.webhooks);
    await expect(run(signal)).rejects.toMatchObject({ errors: [{ message: 'broken on purpose' }] });
    expect(await left(other)).toEqual([1, 1, 0]);
    expect(await run(signal)).toBe(false);
    expect(await left(other)).toEqual([0, 0, 0]);
    await on.admin('drop trigger fails on webhooks.deliveries');
    while (await run(signal));
    expect(await left(broken)).toEqual([0, 0, 0]);
  });
});

describe('the job that gives up deliveries', () => {
  it('continues with other endpoints when the deliveries of one cannot be given up, and fails at the end', async () => {
    const scopes = [someScope(), someScope()].sort((a, b) => (a.accountId < b.accountId ? -1 : 1));
    const [broken = someScope(), other = someScope()] = scopes;
    for (const scope of scopes) await events(scope, 2, 1, 'disabled');
    await breakAccount(broken);
    const { run } = exhaustDeliveries(on);
    await expect(run(signal)).rejects.toMatchObject({ errors: [{ message: 'broken on purpose' }] });
    for (const row of await rowsOf(on, 'deliveries', other)) expect(row).toMatchObject({ status: 'exhausted' });
    for (const row of await rowsOf(on, 'deliveries', broken)) expect(row).toMatchObject({ status: 'pending' });
    await on.admin('drop trigger fails on webhooks.deliveries');
    await run(signal);
    for (const row of await rowsOf(on, 'deliveries', broken)) expect(row).toMatchObject({ status: 'exhausted' });
  });
});

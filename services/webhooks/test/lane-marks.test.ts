import type { ServerResponse } from 'node:http';
import { declaredStatements, type Scope } from '@eligo/postgres';
import { readStatements, untilLockWait, waitUntil } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fanOutEvents } from '../src/actions/fan-out-events.ts';
import type { Sender } from '../src/context.ts';
import { Lanes, oldestHanded } from '../src/jobs/delivery/lanes.ts';
import type { DeliveryWorker } from '../src/jobs/delivery/worker.ts';
import { claimDeliveries, releaseLanes, renewLanes } from '../src/store/lanes.ts';
import {
  asleep,
  type Fixture,
  inScope,
  openFixture,
  type Receiver,
  receiver,
  refundEvent,
  rowsOf,
  someScope,
} from './fixture.ts';

let on: Fixture;
let readings: Awaited<ReturnType<typeof readStatements>>;
beforeAll(async () => {
  on = await openFixture();
  readings = await readStatements(on);
});
afterAll(() => on.close());

let shop: Receiver;
beforeEach(async () => {
  shop = await receiver();
});
afterEach(async () => {
  on.webhooks.sender = on.worker;
  await shop.close();
});

// Plans like a sender that has room, and sends nothing.
const silent: Sender = {
  ...asleep,
  rooms: (_scope, endpoints, most) => new Map(endpoints.map(({ webhookId }) => [webhookId, most])),
};
const asSilent = () => ({ owner: silent.owner, at: on.clock.now(), leaseMs: 60_000 });

it('the mark from which a recovery reads a lane moves with each renewal, however fresh the lease is', async () => {
  const scope = someScope();
  const { webhookId } = await on.endpoint(scope, 'http://127.0.0.1:9/hooks');
  on.webhooks.sender = silent;
  for (let count = 1; count <= 3; count++) {
    await on.consume(refundEvent(scope));
    const latest = (await deliveriesOf(scope)).at(-1)?.id ?? '';
    await inScope(on, scope, (tx) => renewLanes(tx, scope, [{ webhookId, oldest: latest }], asSilent()));
    expect(await rowsOf(on, 'lanes', scope)).toMatchObject([{ handed_from: latest }]);
  }
});

describe('deliveries that are planned by a transaction whose COMMIT is not answered', () => {
  it('have the process look after their lanes', async () => {
    const scope = someScope();
    const { webhookId } = await on.endpoint(scope, 'http://127.0.0.1:9/hooks');
    const looked: string[] = [];
    on.webhooks.sender = { ...silent, watchLanes: (_scope, ids) => void looked.push(...ids) };
    await on.admin(`create function webhooks.hold_commit() returns trigger language plpgsql as $$
        begin perform pg_sleep(30); return null; end $$;
      create constraint trigger hold_commit after insert on webhooks.deliveries deferrable initially deferred
        for each row when (new.account_id = '${scope.accountId}') execute function webhooks.hold_commit()`);
    const planning = inScope(on, scope, (tx) => fanOutEvents(on.webhooks, tx, scope, [refundEvent(scope)]));
    const lost = expect(planning).rejects.toThrow();
    await waitUntil(async () => {
      const killed = await on.admin(
        "select pg_terminate_backend(pid) from pg_stat_activity where wait_event = 'PgSleep' and datname = current_database()",
      );
      return killed.length > 0;
    });
    await lost;
    await on.admin('drop function webhooks.hold_commit() cascade');
    expect(looked).toEqual([webhookId]);
  });

  it('are sent by that process, which nobody has handed them to', async () => {
    const scope = someScope();
    const { webhookId } = await on.endpoint(scope, shop.url);
    const { owner, leaseMs } = on.worker;
    on.webhooks.sender = { ...silent, owner, leaseMs };
    const event = refundEvent(scope);
    await on.consume(event);
    expect(await rowsOf(on, 'lanes', scope)).toMatchObject([{ owner }]);
    await on.worker.sweep();
    expect(shop.received).toEqual([]);
    on.worker.watchLanes(scope, [webhookId]);
    await on.worker.sweep();
    await waitUntil(() => shop.received.length === 1);
    expect(idsReceived()).toEqual([event.eventId]);
  });
});

describe('a lane with an old retry in hand', () => {
  it('is recovered by reading what was in hand, and loses no delivery [D14.348]', async () => {
    const scope = someScope();
    const { webhookId, dying, old, first, hold } = await withOldRetryInHand(scope);
    const passed = await addDeliveries(scope, webhookId, 20_000);
    hold(true);
    const last = refundEvent(scope);
    await on.consume(last);
    await waitUntil(() => shop.received.length === 3);
    for (let page = 1; page <= 3; page++) await dying.sweep();
    const [lane] = await rowsOf(on, 'lanes', scope);
    expect(String(lane?.handed_from) > (passed.at(-1) ?? '')).toBe(true);
    hold(false);
    await lapse(scope);
    await recovered(5);
    expect(idsReceived()).toEqual([old, first, last.eventId, old, last.eventId].sort());
    expect(rowsReadBy('lanes.recover')).toBeLessThan(20);
    expect(rowsReadBy('lanes.renew')).toBeLessThanOrEqual(10_100);
  });

  it('keeps its mark before deliveries that a transaction plans while the lane is renewed [D14.348]', async () => {
    const scope = someScope();
    const { dying, hold } = await withOldRetryInHand(scope);
    hold(true);
    const event = refundEvent(scope);
    const planned = Promise.withResolvers<void>();
    const renewed = Promise.withResolvers<void>();
    const planning = inScope(on, scope, async (tx) => {
      await fanOutEvents(on.webhooks, tx, scope, [event]);
      planned.resolve();
      await renewed.promise;
    });
    await planned.promise;
    const renewal = dying.sweep();
    await untilLockWait(on.admin, 'the renewal', { pattern: 'held.oldest' });
    renewed.resolve();
    await Promise.all([planning, renewal]);
    await waitUntil(() => shop.received.length === 3);
    hold(false);
    await lapse(scope);
    await recovered(5);
    expect(idsReceived().filter((id) => id === event.eventId)).toHaveLength(2);
  });

  /** A process that has a retry in hand, of which the receiver holds the answer, and was handed another delivery since, which it has sent. */
  async function withOldRetryInHand(scope: Scope) {
    let holds = true;
    const held: ServerResponse[] = [];
    shop.answerWith((_request, response) => void (holds ? held.push(response) : response.end()));
    const { webhookId } = await on.endpoint(scope, shop.url);
    const [old, first] = [refundEvent(scope), refundEvent(scope)];
    on.webhooks.sender = asleep;
    await on.consume(old);
    await on.admin(
      `update webhooks.deliveries set attempts = 8, created_at = now() - interval '3 days' where account_id = $1`,
      [scope.accountId],
    );
    // Renews its lanes when the test says so.
    const dying: DeliveryWorker = on.anotherWorker({ leaseMs: 3_600_000 });
    on.webhooks.sender = dying;
    await dying.sweep();
    await waitUntil(() => held.length === 1);
    holds = false;
    await on.consume(first);
    await waitUntil(async () => (await deliveriesOf(scope)).some(({ status }) => status === 'succeeded'));
    const hold = (next: boolean) => {
      holds = next;
    };
    return { webhookId, dying, old: old.eventId, first: first.eventId, hold };
  }
});

describe('a lane with more deliveries behind its mark than one statement reads', () => {
  const handed = 25_000;
  const lost = 25;
  let scope: Scope;
  let webhookId: string;
  let ids: string[];

  // As a process leaves it whose renewals failed for some hours.
  beforeEach(async () => {
    scope = someScope();
    webhookId = (await on.endpoint(scope, shop.url)).webhookId;
    ids = await addDeliveries(scope, webhookId, handed, handed / lost);
    await on.admin(
      `update webhooks.lanes set owner = $2, lease_until = now() + interval '1 hour', handed_from = $3 where endpoint_id = $1`,
      [webhookId, silent.owner, ids[0]],
    );
  });

  it('is recovered page by page, and loses no delivery [D14.348]', async () => {
    await lapse(scope);
    await recovered(lost);
    expect(new Set(idsReceived()).size).toBe(lost);
    expect(shop.received).toHaveLength(lost);
    expect(await rowsOf(on, 'lanes', scope)).toMatchObject([{ lease_until: null, handed_from: null }]);
    expect(rowsReadBy('lanes.recover')).toBeLessThanOrEqual(10_100);
  });

  it('moves its mark by a page with each renewal [D14.348]', async () => {
    const oldest = newId('delivery');
    for (const place of [ids[9_999], ids[19_998], oldest]) {
      expect(await inScope(on, scope, (tx) => renewLanes(tx, scope, [{ webhookId, oldest }], asSilent()))).toContain(
        webhookId,
      );
      expect(await rowsOf(on, 'lanes', scope)).toMatchObject([{ owner: silent.owner, handed_from: place }]);
    }
    expect((await deliveriesOf(scope)).filter((one) => one.next_attempt_at !== null)).toHaveLength(lost);
    expect(rowsReadBy('lanes.renew')).toBeLessThanOrEqual(10_100);
  });

  it('is given up after its first page, and recovered from there [D14.348]', async () => {
    expect(await inScope(on, scope, (tx) => releaseLanes(tx, scope, [webhookId], asSilent()))).toContain(webhookId);
    expect(await rowsOf(on, 'lanes', scope)).toMatchObject([{ owner: '', handed_from: ids[9_999] }]);
    expect(rowsReadBy('lanes.release')).toBeLessThanOrEqual(10_100);
    await recovered(lost);
    expect(shop.received).toHaveLength(lost);
    expect(await rowsOf(on, 'lanes', scope)).toMatchObject([{ lease_until: null, handed_from: null }]);
  });

  it('is taken by no claim before all of it is recovered [D14.348]', async () => {
    await lapse(scope);
    const due = newId('delivery');
    await addDeliveries(scope, webhookId, 1, 1);
    await on.admin('update webhooks.deliveries set next_attempt_at = now() where endpoint_id = $1 and id > $2', [
      webhookId,
      due,
    ]);
    const claimant = { owner: on.worker.owner, at: on.clock.now(), leaseMs: 60_000 };
    const request = { webhookId, inHand: [], room: 1 };
    const { deliveries } = await inScope(on, scope, (tx) => claimDeliveries(tx, scope, [request], claimant));
    expect(deliveries).toEqual([]);
    expect(await rowsOf(on, 'lanes', scope)).toMatchObject([{ owner: silent.owner, handed_from: ids[0] }]);
  });
});

it('a lane for which two transactions plan is given up by neither before both have handed over [D14.348]', () => {
  const lanes = new Lanes({ perEndpointUnderWay: 4, underWay: 16, perEndpoint: 8, total: 64, atOnce: 32 });
  const scope = someScope();
  const webhookId = 'fwh_1';
  const plan = () => {
    lanes.rooms(scope, [{ webhookId }], 1);
    const [deliveryId, eventId] = [newId('delivery'), newId('event')];
    const sending = { epoch: 1, url: '', body: undefined, requestId: '', traceparent: '', sealedSecrets: [] };
    return { ...{ deliveryId, webhookId, eventId, eventType: 'refund.created', attempts: 0, dueAt: null }, ...sending };
  };
  const [one, other] = [plan(), plan()];
  lanes.handedOver(scope, [one]);
  expect(lanes.releasedBy(scope, [one])).toEqual([]);
  lanes.done(scope, [one]);
  const mark = oldestHanded(lanes.laneOf(scope, webhookId), newId('delivery'));
  expect(mark > one.deliveryId && mark < other.deliveryId).toBe(true);
  lanes.handedOver(scope, [other]);
  expect(lanes.releasedBy(scope, [other])).toEqual([webhookId]);
});

describe('a webhooks service', () => {
  it('reported no error of its own', () => expect(on.errors).toEqual([]));
});

function idsReceived(): string[] {
  return shop.received.map(({ headers }) => String(headers['webhook-id'])).sort();
}

function rowsReadBy(statement: string): number {
  const { text = '' } = declaredStatements().find(({ name }) => name.startsWith(`${statement}:`)) ?? {};
  const reading = readings.get(text);
  if (reading === undefined) throw new Error(`${statement} has not run`);
  return reading.rows;
}

async function deliveriesOf(scope: Scope): Promise<{ id: string; status: unknown; next_attempt_at: unknown }[]> {
  const rows = await rowsOf(on, 'deliveries', scope);
  return rows
    .map(({ id, status, next_attempt_at }) => ({ id: String(id), status, next_attempt_at }))
    .sort((one, other) => (one.id < other.id ? -1 : 1));
}

/** Deliveries that are newer than all others: delivered, but of so many each the last was handed to a process. */
async function addDeliveries(scope: Scope, webhookId: string, count: number, oneLostOf = count + 1): Promise<string[]> {
  const ids = Array.from({ length: count }, () => newId('delivery'));
  await on.admin(
    `with added as (
       select d.id, newer.event_id, d.n % $6 = 0 as is_lost
         from unnest($3::text[]) with ordinality as d (id, n), lateral (select 'fevt_' || substr(d.id, 6) as event_id) newer
     ), events as (
       insert into webhooks.events (account_id, test_mode, id, event_type, body, request_id, traceparent, occurred_at)
       select $1, $2, event_id, 'refund.created', '{}', 'req', '', now() from added)
     insert into webhooks.deliveries (account_id, test_mode, id, endpoint_id, event_id, event_type, status, delivered_at, created_at)
     select $1, $2, id, $4, event_id, $5, case when is_lost then 'pending' else 'succeeded' end, case when not is_lost then now() end, now()
       from added`,
    [scope.accountId, scope.testMode, ids, webhookId, 'refund.created', oneLostOf],
  );
  // Autovacuum would tell the planner of so many rows at some time.
  await on.admin('analyze webhooks.deliveries, webhooks.events');
  return ids;
}

// As a minute after the process that has the lanes died.
async function lapse({ accountId }: Scope): Promise<void> {
  await on.admin(`update webhooks.lanes set lease_until = now() - interval '1 second' where account_id = $1`, [
    accountId,
  ]);
}

/** Sweeps, and waits until so many were received in all: a lane whose row its dead process still writes is claimed a moment later. */
async function recovered(received: number): Promise<void> {
  await on.worker.sweep();
  await waitUntil(() => shop.received.length >= received);
  await on.worker.idle();
}

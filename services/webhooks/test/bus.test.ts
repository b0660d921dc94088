import {
  append,
  connectNats,
  consume,
  type EventConnection,
  eventsMigrations,
  handleTogether,
  startRelay,
} from '@eligo/events';
import { Failure } from '@eligo/failures';
import { type Database, type Scope, withTx } from '@eligo/postgres';
import { PartlyFailed } from '@eligo/service';
import { type TestDatabase, type TestNats, testDatabase, testNats, untilLockWait, waitUntil } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { continueFanOuts } from '../src/actions/continue-fan-outs.ts';
import { fanOutEvents } from '../src/actions/fan-out-events.ts';
import { retryEvent } from '../src/actions/retry-event.ts';
import { publicEvents } from '../src/consumers/public-events.ts';
import type { DeliveryShare, Sender } from '../src/context.ts';
import { mostPlanned } from '../src/domain/delivery.ts';
import { continueFanOut } from '../src/jobs/fan-out.ts';
import { insertWaitingDeliveries } from '../src/store/deliveries.ts';
import { fanOutLagSeconds } from '../src/store/fan-outs.ts';
import {
  ample,
  asleep,
  type Fixture,
  openFixture,
  type Receiver,
  receiver,
  refundEvent,
  rowsOf,
  someScope,
} from './fixture.ts';

const logger = { info: () => undefined, warn: () => undefined, error: () => undefined };

let nats: TestNats;
let on: Fixture;
let producer: TestDatabase;
let refunds: Database;
let shop: Receiver;
const running: { stop(): Promise<void> }[] = [];
const connections: EventConnection[] = [];

beforeAll(async () => {
  [nats, on, producer, shop] = await Promise.all([
    testNats(),
    openFixture(),
    testDatabase({ name: 'refunds', migrations: [eventsMigrations] }),
    receiver(),
  ]);
  // The schemas of one installation are in one database; here each has one of its own.
  const [{ at } = {}] = await on.admin<{ at: string }>('select created_at::text as at from eligo.installation');
  await producer.admin('update eligo.installation set created_at = $1', [at]);
  refunds = producer.open('refunds');
  const connect = async (service: string) => {
    const connection = await connectNats({ url: nats.url, service, logger });
    connections.push(connection);
    return connection;
  };
  running.push(startRelay({ database: refunds, service: 'refunds', connection: await connect('refunds'), logger }));
  running.push(
    consume({
      ...publicEvents(on.webhooks),
      ...{ database: on.database, connection: await connect('webhooks'), service: 'webhooks', logger },
    }),
  );
});
afterAll(async () => {
  await Promise.all(running.map((one) => one.stop()));
  await Promise.all(connections.map((one) => one.close()));
  await shop.close();
  await on.close();
  await producer.drop();
  await nats.stop();
});

describe('from the commit of a change to its receiver', () => {
  it('every public event arrives once, signed, and no command does', async () => {
    const scope = someScope();
    const { secret } = await on.endpoint(scope, shop.url);
    const sent: string[] = [];
    for (let i = 0; i < 100; i++) {
      const type = i % 10 === 0 ? 'command.refund' : 'refund.created';
      const [id = ''] = await appendRefunds(scope, 1, type);
      if (type === 'refund.created') sent.push(id);
    }
    await waitUntil(() => shop.received.length >= sent.length);
    await on.worker.idle();
    expect(shop.received.map(({ headers }) => headers['webhook-id']).sort()).toEqual(sent.sort());
    for (const { body, headers } of shop.received) {
      const text = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
      new Webhook(secret).verify(body, text);
    }
  });
});

describe('an account with a thousand endpoints', () => {
  it('delays no other account, whose events come behind hundreds of its own [D14.313]', async () => {
    const [many, other] = [someScope(), someScope()];
    // No job runs.
    await endpointsOf(many, 1_000);
    await on.endpoint(other, shop.url);
    shop.received.length = 0;
    await appendRefunds(many, 300);
    const [sent] = await appendRefunds(other, 1);
    await waitUntil(() => shop.received.length === 1);
    expect(shop.received[0]?.headers['webhook-id']).toBe(sent);
    // They have left the bus, so that no write is held back for them.
    await waitUntil(async () => (await rowsOf(on, 'events', many)).length === 300);
    const planned = await plannedTogether(many);
    expect(planned.reduce((sum, together) => sum + together, 0)).toBeLessThan(10 * mostPlanned);
    await on.admin('delete from webhooks.fan_outs where account_id = $1', [many.accountId]);
  });

  it('has no more than 1,024 deliveries planned by one transaction, and each planned once [D14.313]', async () => {
    const scope = someScope();
    await endpointsOf(scope, mostPlanned + 100);
    const events = await consumeTogether(scope, 3);
    events.sort((one, other) => (one.eventId < other.eventId ? -1 : 1));
    expect(await rowsOf(on, 'deliveries', scope)).toEqual([]);

    await continueAsleep(scope);
    // One that its account asks for again meanwhile is planned as a whole, and by no job.
    const [, second] = events;
    if (second === undefined) throw new Error('an event is missing');
    await retryEvent({ ...on.webhooks, sender: asleep }, scope, second.eventId);
    // A process of the release before plans it and leaves its fan-out as it is.
    await on.admin('insert into webhooks.fan_outs values ($1, true, $2)', [scope.accountId, second.eventId]);
    while (await continueAsleep(scope));
    expect(await rowsOf(on, 'fan_outs', scope)).toEqual([]);
    const byEvent = Map.groupBy(await rowsOf(on, 'deliveries', scope), (row) => row.event_id);
    expect(events.map(({ eventId }) => byEvent.get(eventId)?.length)).toEqual(events.map(() => mostPlanned + 100));
    const planned = await plannedTogether(scope);
    expect(planned.sort((one, other) => one - other)).toEqual([100, 100, mostPlanned, mostPlanned, mostPlanned + 100]);
  });

  it('is handed each delivery once, although a process of the release before plans one for a retry meanwhile [D14.313]', async () => {
    const scope = someScope();
    await endpointsOf(scope, 17);
    const events = await consumeTogether(scope, 64);
    await on.admin(
      `insert into webhooks.lanes (account_id, test_mode, endpoint_id) select account_id, test_mode, id from webhooks.endpoints where account_id = $1`,
      [scope.accountId],
    );
    const [first] = events.sort((one, other) => (one.eventId < other.eventId ? -1 : 1));
    if (first === undefined) throw new Error('an event is missing');
    const handed: string[] = [];
    const sender: Sender = {
      ...asleep,
      rooms: (_scope, endpoints, most) => new Map(endpoints.map(({ webhookId }) => [webhookId, most])),
      handOver: (_scope, deliveries) => void handed.push(...deliveries.map(({ deliveryId }) => deliveryId)),
    };
    const [begun, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const retry = withTx(on.database, scope, async (tx) => {
      const planned = { deliveryId: newId('delivery'), webhookId: `fwh_${'1'.padStart(26, '0')}` };
      await insertWaitingDeliveries(
        tx,
        scope,
        { eventId: first.eventId, eventType: first.type },
        [planned],
        new Date(),
      );
      begun.resolve();
      await end.promise;
    });
    await begun.promise;
    const going = continueFanOuts({ ...on.webhooks, sender }, scope);
    await untilLockWait(on.admin, 'the plan behind the retry');
    end.resolve();
    await Promise.all([retry, going]);
    expect(await rowsOf(on, 'deliveries', scope)).toHaveLength(60 * 17);
    expect(handed).toHaveLength(60 * 17 - 1);
  });

  it('has several events planned by one transaction as far as there is room, in turns with other accounts [D14.313]', async () => {
    const [many, few] = [someScope(), someScope()];
    for (const scope of [many, few]) {
      await endpointsOf(scope, 40);
      await consumeTogether(scope, 64);
    }
    const errors: unknown[] = [];
    const job = continueFanOut({ ...on.webhooks, sender: asleep }, (error) => errors.push(error));
    const counts: number[][] = [];
    for (;;) {
      const isMore = await job.run(new AbortController().signal);
      counts.push(await Promise.all([many, few].map(async (scope) => (await rowsOf(on, 'deliveries', scope)).length)));
      if (isMore !== true) break;
    }
    expect(counts.slice(0, 3)).toEqual([
      [1_000, 1_000],
      [2_000, 2_000],
      [2_560, 2_560],
    ]);
    expect([errors, await rowsOf(on, 'fan_outs', many)]).toEqual([[], []]);
  });

  it('that took its share has its events planned by the job once it may go on, and those for few endpoints at once [D14.371]', async () => {
    const [many, few] = [someScope(), someScope()];
    let isSpent = true;
    const share = { ...ample, mostPlanned: () => 100, isSpent: () => isSpent };
    const held = { ...on.webhooks, sender: asleep, share };
    await endpointsOf(many, 90);
    await endpointsOf(few, 64);
    const event = refundEvent(many);
    await withTx(on.database, many, (tx) => fanOutEvents(held, tx, many, [event]));
    await withTx(on.database, few, (tx) => fanOutEvents(held, tx, few, [refundEvent(few)]));
    const planned = async () => [await plannedTogether(many), await plannedTogether(few)];
    expect(await planned()).toEqual([[], [64]]);
    const job = continueFanOut(held, () => undefined);
    expect(await job.run(new AbortController().signal)).toBe(true);
    expect(await planned()).toEqual([[], [64]]);
    isSpent = false;
    await job.run(new AbortController().signal);
    expect(await planned()).toEqual([[90], [64]]);
    // A process that is short of time plans few at once.
    await endpointsOf(many, 20, 90);
    await withTx(on.database, many, (tx) => fanOutEvents(held, tx, many, [refundEvent(many)]));
    while (await continueFanOuts(held, many));
    expect((await plannedTogether(many)).sort((one, other) => one - other)).toEqual([10, 90, 100]);
  });

  it('has an event that many endpoints want retried as its share admits, and one that few want at once [D14.381]', async () => {
    const [many, few] = [someScope(), someScope()];
    let isSpent = false;
    const share: DeliveryShare = {
      ...ample,
      isSpent: () => isSpent,
      async planMany(_scope, plan) {
        if (isSpent) throw new Failure('rate_limited', { retryAfterSeconds: 1 });
        await plan();
      },
    };
    const held = { ...on.webhooks, sender: asleep, share };
    const [large, small] = [refundEvent(many), refundEvent(few)];
    await withTx(on.database, many, (tx) => fanOutEvents(held, tx, many, [large]));
    await withTx(on.database, few, (tx) => fanOutEvents(held, tx, few, [small]));
    await endpointsOf(many, 65);
    await endpointsOf(few, 64);
    const planned = async () => [await plannedTogether(many), await plannedTogether(few)];
    const refused = { code: 'rate_limited', retryAfterSeconds: 1 };
    isSpent = true;
    await expect(retryEvent(held, many, large.eventId)).rejects.toMatchObject(refused);
    expect(await planned()).toEqual([[], []]);
    await retryEvent(held, few, small.eventId);
    expect(await planned()).toEqual([[], [64]]);
    isSpent = false;
    await retryEvent(held, many, large.eventId);
    expect(await planned()).toEqual([[65], [64]]);
  });

  it('has no part planned for endpoints that want other events only [D14.313]', async () => {
    const scope = someScope();
    await endpointsOf(scope, 1_200);
    await on.admin(
      `update webhooks.endpoints set events = case when right(id, 1) < '5' then '{refund.created}'::text[] else '{refund.updated}'::text[] end
        where account_id = $1`,
      [scope.accountId],
    );
    await consumeTogether(scope, 4, ['refund.created', 'refund.updated']);
    while (await continueAsleep(scope));
    expect(await plannedTogether(scope)).toEqual([600, 600, 600, 600]);
  });

  it('waits for no event that fails: the others are planned, and its run counts as failed [D14.313]', async () => {
    const scope = someScope();
    await endpointsOf(scope, 40);
    const events = await consumeTogether(scope, 64);
    const [poison] = events.sort((one, other) => (one.eventId < other.eventId ? -1 : 1)).slice(2);
    await on.admin(
      `create function webhooks.fails() returns trigger language plpgsql as $$ begin raise 'broken on purpose'; end $$`,
    );
    await on.admin(
      `create trigger fails before insert on webhooks.deliveries for each row when (new.event_id = '${poison?.eventId}') execute function webhooks.fails()`,
    );
    const errors: unknown[] = [];
    const job = continueFanOut({ ...on.webhooks, sender: asleep }, (error) => errors.push(error));
    const answers: unknown[] = [];
    for (let runs = 0; runs < 20; runs++) answers.push(await job.run(new AbortController().signal));
    expect(await rowsOf(on, 'deliveries', scope)).toHaveLength(63 * 40);
    expect((await rowsOf(on, 'fan_outs', scope)).map((row) => row.event_id)).toEqual([poison?.eventId]);
    expect(await fanOutLagSeconds(on.database)).toBeGreaterThan(0);
    // Together with others, and alone.
    expect(errors).toHaveLength(2);
    expect(answers.filter((answer) => answer instanceof PartlyFailed)).toHaveLength(2);
    await on.admin('drop trigger fails on webhooks.deliveries');
  });

  it('gives half of the time to the statements of others [D14.313]', async () => {
    const scope = someScope();
    await endpointsOf(scope, 40);
    await consumeTogether(scope, 64);
    await on.admin('delete from webhooks.fan_outs where account_id <> $1', [scope.accountId]);
    let [beganMs, endedMs] = [0, 0];
    const timed: Sender = {
      ...asleep,
      rooms() {
        beganMs = performance.now();
        return new Map();
      },
      wake() {
        endedMs = performance.now();
      },
    };
    const job = continueFanOut({ ...on.webhooks, sender: timed }, () => undefined);
    await job.run(new AbortController().signal);
    // A part of the transaction's time; a timer drops fractions.
    expect(performance.now() - endedMs).toBeGreaterThan(endedMs - beganMs - 2);
  });
});

/** Appends refund events of an account in one transaction; their ids. */
function appendRefunds(scope: Scope, count: number, type = 'refund.created'): Promise<string[]> {
  return withTx(refunds, scope, async (tx) => {
    const ids: string[] = [];
    for (let i = 0; i < count; i++) {
      const { aggregateId, object } = refundEvent(scope);
      if (object.case !== 'refund') throw new Error('a refund event without a refund');
      ids.push(await append(tx, { ...{ type, aggregateId, object }, ...scope }));
    }
    return ids;
  });
}

/** Endpoints that want everything. They have no lanes, so that nothing is sent to them. */
async function endpointsOf({ accountId }: Scope, count: number, after = 0): Promise<void> {
  await on.admin(
    `insert into webhooks.endpoints (account_id, test_mode, id, url, events, status, created_at)
     select $1, true, 'fwh_' || lpad(n::text, 26, '0'), 'http://127.0.0.1/', '{*}', 'enabled', now() from generate_series($3::integer + 1, $3::integer + $2::integer) n`,
    [accountId, count, after],
  );
}

/** Hands events to the consumer that it takes together. */
async function consumeTogether(scope: Scope, count: number, types = ['refund.created']) {
  const events = Array.from({ length: count }, (_, at) => refundEvent(scope, types[at % types.length]));
  const [first, ...rest] = events;
  if (first === undefined) throw new Error('no event');
  await handleTogether(on.database, 'public-events', [first, ...rest], (tx, all) =>
    fanOutEvents({ ...on.webhooks, sender: asleep }, tx, scope, all),
  );
  return events;
}

function continueAsleep(scope: Scope): Promise<boolean> {
  return continueFanOuts({ ...on.webhooks, sender: asleep }, scope);
}

/** How many of the account's deliveries each transaction planned. */
async function plannedTogether({ accountId }: Scope): Promise<number[]> {
  const rows = await on.admin(
    'select count(*)::integer as planned from webhooks.deliveries where account_id = $1 group by xmin::text',
    [accountId],
  );
  return rows.map(({ planned }) => Number(planned));
}

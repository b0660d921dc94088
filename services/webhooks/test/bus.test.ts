import {
  append,
  connectNats,
  consume,
  type EventConnection,
  eventsMigrations,
  handleTogether,
  startRelay,
} from '@eligo/events';
import { type Database, type Scope, withTx } from '@eligo/postgres';
import { type TestDatabase, type TestNats, testDatabase, testNats, waitUntil } from '@eligo/testkit';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { continueFanOuts } from '../src/actions/continue-fan-outs.ts';
import { fanOutEvents } from '../src/actions/fan-out-events.ts';
import { retryEvent } from '../src/actions/retry-event.ts';
import { publicEvents } from '../src/consumers/public-events.ts';
import { mostPlanned } from '../src/domain/delivery.ts';
import { continueFanOut } from '../src/jobs/fan-out.ts';
import {
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
    expect(await rowsOf(on, 'deliveries', scope)).toEqual([]);

    await continueAsleep(scope);
    // One that its account asks for again meanwhile is planned as a whole, and by nobody else.
    const [, second] = events;
    if (second === undefined) throw new Error('an event is missing');
    await retryEvent({ ...on.webhooks, sender: asleep }, scope, second.eventId);
    // A process of the release before plans it and leaves its fan-out as it is.
    await on.admin('insert into webhooks.fan_outs values ($1, true, $2)', [scope.accountId, second.eventId]);
    while (await continueAsleep(scope));
    expect(await rowsOf(on, 'fan_outs', scope)).toEqual([]);
    const byEvent = Map.groupBy(await rowsOf(on, 'deliveries', scope), (row) => row.event_id);
    expect(events.map(({ eventId }) => byEvent.get(eventId)?.length)).toEqual(events.map(() => mostPlanned + 100));
    const retried = mostPlanned + 100;
    const planned = await plannedTogether(scope);
    expect(planned.filter((together) => together !== retried).every((together) => together <= mostPlanned)).toBe(true);
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
async function endpointsOf({ accountId }: Scope, count: number): Promise<void> {
  await on.admin(
    `insert into webhooks.endpoints (account_id, test_mode, id, url, events, status, created_at)
     select $1, true, 'fwh_' || lpad(n::text, 26, '0'), 'http://127.0.0.1/', '{*}', 'enabled', now() from generate_series(1, $2::integer) n`,
    [accountId, count],
  );
}

/** Hands events to the consumer that it takes together. */
async function consumeTogether(scope: Scope, count: number) {
  const events = Array.from({ length: count }, () => refundEvent(scope));
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

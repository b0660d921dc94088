import { append, connectNats, consume, type EventConnection, eventsMigrations, startRelay } from '@eligo/events';
import { type Database, withTx } from '@eligo/postgres';
import { type TestDatabase, type TestNats, testDatabase, testNats, waitUntil } from '@eligo/testkit';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { publicEvents } from '../src/consumers/public-events.ts';
import { type Fixture, openFixture, type Receiver, receiver, refundEvent, someScope } from './fixture.ts';

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
      const { type, aggregateId, object } = refundEvent(scope, i % 10 === 0 ? 'command.refund' : 'refund.created');
      if (object.case !== 'refund') throw new Error('a refund event without a refund');
      const refund = object;
      const id = await withTx(refunds, scope, (tx) =>
        append(tx, { ...{ type, aggregateId, object: refund }, ...scope }),
      );
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

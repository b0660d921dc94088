import { create } from '@bufbuild/protobuf';
import { withTx } from '@eligo/postgres';
import { CustomerSchema } from '@eligo/proto/checkout/v1/checkout';
import { AccountUpdatedSchema, type Event } from '@eligo/proto/events/v1/events';
import { expect, test } from 'vitest';
import { append, outboxLag, provideEventContext } from '../src/index.ts';
import { BATCH_ROWS, readQueue } from '../src/outbox.ts';
import { publishBatch } from '../src/publish-batch.ts';
import { useFixture } from './fixture.ts';
import { appendSome, scope, until } from './support.ts';

const on = useFixture();

async function streamed(): Promise<string[]> {
  const connection = await on.connect('alpha');
  const { state } = await connection.manager.streams.info('ELIGO_ALPHA');
  const ids: string[] = [];
  for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
    ids.push((await connection.manager.streams.getMessage('ELIGO_ALPHA', { seq })).header.get('Nats-Msg-Id'));
  }
  return ids;
}

const published = async () => (await outboxLag(on.alpha)).waiting === 0;

test('an event exists if and only if its state change committed', async () => {
  await on.relay();
  const seen: Event[] = [];
  await on.consumer({ handle: async (_, event) => void seen.push(event) });
  const rolledBack = withTx(on.alpha, scope, async (tx) => {
    await append(tx, {
      type: 'account.updated',
      aggregateId: 'a1',
      ...scope,
      object: { case: 'accountUpdated', value: create(AccountUpdatedSchema) },
    });
    throw new Error('no');
  });
  await expect(rolledBack).rejects.toThrow('no');
  const [id] = await appendSome(on.alpha, 1, 'a1');
  await until(() => seen.length === 1);
  expect(seen[0]).toMatchObject({
    eventId: id,
    type: 'account.updated',
    aggregateId: 'a1',
    aggregateSeq: 1n,
    ...scope,
  });
});

test('carries request id and trace of the work that it comes from', async () => {
  await on.relay();
  const seen: Event[] = [];
  await on.consumer({ handle: async (_, event) => void seen.push(event) });
  provideEventContext(() => ({ requestId: 'freq_1', traceparent: '00-abc' }));
  await appendSome(on.alpha, 1);
  provideEventContext(() => undefined);
  await appendSome(on.alpha, 1);
  await until(() => seen.length === 2);
  expect(seen.map(({ requestId, traceparent }) => [requestId, traceparent]).toSorted()).toEqual([
    ['', ''],
    ['freq_1', '00-abc'],
  ]);
});

test('an event as large as a record can be made is published and consumed', async () => {
  await on.relay();
  const seen: Event[] = [];
  await on.consumer({ handle: async (_, event) => void seen.push(event) });
  const metadata = { note: 'ü'.repeat(3_000_000) };
  await withTx(on.alpha, scope, (tx) =>
    append(tx, {
      type: 'customer.updated',
      aggregateId: 'a1',
      ...scope,
      object: { case: 'customer', value: create(CustomerSchema, { metadata }) },
    }),
  );
  await until(() => seen.length === 1);
  expect(seen[0]?.object.value).toMatchObject({ metadata });
});

test('an event that the bus would refuse fails its transaction, and does not stay in the outbox [D14.54]', async () => {
  const largest = 8 * 1024 * 1024;
  const append8MiB = withTx(on.alpha, scope, (tx) =>
    append(tx, {
      type: 'customer.updated',
      aggregateId: 'a1',
      ...scope,
      object: { case: 'customer', value: create(CustomerSchema, { metadata: { note: 'x'.repeat(largest) } }) },
    }),
  );
  await expect(append8MiB).rejects.toThrow(/^customer.updated of 83\d{5} bytes is too large$/);
  expect((await outboxLag(on.alpha)).waiting).toBe(0);
});

test('events of one aggregate are numbered without gaps and published in that order', async () => {
  await Promise.all(
    ['a', 'b', 'c'].map(async (aggregate) => {
      for (let i = 0; i < 100; i++) await appendSome(on.alpha, 1, aggregate);
    }),
  );
  await on.relay();
  await until(published);
  const order = await streamed();
  for (const aggregate of ['a', 'b', 'c']) {
    const rows = await on.database.admin<{ event_id: string; seq: number }>(
      'select event_id, aggregate_seq::int as seq from alpha.outbox where aggregate_id = $1 order by aggregate_seq',
      [aggregate],
    );
    expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
    expect(order.filter((id) => rows.some(({ event_id }) => event_id === id))).toEqual(
      rows.map(({ event_id }) => event_id),
    );
  }
});

test('an event waits while an earlier one of its aggregate, with a higher id, does', async () => {
  // Two processes whose clocks differ: the later event has the lower id.
  await on.database.admin(`
    insert into alpha.outbox (event_id, aggregate_id, aggregate_seq, type, account_id, test_mode, payload) values
      ('fevt_9', 'a', 1, 't', 'f', true, ''), ('fevt_1', 'a', 2, 't', 'f', true, ''), ('fevt_5', 'b', 1, 't', 'f', true, '')`);
  expect(await waiting()).toEqual({ ids: ['fevt_5', 'fevt_9'], isFull: true });
  await on.database.admin("delete from alpha.outbox_queue where event_id = 'fevt_9'");
  expect(await waiting()).toEqual({ ids: ['fevt_1', 'fevt_5'], isFull: false });
});

test('behind more events than a batch that all wait for one with a higher id, that one is found', async () => {
  await on.database.admin(`
    insert into alpha.outbox (event_id, aggregate_id, aggregate_seq, type, account_id, test_mode, payload)
    select 'fevt_' || case n when 1 then 9999 else 1000 + n end, 'a', n, 't', 'f', true, '' from generate_series(1, ${BATCH_ROWS + 100}) n`);
  expect(await waiting()).toEqual({ ids: ['fevt_9999'], isFull: true });
  await on.relay();
  await until(published);
  expect(await streamed()).toEqual([
    'fevt_9999',
    ...Array.from({ length: BATCH_ROWS + 99 }, (_, at) => `fevt_${1_002 + at}`),
  ]);
});

async function waiting() {
  const { rows, isFull } = await readQueue(on.alpha);
  return { ids: rows.map(({ event_id }) => event_id), isFull };
}

test('is woken by a commit in its own process and by one in another', async () => {
  await on.relay();
  await appendSome(on.alpha, 1);
  await until(published);
  const elsewhere = on.database.open('alpha');
  const took: number[] = [];
  for (const database of [on.alpha, elsewhere]) {
    for (let i = 0; i < 8; i++) {
      const begin = performance.now();
      await appendSome(database, 1);
      await until(published);
      took.push(performance.now() - begin);
    }
  }
  // With the poll alone each would wait for most of ten seconds.
  expect(took.toSorted((a, b) => a - b)[8]).toBeLessThan(4_000);
});

test('of two relays one leads, and the other takes over', async () => {
  const relays = [await on.relay(), await on.relay({ connection: await on.connect('alpha') })];
  await until(() => relays.some((relay) => relay.isLeading()));
  const leader = relays.find((relay) => relay.isLeading());
  const other = relays.find((relay) => relay !== leader);
  await appendSome(on.alpha, 10);
  await until(published);
  expect(other?.stats().published).toBe(0);
  expect(other?.isLeading()).toBe(false);
  await leader?.stop();
  await until(() => other?.isLeading() === true);
  await appendSome(on.alpha, 10);
  await until(() => other?.stats().published === 10);
  expect(await published()).toBe(true);
});

test('goes on when its session is killed', async () => {
  const relay = await on.relay();
  await until(() => relay.isLeading());
  const sessions =
    "select pid from pg_stat_activity where application_name = 'relay alpha' and datname = current_database()";
  const [killed] = await on.database.admin(sessions);
  await on.database.admin(`select pg_terminate_backend(pid) from (${sessions}) s`);
  // It may lead again before anyone has seen that it did not: a session of its own tells that it noticed.
  await until(async () => (await on.database.admin(sessions)).some(({ pid }) => pid !== killed?.pid));
  await appendSome(on.alpha, 10);
  await until(published);
  expect(await streamed()).toHaveLength(10);
});

test('an event that was stored, though its acknowledgement was lost, is not stored again', async () => {
  const relay = await on.relay();
  await until(() => relay.isLeading());
  await relay.stop();
  await appendSome(on.alpha, 5);
  const connection = await on.connect('alpha');
  // What a relay leaves that dies between the stream's acknowledgement and its own note.
  await publishBatch(connection, 'alpha', (await readQueue(on.alpha)).rows, on.logger);
  await on.relay();
  await until(published);
  expect(await streamed()).toHaveLength(5);
});

test('a duplicate that the stream does not hold is not believed', async () => {
  const relay = await on.relay();
  await until(() => relay.isLeading());
  await relay.stop();
  await appendSome(on.alpha, 1);
  const connection = await on.connect('alpha');
  const rows = (await readQueue(on.alpha)).rows;
  const lying = {
    ...connection,
    jetstream: {
      ...connection.jetstream,
      publish: async () => ({ stream: 'ELIGO_ALPHA', seq: 77, duplicate: true, domain: '' }),
    },
  };
  expect((await publishBatch(lying as never, 'alpha', rows, on.logger)).stored).toEqual([]);
});

test('a batch that cannot be published is not marked', async () => {
  await appendSome(on.alpha, 3);
  const connection = await on.connect('alpha');
  // There is no stream yet: the server answers nobody, which must not pass for success.
  expect(await publishBatch(connection, 'alpha', (await readQueue(on.alpha)).rows, on.logger)).toMatchObject({
    stored: [],
  });
  expect((await outboxLag(on.alpha)).waiting).toBe(3);
});

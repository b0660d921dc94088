import { setTimeout as pause } from 'node:timers/promises';
import { insideTransaction, unscoped } from '@eligo/postgres';
import type { Event } from '@eligo/proto/events/v1/events';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import { Deliveries } from '../src/deliveries.ts';
import { type ConsumeOptions, countDeadLetters, listDeadLetters, redrive } from '../src/index.ts';
import { noteEffect, useFixture } from './fixture.ts';
import { appendSome, scope, until } from './support.ts';

const on = useFixture();

beforeEach(async () => {
  await on.relay();
});

const soon = { retryDelayMs: () => 5 };

test('the effect and the note in the inbox commit together: what failed after its effect takes effect once', async () => {
  let failures = 3;
  const consumer = await on.consumer({
    ...soon,
    handle: async (tx, event) => {
      await tx.execute(noteEffect, null, [event.eventId]);
      if (failures-- > 0) throw new Error('after the effect');
    },
  });
  await appendSome(on.alpha, 1);
  // The effect can be seen before the consumer has heard of its commit.
  await until(() => consumer.stats().handled === 1);
  expect(await on.effects()).toEqual({ events: 1, effects: 1 });
  expect(consumer.stats()).toMatchObject({ handled: 1, failed: 3 });
});

test('an event that is delivered again does not take effect again', async () => {
  const consumer = await on.consumer();
  await appendSome(on.alpha, 10);
  await until(async () => (await on.effects()).events === 10);
  const connection = await on.connect('alpha');
  await connection.manager.consumers.delete('ELIGO_ALPHA', 'beta-effects');
  // It begins anew by itself, from the first event on.
  await until(() => consumer.stats().repeated >= 10);
  expect(await on.effects()).toEqual({ events: 10, effects: 10 });
});

test('runs in the scope of the event, in a transaction', async () => {
  const seen: unknown[] = [];
  await on.consumer({ handle: async (tx) => void seen.push(tx.scope, insideTransaction()) });
  await appendSome(on.alpha, 1);
  await until(() => seen.length === 2);
  expect(seen).toEqual([scope, true]);
});

test('takes the types that it asks for and no others', async () => {
  const takes = async (consumer: string, types: string[]) => {
    const seen: string[] = [];
    await on.consumer({
      consumer,
      subscriptions: [{ from: 'alpha', types }],
      handle: async (_, event) => void seen.push(event.type),
    });
    return seen;
  };
  const one = await takes('one', ['account.updated']);
  const several = await takes('several', ['account.updated', 'price.created']);
  const none = await takes('none', ['price.created', 'price.updated']);
  const all = await takes('all', ['*']);
  await appendSome(on.alpha, 5);
  await until(() => [one, several, all].every((seen) => seen.length === 5));
  expect(none).toEqual([]);
});

test('events of one aggregate are handled one after the other, in order', async () => {
  const seen: bigint[] = [];
  let running = 0;
  await on.consumer({
    concurrency: 8,
    handle: async (_, event) => {
      running += 1;
      expect(running).toBe(1);
      await new Promise((resolve) => setTimeout(resolve, 3));
      running -= 1;
      seen.push(event.aggregateSeq);
    },
  });
  await appendSome(on.alpha, 40, 'one aggregate');
  await until(() => seen.length === 40);
  expect(seen).toEqual(seen.toSorted((a, b) => Number(a - b)));
});

// Holds the first event until all are with the consumer.
async function heldBack(handle: ConsumeOptions['handle'], more: number) {
  const arrived = Promise.withResolvers<void>();
  const entered = Promise.withResolvers<void>();
  const transactions = new Set<string>();
  const consumer = await on.consumer({
    ...soon,
    handle: async (tx, event) => {
      entered.resolve();
      await arrived.promise;
      transactions.add((await tx.row(currentTransaction, null))?.id ?? '');
      await handle(tx, event);
    },
  });
  const take = vi.spyOn(Deliveries.prototype, 'take');
  onTestFinished(() => take.mockRestore());
  await appendSome(on.alpha, 1);
  await entered.promise;
  const rest = await appendSome(on.alpha, more);
  await until(() => take.mock.calls.length === 1 + more);
  return { consumer, transactions, rest, goOn: () => arrived.resolve() };
}

const currentTransaction = unscoped<{ id: string }>('test.transaction', 'select pg_current_xact_id()::text as id');

test('events that arrive meanwhile are handled in one transaction', async () => {
  const { transactions, goOn } = await heldBack(async (tx, event) => {
    await tx.execute(noteEffect, null, [event.eventId]);
  }, 20);
  goOn();
  await until(async () => (await on.effects()).events === 21);
  expect(await on.effects()).toEqual({ events: 21, effects: 21 });
  // The first event's, and that of the others.
  expect(transactions.size).toBe(2);
});

test('a failing event does not fail the events of its batch', async () => {
  const poison = { id: '' };
  const { consumer, rest, goOn } = await heldBack(async (tx, event) => {
    await tx.execute(noteEffect, null, [event.eventId]);
    if (event.eventId === poison.id) throw new Error('after the effect');
  }, 20);
  poison.id = rest[10] ?? '';
  goOn();
  await until(() => consumer.stats().failed > 1);
  await until(async () => (await on.effects()).events === 20);
  expect(await on.effects()).toEqual({ events: 20, effects: 20 });
  poison.id = 'nobody';
  await until(async () => (await on.effects()).events === 21);
  expect(await on.effects()).toEqual({ events: 21, effects: 21 });
});

test('after twenty deliveries an event becomes a dead letter, the others continue, and it can be redelivered', async () => {
  const [poison] = await appendSome(on.alpha, 1);
  const consumer = await on.consumer({
    ...soon,
    handle: async (tx, event) => {
      if (event.eventId === poison) throw new TypeError('John Doe, 1 Main Street');
      await tx.execute(noteEffect, null, [event.eventId]);
    },
  });
  await appendSome(on.alpha, 5);
  await until(() => consumer.stats().deadLettered === 1 && consumer.stats().handled === 5);
  expect(await listDeadLetters(on.beta)).toMatchObject([
    { consumer: 'effects', eventId: poison, deliveries: 20, error: 'TypeError' },
  ]);
  expect(await on.effects()).toEqual({ events: 5, effects: 5 });
  expect(consumer.stats()).toMatchObject({ failed: 20, deadLettered: 1 });
  expect(JSON.stringify(on.logger.lines)).not.toContain('John Doe');

  const handled: Event[] = [];
  await expect(
    redrive(on.beta, 'effects', poison ?? '', async () => Promise.reject(new Error('still'))),
  ).rejects.toThrow('still');
  expect(await countDeadLetters(on.beta)).toBe(1);
  expect(await redrive(on.beta, 'effects', poison ?? '', async (_, event) => void handled.push(event))).toBe(true);
  expect(handled).toMatchObject([{ eventId: poison, aggregateSeq: 1n }]);
  expect(await countDeadLetters(on.beta)).toBe(0);
  expect(await redrive(on.beta, 'effects', poison ?? '', async () => undefined)).toBe(false);
});

test('an event does not become a dead letter because the database is down', async () => {
  const consumer = await on.consumer({ ...soon, maxDeliveries: 2 });
  // A consumer needs the database to begin.
  await appendSome(on.alpha, 1);
  await until(async () => (await on.effects()).events === 1);
  await on.database.admin(`revoke connect on database ${await databaseName()} from eligo_beta`);
  await on.database.admin(
    "select pg_terminate_backend(pid) from pg_stat_activity where usename = 'eligo_beta' and datname = current_database()",
  );
  await on.database.admin('alter table beta.effects rename to effects_away');
  await on.database.admin('alter table beta.effects_away rename to effects');
  await appendSome(on.alpha, 1);
  await until(() => consumer.stats().failed > 0);
  await on.database.admin(`grant connect on database ${await databaseName()} to eligo_beta`);
  await until(async () => (await on.effects()).events + (await countDeadLetters(on.beta)) === 2);
});

test('one service is subscribed to once', async () => {
  const twice = [
    { from: 'alpha', types: ['a'] },
    { from: 'alpha', types: ['b'] },
  ];
  await expect(on.consumer({ subscriptions: twice })).rejects.toThrow('twice');
});

test('waits for a stream that does not exist yet', async () => {
  const seen: string[] = [];
  await on.consumer({
    consumer: 'early',
    subscriptions: [{ from: 'beta', types: ['*'] }],
    handle: async (_, event) => void seen.push(event.type),
  });
  await appendSome(on.beta, 1);
  await on.relay({ database: on.beta, service: 'beta', connection: await on.connect('beta') });
  await until(() => seen.length === 1);
});

test('events that were requested while the server was silent are handled as soon as it resumes, not when they are redelivered', async () => {
  const gate = Promise.withResolvers<void>();
  const consumer = await on.consumer({ concurrency: 1, handle: () => gate.promise });
  await appendSome(on.alpha, 700);
  await until(async () => ((await consumer.lag())[0]?.unacknowledged ?? 0) >= 64);
  await on.nats.freeze();
  // What waits is handled now, and more is requested.
  gate.resolve();
  // Two heartbeats are missed, of 2.5 s each.
  await pause(8_000);
  on.nats.thaw();
  const thawedMs = performance.now();
  await until(() => consumer.stats().handled === 700);
  // The server redelivers after 30 s what it has sent to nobody.
  expect(performance.now() - thawedMs).toBeLessThan(20_000);
});

test('stopping in the moment in which it begins to take waits for nothing', async () => {
  const connection = await on.connect('beta');
  const { consumers } = connection.jetstream;
  const get = consumers.get.bind(consumers);
  const [asked, mayGoOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  vi.spyOn(consumers, 'get').mockImplementation(async (...of) => {
    asked.resolve();
    await mayGoOn.promise;
    return get(...of);
  });
  const consumer = await on.consumer({ connection });
  await asked.promise;
  const stopped = consumer.stop();
  mayGoOn.resolve();
  await stopped;
});

test('stopping waits for events in flight', async () => {
  let begun = 0;
  let done = 0;
  const consumer = await on.consumer({
    handle: async () => {
      begun += 1;
      await new Promise((resolve) => setTimeout(resolve, 100));
      done += 1;
    },
  });
  await appendSome(on.alpha, 4);
  await until(() => begun > 0);
  await consumer.stop();
  expect(done).toBe(begun);
});

async function databaseName(): Promise<string> {
  const [row] = await on.database.admin<{ name: string }>('select quote_ident(current_database()) as name');
  return row?.name ?? '';
}

test('a consumer with a handler for several events is given a batch in one transaction, and one alone after it has failed', async () => {
  const batches: number[] = [];
  let failures = 1;
  const consumer = await on.consumer({
    ...soon,
    handle: () => Promise.reject(new Error('is not called')),
    handleAll: async (tx, events) => {
      batches.push(events.length);
      await Promise.all(events.map(({ eventId }) => tx.execute(noteEffect, null, [eventId])));
      if (events.length > 1 && failures-- > 0) throw new Error('one of them');
    },
  });
  await appendSome(on.alpha, 40);
  await until(() => consumer.stats().handled === 40);
  expect(await on.effects()).toEqual({ events: 40, effects: 40 });
  expect(Math.max(...batches)).toBeGreaterThan(1);
  expect(batches.length).toBeLessThan(40 + 10);
  expect(consumer.stats()).toMatchObject({ handled: 40, failed: 0 });
});

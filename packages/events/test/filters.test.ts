import { withTx } from '@eligo/postgres';
import { AckPolicy, DeliverPolicy, type JsMsg, nanos } from 'nats';
import { expect, onTestFinished, test } from 'vitest';
import type { ConsumeOptions, EventConnection } from '../src/index.ts';
import { filterOf, isNamedBy } from '../src/names.ts';
import { installationLabel } from '../src/stream-owner.ts';
import { useFixture } from './fixture.ts';
import { appendSome, scope, until } from './support.ts';

const on = useFixture();

const stream = 'ELIGO_ALPHA';
const durable = 'beta-effects';
const both = ['item.changed', 'item.ended'];
const narrow = 'eligo.alpha.*.item.>';
const wide = 'eligo.alpha.>';

const appendOf = (type: string, count: number) => appendSome(on.alpha, count, undefined, type);

/** What the release before had: the whole stream, set apart by the process; whatever differs is deleted and made again. */
async function ensureAsBefore({ manager }: EventConnection): Promise<void> {
  const existing = await manager.consumers.info(stream, durable).catch(() => undefined);
  if (existing?.config.filter_subject === wide) return;
  if (existing !== undefined) await manager.consumers.delete(stream, durable);
  await manager.consumers.add(stream, {
    durable_name: durable,
    filter_subject: wide,
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.All,
    ack_wait: nanos(30_000),
    max_deliver: -1,
    max_ack_pending: 512,
  });
}

async function streamOfAlpha(): Promise<EventConnection> {
  await on.relay();
  const connection = await on.connect('beta');
  await appendOf('other.changed', 1);
  await until(async () => (await infoOfStream(connection)) === 1);
  return connection;
}

const infoOfStream = async ({ manager }: EventConnection) =>
  (await manager.streams.info(stream).catch(() => undefined))?.state.messages;

const infoOf = ({ manager }: EventConnection) => manager.consumers.info(stream, durable);

const start = (types: string[], more: Partial<ConsumeOptions> = {}) =>
  on.consumer({ subscriptions: [{ from: 'alpha', types }], ...more });

test.each([
  ['one type', ['item.changed'], 'eligo.alpha.*.item.changed'],
  ['types with words in common', both, narrow],
  [
    'what checkout takes of billing',
    ['customer.subscription.updated', 'customer.subscription.deleted'],
    'eligo.alpha.*.customer.subscription.>',
  ],
  ['types with two words in common', ['a.item.changed', 'a.item.ended'], 'eligo.alpha.*.a.item.>'],
  ['a type that begins as another one', ['item.part', 'item.part.changed'], narrow],
  ['a type that another one begins as', ['item.part.changed', 'item.part'], narrow],
  ['types with nothing in common', ['item.changed', 'other.changed'], wide],
  ['a type of one word', ['item', 'item.changed'], wide],
  ['all types', ['*'], wide],
])('the filter is the narrowest subject of %s', (_, types, filter) => {
  expect(filterOf('alpha', types)).toBe(filter);
});

test.each([
  ['eligo.alpha.>', true],
  ['eligo.alpha.*.item.>', true],
  ['eligo.alpha.*.item.changed', true],
  ['eligo.alpha.*.item', false],
  ['eligo.alpha.*.item.changed.>', false],
  ['eligo.alpha.*.other.>', false],
])('the filter %s names a subject: %s', (filter, isNamed) => {
  expect(isNamedBy(filter, 'eligo.alpha.live.item.changed')).toBe(isNamed);
});

test('a consumer of several types is given only events that begin as these do', async () => {
  await on.relay();
  const consumer = await start(both);
  await appendOf('other.changed', 30);
  await appendOf('item.changed', 3);
  await appendOf('item.ended', 2);
  await until(() => consumer.stats().handled === 5);
  expect(await on.effects()).toEqual({ events: 5, effects: 5 });
  const connection = await on.connect('beta');
  expect((await infoOf(connection)).delivered.consumer_seq).toBe(5);
});

test('a durable consumer of an older release is narrowed in place: it keeps its position and what is in flight, and nothing is lost', async () => {
  const connection = await streamOfAlpha();
  await ensureAsBefore(connection);
  await appendOf('item.changed', 10);
  await appendOf('other.changed', 10);
  await until(async () => (await infoOfStream(connection)) === 21);
  // The old process is given the first twelve, acknowledges none of them, and ends.
  const old = await connection.jetstream.consumers.get(stream, durable);
  const taken: JsMsg[] = [];
  for await (const message of await old.fetch({ max_messages: 12, expires: 30_000 })) taken.push(message);
  expect((await infoOf(connection)).num_ack_pending).toBe(12);
  for (const message of taken) message.nak();
  const before = await infoOf(connection);
  await start(both, { standBackMs: 200 });
  await until(async () => (await on.effects()).events === 10);
  await until(async () => (await infoOf(connection)).num_ack_pending === 0);
  const after = await infoOf(connection);
  expect(after.config).toEqual({ ...before.config, filter_subject: narrow });
  expect(after.created).toBe(before.created);
  await appendOf('other.changed', 10);
  await appendOf('item.ended', 4);
  await until(async () => (await on.effects()).events === 14);
  expect(await on.effects()).toEqual({ events: 14, effects: 14 });
  expect((await infoOf(connection)).num_pending).toBe(0);
  expect((await infoOf(connection)).delivered.consumer_seq - after.delivered.consumer_seq, 'only the four').toBe(4);
});

test('a consumer that a process of the older release made again and left is taken over, and nothing is lost', async () => {
  const connection = await streamOfAlpha();
  await ensureAsBefore(connection);
  await start(both, { standBackMs: 200 });
  await until(async () => (await infoOf(connection)).config.filter_subject === narrow);
  await appendOf('item.changed', 5);
  await until(async () => (await on.effects()).events === 5);
  // The older process begins again, as after a lost connection.
  await ensureAsBefore(connection);
  const { created } = await infoOf(connection);
  await appendOf('other.changed', 5);
  await appendOf('item.ended', 5);
  await until(async () => (await on.effects()).events === 10);
  expect(await on.effects()).toEqual({ events: 10, effects: 10 });
  // It was not made again by the newer process, which would make the older one begin again, and so on.
  expect(await infoOf(connection)).toMatchObject({ created, config: { filter_subject: narrow } });
});

test('a release that takes one type more is given its events, also those from before it and from a restart of the older release', async () => {
  const connection = await streamOfAlpha();
  const older = await start(both);
  await appendOf('item.changed', 3);
  await appendOf('other.changed', 2);
  await until(async () => (await on.effects()).events === 3);
  const newer = await start([...both, 'other.changed'], { filterCheckMs: 50 });
  await until(async () => (await on.effects()).events === 6);
  expect((await infoOf(connection)).config.filter_subject).toBe(wide);
  await older.stop();
  // While the newer one does not look, the older one begins again, and an event of the new type is passed over.
  await newer.stop();
  const olderAgain = await start(both, { standBackMs: 200 });
  await until(async () => (await infoOf(connection)).config.filter_subject === narrow);
  await appendOf('other.changed', 1);
  await appendOf('item.ended', 1);
  await until(async () => (await on.effects()).events === 7);
  await start([...both, 'other.changed'], { filterCheckMs: 50 });
  await until(async () => (await on.effects()).events === 8);
  await olderAgain.stop();
  expect(await on.effects()).toEqual({ events: 8, effects: 8 });
});

test('a process that wants less leaves the consumer to one that wants more, so that no event of the others is passed over', async () => {
  const connection = await streamOfAlpha();
  const older = await start(both);
  await appendOf('item.changed', 2);
  await until(async () => (await on.effects()).events === 2);
  const newer = await start([...both, 'other.changed']);
  await until(async () => (await on.effects()).events === 3);
  // One after the other, for longer than the older one needs to begin again: each can be given to either.
  for (let count = 4; count <= 43; count++) {
    await appendOf(count % 2 === 0 ? 'other.changed' : 'item.changed', 1);
    await until(async () => (await on.effects()).events === count);
  }
  expect(await on.effects()).toEqual({ events: 43, effects: 43 });
  expect((await infoOf(connection)).config.filter_subject).toBe(wide);
  const handled = older.stats().handled;
  expect(newer.stats().handled).toBeGreaterThanOrEqual(43 - handled);
});

test('an event that only the newer release wants reaches it, though the consumer is made again while the older one has no request', async () => {
  const connection = await streamOfAlpha();
  await appendOf('item.changed', 400);
  await until(async () => (await infoOfStream(connection)) === 401);
  // The older process waits for its one connection to the database: it has what it may hold, and asks for no more.
  const busy = on.database.open('beta', { max: 1 });
  await installationLabel(busy);
  const isFree = Promise.withResolvers<void>();
  const hold = withTx(busy, scope, () => isFree.promise);
  const older = await start(both, { database: busy, filterCheckMs: 600_000 });
  onTestFinished(() => isFree.resolve());
  let givenSeq = 0;
  await until(async () => {
    const info = await infoOf(connection).catch(() => undefined);
    const before = givenSeq;
    givenSeq = info?.delivered.consumer_seq ?? 0;
    return givenSeq > 0 && givenSeq === before && info?.num_waiting === 0;
  });
  expect(givenSeq).toBeLessThan(400);
  // The newer one has caught up before the older one asks again, and its consumer counts further than the one before did.
  await start([...both, 'item.paused', 'other.changed']);
  await until(async () => (await on.effects()).events === 401);
  const { num_waiting: ofNewer } = await infoOf(connection);
  isFree.resolve();
  await hold;
  await until(async () => (await infoOf(connection)).num_waiting > ofNewer);
  expect(older.stats().handled).toBe(0);
  await appendOf('item.paused', 40);
  await until(async () => (await on.effects()).events === 441);
  expect(await on.effects()).toEqual({ events: 441, effects: 441 });
});

test('a process whose filter another one narrows in place sees so, and is given what was passed over', async () => {
  const connection = await streamOfAlpha();
  await start([...both, 'other.changed'], { filterCheckMs: 50 });
  await until(async () => (await on.effects()).events === 1);
  await connection.manager.consumers.update(stream, durable, { filter_subject: narrow });
  await appendOf('other.changed', 5);
  await appendOf('item.changed', 5);
  await until(async () => (await on.effects()).events === 11);
  await until(async () => (await infoOf(connection)).config.filter_subject === wide);
  expect(await on.effects()).toEqual({ events: 11, effects: 11 });
});

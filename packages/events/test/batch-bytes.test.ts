import { afterAll, beforeAll, expect, test } from 'vitest';
import { BATCH_BYTES, readQueue } from '../src/outbox.ts';
import { readSlice } from '../src/repairs.ts';
import { type EventsDatabase, eventsDatabase } from './support.ts';

const mebibyte = 1024 * 1024;
const largest = 8 * mebibyte - 4_096;

let on: EventsDatabase;
beforeAll(async () => {
  on = await eventsDatabase();
});
afterAll(() => on.drop());

/** Appends events with payloads of these sizes, `fevt_100` the first. */
async function appendSizes(sizes: readonly number[]): Promise<void> {
  await on.empty();
  await on.admin(
    `insert into alpha.outbox (event_id, aggregate_id, aggregate_seq, type, account_id, test_mode, payload)
     select 'fevt_' || 99 + n, 'a' || n, 1, 't', 'f', true, decode(repeat('ab', size), 'hex')
     from unnest($1::int[]) with ordinality v (size, n)`,
    [sizes],
  );
}

const open = { foundAt: new Date(), stream: 'ELIGO_ALPHA', lastEventId: 'fevt_~' };
const sizesOf = (rows: readonly { payload: Buffer }[]) => rows.map(({ payload }) => payload.length);

test('a batch of large events ends at 8 MiB, and the relay knows that more wait', async () => {
  await appendSizes(Array.from({ length: 20 }, () => mebibyte));
  const { rows, isFull } = await readQueue(on.open('alpha'));
  expect(sizesOf(rows)).toEqual(Array.from({ length: 8 }, () => mebibyte));
  expect(rows.map(({ event_id }) => event_id)).toEqual(Array.from({ length: 8 }, (_, n) => `fevt_${100 + n}`));
  expect(isFull).toBe(true);
});

test.each([
  { name: 'the largest event alone when it is full', sizes: [BATCH_BYTES, 1, 1], read: 1 },
  { name: 'one more largest event behind a smaller one', sizes: [10, largest, largest, largest], read: 3 },
  { name: 'small events behind an empty one', sizes: [0, 1, 1], read: 3 },
])('a batch takes $name', async ({ sizes, read }) => {
  await appendSizes(sizes);
  const { rows, isFull } = await readQueue(on.open('alpha'));
  expect(sizesOf(rows)).toEqual(sizes.slice(0, read));
  expect(isFull).toBe(read < sizes.length);
});

test('an id without an event costs a batch no bytes', async () => {
  await appendSizes([mebibyte, mebibyte]);
  await on.admin("insert into alpha.outbox_queue values ('fevt_0')");
  const { rows, gone, isFull } = await readQueue(on.open('alpha'));
  expect({ sizes: sizesOf(rows), gone, isFull }).toEqual({
    ...{ sizes: [mebibyte, mebibyte], gone: ['fevt_0'], isFull: false },
  });
});

test('the slices of a repair end at 8 MiB, and continue behind the last event', async () => {
  await appendSizes(Array.from({ length: 20 }, () => mebibyte));
  await on.admin('truncate alpha.outbox_queue');
  const alpha = on.open('alpha');
  const slices: number[] = [];
  let afterEventId = '';
  for (;;) {
    const slice = await readSlice(alpha, { ...open, afterEventId });
    if (slice.lastEventId === undefined) break;
    slices.push(slice.rows.length);
    afterEventId = slice.lastEventId;
  }
  expect(slices).toEqual([8, 8, 4]);
});

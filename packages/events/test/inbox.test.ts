import { create } from '@bufbuild/protobuf';
import { type Event, EventSchema } from '@eligo/proto/events/v1/events';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eachOf, handleTogether } from '../src/inbox.ts';
import { type EventsDatabase, eventsDatabase, scope } from './support.ts';

let place: EventsDatabase;
beforeAll(async () => {
  place = await eventsDatabase();
});
afterAll(() => place.drop());

const event = () => create(EventSchema, { eventId: newId('event'), type: 'account.updated', ...scope });

test('each event of a batch is handled once and in order, however often it is in it or was before', async () => {
  const database = place.open('beta');
  const [a, b, c] = [event(), event(), event()];
  const handled: (readonly Event[])[] = [];
  const handle = async (_tx: unknown, events: readonly Event[]) => void handled.push(events);
  expect(await handleTogether(database, 'one', [b], handle)).toEqual([true]);
  expect(await handleTogether(database, 'one', [c, a, b, a], handle)).toEqual([true, true, false, false]);
  expect(await handleTogether(database, 'one', [a, b], handle)).toEqual([false, false]);
  expect(handled).toEqual([[b], [c, a]]);
  expect(await handleTogether(database, 'another', [a, b, c], handle)).toEqual([true, true, true]);
});

test('none of a batch in which one fails is noted', async () => {
  const database = place.open('beta');
  const [a, b] = [event(), event()];
  const failing = eachOf(async (_tx, one) => {
    if (one === b) throw new Error('no');
  });
  await expect(handleTogether(database, 'one', [a, b], failing)).rejects.toThrow('no');
  expect(await handleTogether(database, 'one', [a, b], async () => undefined)).toEqual([true, true]);
});

import { create } from '@bufbuild/protobuf';
import type { Tx } from '@eligo/postgres';
import { type Event, EventSchema } from '@eligo/proto/events/v1/events';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { handleTogether } from '../src/inbox.ts';
import { noteEffect } from './stage.ts';
import { type EventsDatabase, eventsDatabase, scope } from './support.ts';

let place: EventsDatabase;
beforeAll(async () => {
  place = await eventsDatabase();
});
afterAll(() => place.drop());

const event = () => create(EventSchema, { eventId: newId('event'), type: 'account.updated', ...scope });

test('of a batch each event is dealt with once and in order, however often it is in it or was before', async () => {
  const database = place.open('beta');
  const [a, b, c] = [event(), event(), event()];
  const handled: Event[] = [];
  const handle = async (_tx: unknown, one: Event) => void handled.push(one);
  expect(await handleTogether(database, 'one', [b], handle)).toEqual([true]);
  expect(await handleTogether(database, 'one', [c, a, b, a], handle)).toEqual([true, true, false, false]);
  expect(handled).toEqual([b, c, a]);
  expect(await handleTogether(database, 'another', [a, b, c], handle)).toEqual([true, true, true]);
});

test.each([false, true])('of a batch in which one fails none is noted, side by side: %s', async (sideBySide) => {
  const database = place.open('beta');
  const [a, b] = [event(), event()];
  const failing = async (_tx: unknown, one: Event) => {
    if (one === b) throw new Error('no');
  };
  await expect(handleTogether(database, 'one', [a, b], failing, sideBySide)).rejects.toThrow('no');
  expect(await handleTogether(database, 'one', [a, b], async () => undefined, sideBySide)).toEqual([true, true]);
});

test('of a batch that is dealt with side by side all have begun, in their order, before the first is done', async () => {
  const seen: string[] = [];
  const handle = async (tx: Tx, one: Event) => {
    seen.push(`begun ${one.eventId}`);
    await tx.execute(noteEffect, null, [one.eventId]);
    seen.push(`done ${one.eventId}`);
  };
  const [a, b] = [event(), event()];
  await handleTogether(place.open('beta'), 'one', [a, b], handle, true);
  const ids = [a.eventId, b.eventId];
  expect(seen).toEqual([...ids.map((id) => `begun ${id}`), ...ids.map((id) => `done ${id}`)]);
});

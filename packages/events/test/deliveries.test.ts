import { create, toBinary } from '@bufbuild/protobuf';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { newId } from '@eligo/values';
import type { JsMsg } from 'nats';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ConsumeOptions } from '../src/consumer-definition.ts';
import { Deliveries } from '../src/deliveries.ts';
import type { Pulled } from '../src/pulled.ts';
import { type EventsDatabase, eventsDatabase, recordingLogger, scope } from './support.ts';

let database: EventsDatabase;

beforeAll(async () => {
  database = await eventsDatabase();
});
afterAll(() => database.drop());

// As the client behaves once its connection is closed for good.
function closed(): never {
  throw new Error('CONNECTION_CLOSED');
}

function delivery(): Pulled {
  const event = create(EventSchema, { eventId: newId('event'), type: 'account.updated', ...scope });
  const message = { subject: 'eligo.alpha.test.account.updated', data: toBinary(EventSchema, event) };
  const answers = { ack: closed, nak: closed, term: closed };
  return {
    message: { ...message, info: { deliveryCount: 1 }, ...answers } as unknown as JsMsg,
    incarnation: 1,
    mayAcknowledge: () => true,
  };
}

test('an event whose acknowledgement cannot be sent counts as handled, and the next events are handled', async () => {
  const logger = recordingLogger();
  const options = { database: database.open('beta'), service: 'beta', consumer: 'closing', logger };
  const deliveries = new Deliveries({ ...options, handle: async () => undefined } as unknown as ConsumeOptions);
  for (let i = 0; i < 3; i += 1) await deliveries.take(delivery());
  await deliveries.idle();
  expect(deliveries.counts()).toMatchObject({ handled: 3, failed: 0 });
});

test('an event that failed and cannot be returned to the server fails alone', async () => {
  const logger = recordingLogger();
  const options = { database: database.open('beta'), service: 'beta', consumer: 'closing', logger };
  const handle = async () => Promise.reject(new Error('no'));
  const deliveries = new Deliveries({ ...options, handle } as unknown as ConsumeOptions);
  await deliveries.take(delivery());
  await deliveries.idle();
  expect(deliveries.counts()).toMatchObject({ handled: 0, failed: 1 });
});

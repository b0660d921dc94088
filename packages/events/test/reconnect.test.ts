import { cp, rm } from 'node:fs/promises';
import { create, toBinary } from '@bufbuild/protobuf';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { newId } from '@eligo/values';
import { expect, test } from 'vitest';
import { noteEffect, useFixture } from './fixture.ts';
import { until } from './support.ts';

const on = useFixture();

/** Publishes an event of an account of its own, so that it waits for no other, and returns its id. */
async function publish(accountId: string): Promise<string> {
  const event = create(EventSchema, { eventId: newId('event'), type: 'account.updated', accountId, testMode: true });
  const { jetstream } = await on.connect('admin');
  const { seq } = await jetstream.publish('eligo.alpha.test.account.updated', toBinary(EventSchema, event));
  expect(seq).toBe(1);
  return event.eventId;
}

const copy = (from: string, to: string) => cp(from, to, { recursive: true });

/** Replaces the server's directory with one in which the first event was not published. */
async function restoreDirectory(): Promise<void> {
  await on.nats.kill();
  await rm(on.nats.directory, { recursive: true });
  await copy(`${on.nats.directory}-before`, on.nats.directory);
  await on.nats.start();
}

/** Deletes the stream and creates it again, and waits until the consumer has created its durable again. */
async function recreateStream(): Promise<void> {
  const { manager } = await on.connect('admin');
  const { config } = await manager.streams.info('ELIGO_ALPHA');
  await manager.streams.delete('ELIGO_ALPHA');
  await manager.streams.add(config);
  await until(() =>
    manager.consumers.info('ELIGO_ALPHA', 'beta-effects').then(
      () => true,
      () => false,
    ),
  );
}

test.each([
  ['after a reconnect to a server whose directory was put back', restoreDirectory],
  ['after its stream was deleted and created again', recreateStream],
])(
  'an event that was delivered before is not acknowledged in the place of another one, %s [D14.351]',
  async (_, replace) => {
    const begun: string[] = [];
    const gates = { facct_first: Promise.withResolvers<void>(), facct_second: Promise.withResolvers<void>() };
    const consumer = await on.consumer({
      retryDelayMs: () => 5,
      handle: async (tx, event) => {
        const isAgain = begun.includes(event.eventId);
        begun.push(event.eventId);
        await gates[event.accountId as keyof typeof gates].promise;
        if (event.accountId === 'facct_second' && !isAgain) throw new Error('the first try');
        await tx.execute(noteEffect, null, [event.eventId]);
      },
    });
    const relay = await on.relay();
    const { manager } = await on.connect('admin');
    await until(
      async () => (await manager.consumers.info('ELIGO_ALPHA', 'beta-effects').catch(() => undefined)) !== undefined,
    );
    // It would publish nothing, and recreate the durable of a stream that went back.
    await relay.stop();
    await on.nats.stop();
    await copy(on.nats.directory, `${on.nats.directory}-before`);
    await on.nats.start();

    const first = await publish('facct_first');
    await until(() => begun.includes(first));
    await replace();
    const second = await publish('facct_second');
    await until(() => begun.includes(second));
    gates.facct_first.resolve();
    await until(() => consumer.stats().handled === 1);
    // The server delivers the second event again, because nothing has acknowledged its place.
    gates.facct_second.resolve();
    await until(() => consumer.stats().handled === 2);
    expect(begun.filter((id) => id === second)).toHaveLength(2);
    expect(await on.effects()).toEqual({ events: 2, effects: 2 });
  },
);

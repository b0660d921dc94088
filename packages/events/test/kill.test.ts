import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { missingEvents } from '../src/index.ts';
import { noteEffect, useFixture } from './fixture.ts';
import { appendSome, until } from './support.ts';

const on = useFixture();

// In its long form (`npm run outages`) it has the size that the promise names.
const isLong = process.env.ELIGO_TEST_LONG === 'on';
const size = isLong
  ? { events: 25_000, killsAt: [0.1, 0.3, 0.5, 0.7, 0.9], withinMs: 400_000 }
  : { events: 2_000, killsAt: [0.2, 0.45, 0.7], withinMs: 45_000 };

test(
  'nats-server killed while events flow: none is lost, each takes effect once',
  async () => {
    const total = size.events;
    await on.relay();
    const consumer = await on.consumer({
      // Some of the handlers are in flight whenever the server dies: what they did is then delivered again.
      handle: async (tx, event) => {
        await tx.execute(noteEffect, null, [event.eventId]);
        await pause(2);
      },
    });
    let appended = 0;
    const producing = (async () => {
      while (appended < total) {
        await appendSome(on.alpha, 20);
        appended += 20;
        await pause(5);
      }
    })();
    for (const share of size.killsAt) {
      await until(() => appended > total * share, size.withinMs);
      await on.nats.kill();
      await pause(150);
      await on.nats.start();
    }
    await producing;
    await until(() => consumer.stats().handled === total, size.withinMs);
    expect(await on.effects()).toEqual({ events: total, effects: total });
    // Five kills meet deliveries in flight: without repetitions nothing would be shown about them.
    if (isLong) expect(consumer.stats().repeated).toBeGreaterThan(0);
    const query = { url: on.database.adminUrl, from: 'alpha', service: 'beta', types: ['*'], graceSeconds: 0 };
    expect(await missingEvents({ ...query, consumer: 'effects' })).toEqual([]);
    expect(await missingEvents({ ...query, consumer: 'another' })).toHaveLength(total);
  },
  size.withinMs + 60_000,
);

test('a relay and a consumer that begin while nats-server is away do their work when it comes', async () => {
  const alpha = await on.connect('alpha');
  const beta = await on.connect('beta');
  await on.nats.kill();
  await on.relay({ connection: alpha });
  await on.consumer({ connection: beta });
  await appendSome(on.alpha, 20);
  expect(alpha.isConnected()).toBe(false);
  await on.nats.start();
  await until(async () => (await on.effects()).events === 20);
  expect(alpha.isConnected()).toBe(true);
});

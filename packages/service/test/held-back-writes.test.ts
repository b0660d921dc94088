import { eventsMigrations } from '@eligo/events';
import { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import { client, implement, inProcessTransport } from '@eligo/rpc';
import { waitUntil } from '@eligo/testkit';
import { expect, test } from 'vitest';
import { buildService, createLogger, type EventBus, operatorMigrations } from '../src/index.ts';
import { catalogEnvironment, identityOf, serviceDatabase } from './support.ts';

// More than a second's worth at the pace that follows from the writes before them.
const burst = 200;

test('a service whose events fall behind lets new writes of the gateway wait or refuses them with a time to retry, and lets reads and inner calls pass [D14.64]', async () => {
  const database = await serviceDatabase('catalog');
  let created = 0;
  const service = await buildService(
    {
      name: 'catalog',
      migrations: [eventsMigrations, operatorMigrations],
      build: () => ({
        handlers: [
          implement(CatalogService, {
            getPrice: ({ id }) => ({ priceId: id }),
            reserveRedemption: () => ({}),
            createShippingRate: () => {
              created += 1;
              return { shippingRateId: 'fshr_1' };
            },
          }),
        ],
      }),
    },
    {
      environment: catalogEnvironment(database.url),
      logger: createLogger({ service: 'catalog', level: 'silent' }),
      grpc: false,
      connectEvents: async () => fallingBehind,
    },
  );
  await service.start();
  const catalog = (from: 'gateway' | 'checkout') => {
    const identity = identityOf(from);
    const caller = identity.callerFor({ accountId: 'facct_1', testMode: true });
    return { calls: client(CatalogService, inProcessTransport(service.server, { encode: true }), identity), caller };
  };
  const [gateway, checkout] = [catalog('gateway'), catalog('checkout')];
  const write = () => gateway.calls.createShippingRate({}, { caller: gateway.caller });
  const metric = async (name: string) =>
    Number(new RegExp(`^eligo_${name}[^ ]* (.*)$`, 'm').exec(await service.metrics.page())?.[1] ?? 0);
  // The first looks follow so many writes that could put events behind.
  await Promise.all(Array.from({ length: 20 }, write));
  await waitUntil(async () => (await metric('events_behind_seconds')) > 0.4);
  const before = created;
  const writes = Array.from({ length: burst }, write);
  const refused = Promise.any(
    writes.map((one) =>
      one.then(
        () => Promise.reject(new Error('admitted')),
        (error: unknown) => error,
      ),
    ),
  );
  expect(await refused).toMatchObject({ code: 'service_unavailable', retryAfterSeconds: expect.any(Number) });
  await gateway.calls.getPrice({ id: 'fprice_1' }, { caller: gateway.caller });
  await checkout.calls.reserveRedemption({ sessionId: 'fcs_1' }, { caller: checkout.caller });
  const meanwhile = created;
  const admitted = (await Promise.allSettled(writes)).filter(({ status }) => status === 'fulfilled').length;
  expect(admitted).toBe(created - before);
  expect(admitted).toBeGreaterThan(meanwhile - before);
  expect(await metric('writes_held_back_total\\{outcome="admitted"')).toBe(admitted);
  await service.stop();
  await database.drop();
});

/** A bus of which every look finds that events are three seconds behind, and more of them than before. */
const fallingBehind: EventBus = {
  check: async () => undefined,
  startRelay: () => ({ stop: async () => undefined }),
  startConsumer: () => ({ stop: async () => undefined }),
  watchProgress: () => async () => ({ behindMs: 3_000, isGrowing: true }),
  close: async () => undefined,
};

import { Code } from '@connectrpc/connect';
import { eventsMigrations } from '@eligo/events';
import { HealthService } from '@eligo/proto/health/v1/health';
import { client, inProcessTransport } from '@eligo/rpc';
import { expect, test } from 'vitest';
import { buildService, createLogger, operatorMigrations } from '../src/index.ts';
import { catalogEnvironment, identityOf, serviceDatabase } from './support.ts';

test('a service whose migrations are not all applied tells the gateway so, and no other component [D14.392]', async () => {
  const database = await serviceDatabase('catalog');
  const pending = { name: 'missing', directory: new URL('./migrations', import.meta.url).pathname };
  const service = await buildService(
    {
      name: 'catalog',
      migrations: [eventsMigrations, operatorMigrations, pending],
      build: () => ({ handlers: [] }),
    },
    {
      environment: catalogEnvironment(database.url),
      logger: createLogger({ service: 'catalog', level: 'silent' }),
    },
  );
  await service.start();
  const transport = inProcessTransport(service.server);
  const callee = { callee: 'catalog' };
  const health = client(HealthService, transport, identityOf('gateway'), callee);
  expect(await health.check({}, {})).toMatchObject({ status: 'unavailable', failedChecks: ['migrations'] });
  const stranger = client(HealthService, transport, identityOf('checkout'), callee);
  await expect(stranger.check({}, {})).rejects.toMatchObject({ code: Code.PermissionDenied });
  await service.stop();
  await database.drop();
});

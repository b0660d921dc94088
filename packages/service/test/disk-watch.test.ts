import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventsMigrations } from '@eligo/events';
import { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import { client, implement, inProcessTransport } from '@eligo/rpc';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { buildService, createLogger, DiskWatch, operatorMigrations } from '../src/index.ts';
import { catalogEnvironment, identityOf, serviceDatabase } from './support.ts';

let database: Awaited<ReturnType<typeof serviceDatabase>>;
beforeAll(async () => {
  database = await serviceDatabase('catalog');
});
afterAll(() => database.drop());

test('while the disk is nearly full, new writes are 503, reads go on, and readiness and a metric say so [D14.223]', async () => {
  let freeBytes = 1_000;
  const disk = new DiskWatch({ folder: '/', leastFreeBytes: 1_000, look: async () => freeBytes, everyMs: 3_600_000 });
  const service = await buildService(
    {
      name: 'catalog',
      migrations: [eventsMigrations, operatorMigrations],
      build: () => ({
        handlers: [
          implement(CatalogService, {
            getPrice: ({ id }) => ({ priceId: id }),
            updatePrice: ({ id }) => ({ priceId: id }),
          }),
        ],
      }),
    },
    {
      environment: catalogEnvironment(database.url),
      logger: createLogger({ service: 'catalog', level: 'silent' }),
      disk,
    },
  );
  const { adminPort } = await service.start();
  const gateway = identityOf('gateway');
  const catalog = client(CatalogService, inProcessTransport(service.server), gateway);
  const call = { caller: gateway.callerFor({ accountId: 'facct_1', testMode: true }) };
  const metrics = async () => (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();

  expect(await catalog.updatePrice({ id: 'a' }, call)).toMatchObject({ priceId: 'a' });
  expect(await service.ready()).toMatchObject({ status: 'ok', checks: { disk: 'ok' } });
  freeBytes = 999;
  await disk.lookNow();
  expect(await metrics()).toMatch(/^eligo_disk_free_bytes\{service="catalog"\} 999$/m);
  await expect(catalog.updatePrice({ id: 'b' }, call)).rejects.toMatchObject({
    ...{ code: 'service_unavailable', retryAfterSeconds: 30 },
  });
  expect(await catalog.getPrice({ id: 'b' }, call)).toMatchObject({ priceId: 'b' });
  expect(await service.ready()).toMatchObject({ ready: true, status: 'degraded', checks: { disk: 'failed' } });
  // Not at the first byte that is free again.
  freeBytes = 1_100;
  await disk.lookNow();
  await expect(catalog.updatePrice({ id: 'c' }, call)).rejects.toMatchObject({ code: 'service_unavailable' });
  freeBytes = 1_250;
  await disk.lookNow();
  expect(await catalog.updatePrice({ id: 'c' }, call)).toMatchObject({ priceId: 'c' });
  await service.stop();
});

test('a folder that is not there is refused at startup, and one that vanishes later is told once [D14.223]', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'eligo-disk-'));
  const file = join(folder, 'file');
  writeFileSync(file, '');
  const composition = { name: 'catalog', migrations: [], build: () => ({ handlers: [] }) };
  // The file system does not say what it is, as with a folder in one that may not be entered.
  const untold = join(folder, 'untold');
  symlinkSync(untold, untold);
  for (const ELIGO_DISK_FOLDER of [join(folder, 'mistyped'), file, untold]) {
    const environment = { ...catalogEnvironment(database.url), ELIGO_DISK_FOLDER };
    await expect(buildService(composition, { environment })).rejects.toMatchObject({
      problems: ['ELIGO_DISK_FOLDER must be an existing folder that the component can read'],
    });
  }
  const lost: unknown[] = [];
  const onLost = (error: unknown) => void lost.push(error);
  const disk = new DiskWatch({ folder, leastFreeBytes: 1, everyMs: 3_600_000, onLost });
  await disk.check();
  rmSync(folder, { recursive: true });
  for (let looks = 0; looks < 3; looks++) await disk.lookNow();
  expect(lost).toEqual([expect.objectContaining({ code: 'ENOENT' })]);
  mkdirSync(folder);
  await disk.lookNow();
  expect(disk.freeBytes).toBeLessThan(Number.POSITIVE_INFINITY);
  rmSync(folder, { recursive: true });
  await disk.lookNow();
  expect(lost).toHaveLength(2);
  disk.stop();
});

test('the free bytes are those of the disk, and a folder that cannot be looked at stops no write [D14.223]', async () => {
  const full = new DiskWatch({ folder: '/', leastFreeBytes: Number.MAX_SAFE_INTEGER });
  await expect(full.check()).rejects.toThrow('nearly full');
  expect(full.freeBytes).toBeGreaterThan(0);
  const missing = new DiskWatch({ folder: '/no/such/folder', leastFreeBytes: Number.MAX_SAFE_INTEGER });
  await missing.check();
  missing.assertRoom();
  for (const watch of [full, missing]) watch.stop();
});

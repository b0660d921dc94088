import { unscoped } from '@eligo/postgres';
import { expect, test } from 'vitest';
import { buildService, createLogger } from '../src/index.ts';
import { catalogEnvironment, serviceDatabase } from './support.ts';

test('a connection of a service plans each statement once, for all values [D14.398]', async () => {
  const database = await serviceDatabase('catalog');
  const service = await buildService(
    { name: 'catalog', migrations: [], build: () => ({ handlers: [] }) },
    { environment: catalogEnvironment(database.url), logger: createLogger({ service: 'catalog', level: 'silent' }) },
  );
  try {
    expect(await service.database.row(planCacheMode, null)).toEqual({ plan_cache_mode: 'force_generic_plan' });
  } finally {
    await service.stop();
    await database.drop();
  }
});

const planCacheMode = unscoped<{ plan_cache_mode: string }>('test.plan_cache_mode', 'show plan_cache_mode');

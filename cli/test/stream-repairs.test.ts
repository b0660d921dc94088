import { catalogService } from '@eligo/catalog';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import { idBodies } from '@eligo/values';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { runCommandLine } from '../src/index.ts';

let test: TestDatabase;
beforeAll(async () => {
  test = await testDatabase(catalogService);
  vi.stubEnv('CATALOG_DATABASE_URL', test.urlOf('catalog'));
}, 60_000);
afterAll(async () => {
  vi.unstubAllEnvs();
  await test?.drop();
});
afterEach(() => test.admin('delete from catalog.outbox_repairs'));

const eventAt = (minute: number) =>
  `fevt_${idBodies({ now: () => Date.UTC(2026, 0, 1, 0, minute), random40: () => 1 })()}`;

// A quarter of the hundred minutes of events that are lost is published again.
const begin = (finishedAt: string | null) =>
  test.admin(
    `insert into catalog.outbox_repairs (found_at, stream, how, kept_seq, consumers, events, after_event_id, last_event_id, began_after_event_id, finished_at)
     values ('2026-01-02 00:00Z', 'ELIGO_CATALOG', 'gone back', 7, 2, 1234, $1, $2, $3, $4)`,
    [eventAt(25), eventAt(100), eventAt(0), finishedAt],
  );

async function repairs(...options: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const args = ['events', 'repairs', '--service', 'catalog', ...options];
  const code = await runCommandLine(args, { out: (text) => out.push(text), err: (text) => err.push(text) });
  expect({ code, err }).toEqual({ code: 0, err: [] });
  return out;
}

it('events repairs shows how far a repair in progress has come', async () => {
  await begin(null);
  expect(await repairs()).toEqual([
    '2026-01-02T00:00:00.000Z  catalog  gone back  in progress (25.0 %), 1234 events republished, 2 consumers recreated',
    '1 repairs',
  ]);
  expect(JSON.parse((await repairs('--json')).join(''))).toEqual({
    repairs: [
      {
        ...{ service: 'catalog', found_at: '2026-01-02T00:00:00.000Z', how: 'gone back', kept_seq: 7, consumers: 2 },
        ...{ events: 1234, finished_at: null, progress: 0.25 },
      },
    ],
  });
});

it('events repairs shows when a repair finished', async () => {
  await begin('2026-01-02 00:05Z');
  expect(await repairs()).toEqual([
    '2026-01-02T00:00:00.000Z  catalog  gone back  finished 2026-01-02T00:05:00.000Z, 1234 events republished, 2 consumers recreated',
    '1 repairs',
  ]);
});

import { randomBytes } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { append, eventsMigrations } from '@eligo/events';
import { unscoped, withTx } from '@eligo/postgres';
import { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import { AccountUpdatedSchema } from '@eligo/proto/events/v1/events';
import { currentRequest, generateComponentKeys, withRequestContext } from '@eligo/rpc';
import { waitUntil } from '@eligo/testkit';
import { idBodies } from '@eligo/values';
import { expect, test } from 'vitest';
import { buildService, createLogger, type ServiceContext } from '../src/index.ts';
import { catalogEnvironment, serviceDatabase } from './support.ts';

// Streams are shared by all tests of a run, so this service has a name of its own.
const name = `svc${randomBytes(4).toString('hex')}`;

test('the events of a request are published and handled under the id of that request, and the metrics show how far they and a repair have come', async () => {
  const database = await serviceDatabase(name);
  const seen = Promise.withResolvers<object>();
  const contexts: ServiceContext<unknown>[] = [];
  const service = await buildService(
    {
      name,
      migrations: [eventsMigrations],
      build(context) {
        contexts.push(context);
        return {
          handlers: [],
          consumers: [
            {
              consumer: 'own_accounts',
              subscriptions: [{ from: name, types: ['account.updated'] }],
              handle: async (_tx, { aggregateId, object }) => {
                seen.resolve({ aggregateId, case: object.case, requestId: currentRequest()?.requestId });
              },
            },
          ],
        };
      },
    },
    {
      environment: { ...environment(database.url), ELIGO_NATS_STORE_GB: '10' },
      grpc: false,
      logger: createLogger({ service: name, level: 'silent' }),
    },
  );
  const { adminPort } = await service.start();
  const scope = { accountId: 'facct_1', testMode: true };
  const value = create(AccountUpdatedSchema, { accountId: 'facct_1' });
  const event = { type: 'account.updated', aggregateId: 'facct_1', ...scope };
  await withRequestContext({ requestId: 'req_committed' }, () =>
    withTx(service.database, scope, (tx) => append(tx, { ...event, object: { case: 'accountUpdated', value } })),
  );
  expect(await seen.promise).toEqual({ aggregateId: 'facct_1', case: 'accountUpdated', requestId: 'req_committed' });

  const page = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
  expect(page).toMatch(/eligo_events_handled_total\{[^}]*consumer="own_accounts"[^}]*\} \d/);
  expect(page).toMatch(/eligo_consumer_pending\{[^}]*consumer="own_accounts",from="svc[^}]*\} 0/);
  expect(page).toMatch(/eligo_consumer_unacknowledged\{[^}]*consumer="own_accounts"[^}]*\} \d/);
  expect(page).toMatch(/eligo_outbox_oldest_seconds\{[^}]*\} \d/);
  expect(page).toMatch(/eligo_dead_letters\{[^}]*\} 0/);
  expect(page).toMatch(/eligo_stream_bytes\{[^}]*\} [1-9]\d*/);
  expect(page).toMatch(/eligo_nats_store_limit_bytes\{[^}]*\} 10737418240/);

  expect(page).toMatch(/eligo_outbox_repair_events\{[^}]*\} 0/);
  expect(page).toMatch(/eligo_outbox_repair_remaining_seconds\{[^}]*\} 0/);
  // A repair that has published 25 of the 100 minutes that are lost. Its stream is none of this service's, so its relay leaves the row as it is.
  const eventAt = (minute: number) =>
    `fevt_${idBodies({ now: () => Date.UTC(2026, 0, 1, 0, minute), random40: () => 1 })()}`;
  const [after, last, began] = [25, 100, 0].map(eventAt);
  await service.database.execute(beginRepair, null, [after, last, began]);
  const shown = await waitUntil(async () => {
    const text = await (await fetch(`http://127.0.0.1:${adminPort}/metrics`)).text();
    const gauge = (what: string) =>
      Number(new RegExp(`^eligo_outbox_repair_${what}\\{[^}]*\\} (.*)$`, 'm').exec(text)?.[1]);
    return gauge('events') > 0 && { events: gauge('events'), remainingSeconds: gauge('remaining_seconds') };
  });
  expect(shown).toEqual({ events: 1234, remainingSeconds: 75 * 60 });

  // The client refuses before anything is sent: nobody is at this peer's address.
  const [context] = contexts;
  await expect(
    withTx(service.database, scope, async () => context?.client(CatalogService).getPrice({ id: 'x' }, {})),
  ).rejects.toThrow('inside a transaction');
  await service.stop();
  await database.drop();
});

const beginRepair = unscoped(
  'test.begin_repair',
  `insert into outbox_repairs (stream, how, kept_seq, consumers, events, after_event_id, last_event_id, began_after_event_id)
   values ('ELIGO_OTHER', 'gone back', 7, 2, 1234, $1, $2, $3)`,
);

function environment(databaseUrl: string) {
  const keys = generateComponentKeys([name]);
  return {
    ...catalogEnvironment(databaseUrl),
    [`${name.toUpperCase()}_DATABASE_URL`]: databaseUrl,
    ELIGO_SERVICE_KEY: keys.privateKeys[name],
    ELIGO_SERVICE_PUBLIC_KEYS: JSON.stringify(keys.publicKeys),
    CATALOG_URL: 'http://127.0.0.1:1',
  };
}

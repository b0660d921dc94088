import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { checkEvents, streamBytes } from '../src/index.ts';
import { type Fixture, openFixture } from './fixture.ts';
import { type NatsProcess, natsProcess } from './nats-process.ts';
import { appendSome, type EventsDatabase, eventsDatabase, until } from './support.ts';

// A few events fill the store; the server refuses the next ones, stays connected and describes its stream as before.
const fewBytes = (listen: string, store: string) =>
  `listen: "${listen}"\nmax_payload: 8388608\njetstream { store_dir: "${store}", max_file: 40KB }\n`;

let nats: NatsProcess;
let database: EventsDatabase;
let on: Fixture;

beforeAll(async () => {
  nats = await natsProcess(fewBytes);
  await nats.start();
  database = await eventsDatabase();
  on = openFixture(nats.url, database);
});
afterAll(async () => {
  await on.end();
  await database.drop();
  await nats.remove();
});

test('a store that is full fails the check, and costs a few lines of the log [D14.135]', async () => {
  const connection = await on.connect('alpha');
  await on.relay({ connection });
  await appendSome(on.alpha, 20);
  await until(async () => (await waiting()) === 0);
  await expect(checkEvents(connection, 'alpha', on.alpha)).resolves.toBeUndefined();

  for (let i = 0; i < 20; i++) await appendSome(on.alpha, 20);
  await until(() => refusals().length >= 3);
  expect(connection.isConnected()).toBe(true);
  expect((await connection.manager.streams.info('ELIGO_ALPHA')).state.messages).toBeGreaterThanOrEqual(20);
  await on.database.admin(`update alpha.outbox set created_at = created_at - interval '1 minute'`);
  await expect(checkEvents(connection, 'alpha', on.alpha)).rejects.toThrow('Events are not published');
  // Half a second, one, two: hundreds of events wait, and each round has one line.
  expect(refusals().length).toBeLessThanOrEqual(5);
});

test('the bytes of the streams tell that the store reaches its limit, and a higher limit lets waiting events through [D14.391]', async () => {
  const bytes = (await streamBytes(await on.connect('alpha'), 'alpha')) ?? 0;
  expect(bytes / 40_960).toBeGreaterThan(0.8);
  // The last write may pass it.
  expect(bytes / 40_960).toBeLessThan(1.1);
  expect(await waiting()).toBeGreaterThan(0);
  await nats.stop();
  const file = join(dirname(nats.directory), 'nats.conf');
  writeFileSync(file, readFileSync(file, 'utf8').replace('max_file: 40KB', 'max_file: 40MB'));
  await nats.start();
  await until(async () => (await waiting()) === 0);
});

const refusals = () => on.logger.lines.filter(({ message }) => message.startsWith('Stream did not acknowledge events'));

async function waiting(): Promise<number> {
  const [row] = await on.database.admin<{ n: number }>('select count(*)::int as n from alpha.outbox_queue');
  return row?.n ?? 0;
}

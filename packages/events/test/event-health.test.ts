import { rm } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { checkEvents } from '../src/index.ts';
import { useFixture } from './fixture.ts';
import { appendSome, until } from './support.ts';

const on = useFixture();

test('events do not get through while the server is frozen or gone, and do once it is back [D14.135]', async () => {
  const connection = await on.connect('alpha');
  const check = () => checkEvents(connection, 'alpha', on.alpha);
  const passes = () =>
    check().then(
      () => true,
      () => false,
    );
  await on.relay({ connection });
  await appendSome(on.alpha, 1);
  await until(async () => (await waiting()) === 0);
  await check();

  await on.nats.freeze();
  expect(connection.isConnected()).toBe(true);
  // The client itself would wait for 5 s, and say TIMEOUT.
  await expect(check()).rejects.toThrow('JetStream does not answer');
  on.nats.thaw();
  await until(passes);

  await on.nats.kill();
  await until(() => !connection.isConnected());
  await expect(check()).rejects.toThrow('NATS is disconnected');
  await on.nats.start();
  await until(passes);
  expect(connection.isConnected()).toBe(true);
});

test('a stream whose folder is removed under the live server is made again with what the outbox holds, once the server is restarted [D14.135]', async () => {
  const connection = await on.connect('alpha');
  await on.relay({ connection });
  await appendSome(on.alpha, 20);
  await until(async () => (await waiting()) === 0);
  await rm(on.nats.directory, { recursive: true });
  // The server has its files open and stores what comes, so the check passes until the server is gone.
  await appendSome(on.alpha, 5);
  await until(async () => (await waiting()) === 0 && (await stored(connection)) === 25);
  await checkEvents(connection, 'alpha', on.alpha);
  // `npm start` restarts it by itself, and an operator of another server does.
  await on.nats.kill();
  await on.nats.start();
  await appendSome(on.alpha, 5);
  await until(async () => (await waiting()) === 0 && (await stored(connection)) === 30);
  await checkEvents(connection, 'alpha', on.alpha);
});

async function waiting(): Promise<number> {
  const [row] = await on.database.admin<{ n: number }>('select count(*)::int as n from alpha.outbox_queue');
  return row?.n ?? 0;
}

async function stored(connection: Awaited<ReturnType<typeof on.connect>>): Promise<number> {
  const info = await connection.manager.streams.info('ELIGO_ALPHA').catch(() => undefined);
  return info?.state.messages ?? 0;
}

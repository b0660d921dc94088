import type { Session } from '@eligo/postgres';
import { afterEach, expect, test, vi } from 'vitest';
import { type SilentProxy, silentProxy } from '../../postgres/test/silent-proxy.ts';
import { outboxLag, regressionDetector } from '../src/index.ts';
import { Leadership, LeadershipLost } from '../src/leadership.ts';
import { listRepairs } from '../src/repairs.ts';
import { useFixture } from './fixture.ts';
import { appendSome, until } from './support.ts';

const on = useFixture();
let proxy: SilentProxy | undefined;
afterEach(async () => {
  vi.useRealTimers();
  await proxy?.close();
  proxy = undefined;
});

const published = async () => (await outboxLag(on.alpha)).waiting === 0;

test('a relay whose session fell silent stops publishing, and stands again for the lead', async () => {
  proxy = await silentProxy(on.alpha.options.url);
  const behind = on.database.open('alpha', { url: proxy.url });
  const relay = await on.relay({ database: behind });
  await appendSome(behind, 5);
  await until(() => relay.isLeading() && relay.stats().published === 5);
  const [session] = await on.database.admin<{ pid: number; client_port: number }>(
    "select pid, client_port from pg_stat_activity where application_name = 'relay alpha' and datname = current_database()",
  );
  // After a failover the new server has neither the session nor its lock; other connections are new ones.
  proxy.silenceOne(session?.client_port ?? 0);
  await on.database.admin('select pg_terminate_backend($1)', [session?.pid]);
  const successor = await on.relay({ connection: await on.connect('alpha') });
  await until(() => successor.isLeading());
  // Each of these wakes the silent relay alone.
  await until(async () => {
    await appendSome(behind, 1);
    return !relay.isLeading();
  });
  const before = relay.stats().published;
  await appendSome(on.alpha, 5);
  await until(published);
  expect(relay.stats().published).toBe(before);
  expect(await listRepairs(on.alpha)).toEqual([]);
  await successor.stop();
  await until(() => relay.isLeading());
});

test('a relay that no longer leads does not take its successor’s events for a loss', async () => {
  const detector = regressionDetector(
    on.alpha,
    await on.connect('alpha'),
    'alpha',
    on.logger,
    {},
    {
      lately: async () => undefined,
      now: () => Promise.reject(new LeadershipLost()),
    },
  );
  await detector.inspect();
  await on.relay();
  await appendSome(on.alpha, 5);
  await until(published);
  const late = [{ eventId: 'fevt_1', streamSeq: 3, duplicate: false }];
  await expect(detector.record(late, [])).rejects.toThrow(LeadershipLost);
  expect(await listRepairs(on.alpha)).toEqual([]);
});

test('asks the server again once its answer is two seconds old', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const asked: string[] = [];
  const leadership = await Leadership.take(fakeSession(async (text) => void asked.push(text)));
  for (let i = 0; i < 100; i++) await leadership?.lately();
  expect(asked).toHaveLength(1);
  vi.advanceTimersByTime(2_001);
  for (let i = 0; i < 100; i++) await leadership?.lately();
  expect(asked.slice(1)).toEqual(['select 1']);
});

test('is over for good after a statement that failed', async () => {
  let works = true;
  const leadership = await Leadership.take(
    fakeSession(async () => {
      if (!works) throw new Error('gone');
    }),
  );
  works = false;
  await expect(leadership?.now()).rejects.toThrow(LeadershipLost);
  works = true;
  await expect(leadership?.lately()).rejects.toThrow(LeadershipLost);
  expect(leadership?.isOver).toBe(true);
});

function fakeSession(answer: (text: string) => Promise<void>): Session {
  return {
    query: async (text) => {
      await answer(text);
      return [{ won: true }] as never;
    },
    closed: new Promise(() => undefined),
    close: async () => undefined,
  };
}

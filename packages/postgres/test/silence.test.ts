import { Failure } from '@eligo/failures';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { CommitUnknown, type Database, openSession, scoped, withTx } from '../src/index.ts';
import { type SilentProxy, silentProxy } from './silent-proxy.ts';
import { type TestDatabase, testDatabase } from './support.ts';

const scope = { accountId: 'facct_a', testMode: true };
const insert = scoped('s.insert', 'insert into things (account_id, test_mode, thing_id) values ($1, $2, $3)');
const get = scoped('s.get', 'select thing_id from things where account_id = $1 and test_mode = $2 and thing_id = $3');

let on: TestDatabase;
let proxy: SilentProxy;
let database: Database;

beforeAll(async () => {
  on = await testDatabase();
});
afterAll(() => on.drop());
beforeEach(async () => {
  proxy = await silentProxy(on.urlOf('alpha'));
  database = on.open('alpha', {
    url: proxy.url,
    statementTimeoutMs: 1_000,
    answerMarginMs: 500,
    connectionWaitMs: 5_000,
    max: 1,
  });
  await database.ping();
});
afterEach(() => proxy.close());

test('a read that gets no answer is 503 in bounded time, and its connection is not used again', async () => {
  proxy.silence('everything');
  await expect(database.row(get, scope, ['x'])).rejects.toMatchObject({ code: 'service_unavailable', status: 503 });
  proxy.speak();
  expect(await database.row(get, scope, ['x'])).toBeUndefined();
});

test('a COMMIT whose answer is lost is reported as unknown, although it happened', async () => {
  const attempt = withTx(database, scope, async (tx) => {
    await tx.execute(insert, scope, ['committed']);
    proxy.silence('answers');
  });
  await expect(attempt).rejects.toSatisfy(
    (error) => error instanceof Failure && error.code === 'service_unavailable' && error.cause instanceof CommitUnknown,
  );
  proxy.speak();
  expect(await database.row(get, scope, ['committed'])).toBeDefined();
});

test('a COMMIT that never arrives is reported as unknown, and did not happen', async () => {
  const attempt = withTx(database, scope, async (tx) => {
    await tx.execute(insert, scope, ['lost']);
    proxy.silence('everything');
  });
  await expect(attempt).rejects.toMatchObject({ code: 'service_unavailable', cause: expect.any(CommitUnknown) });
  proxy.speak();
  expect(await database.row(get, scope, ['lost'])).toBeUndefined();
});

test('a session to a server that fell silent is closed in bounded time, and says that it is', async () => {
  const session = await openSession(database, 'silent');
  await session.query('select 1');
  proxy.silence('everything');
  const begun = performance.now();
  await session.close();
  await session.closed;
  expect(performance.now() - begun).toBeLessThan(10_000);
});

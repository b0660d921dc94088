import { hash } from 'node:crypto';
import type { Database } from '@eligo/postgres';
import { noCaller } from '@eligo/rpc';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, type MockInstance, test, vi } from 'vitest';
import { KeyCache } from '../src/accounts/key-cache.ts';
import {
  createAccount,
  createKey,
  createOrganization,
  gatewayService,
  revokeKey,
  updateAccount,
} from '../src/index.ts';

let databases: TestDatabase;
let database: Database;
let cache: KeyCache;
/** Runs when a key that was found is signed: after it was read, before it is kept. */
let onSign: () => void;
/** Runs when a substantiation may have changed. */
let onStatement: () => void;
/** Stands still: on a slow machine a key that no change forgot would be stale, too, by the time that the test looks. */
let clock: MockInstance<() => number>;

beforeAll(async () => {
  databases = await testDatabase(gatewayService);
  database = databases.open('gateway');
});

beforeEach(async () => {
  clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
  onSign = () => undefined;
  onStatement = () => undefined;
  const sign = (init: { accountId: string }) => {
    onSign();
    return { ...noCaller, accountId: init.accountId };
  };
  cache = new KeyCache(database, { live: 100, test: 25 }, sign, () => onStatement());
  await cache.listen();
});

afterEach(async () => {
  vi.useRealTimers();
  clock.mockRestore();
  await cache.stop();
});

afterAll(() => databases?.drop());

const hashOf = (apiKey: string) => hash('sha256', apiKey, 'base64url');
const get = (apiKey: string) => cache.get(hashOf(apiKey));
const find = (apiKey: string) => cache.find(apiKey, hashOf(apiKey));

async function newKey(account: { organizationId?: string; expiresAt?: Date } = {}) {
  const { organizationId, expiresAt } = account;
  const { account_id: accountId } = await createAccount(database, { name: 'A shop', organizationId });
  const { key_id: keyId, api_key: apiKey } = await createKey(database, { accountId, testMode: true, expiresAt });
  return { accountId, keyId, apiKey };
}

const soon = { interval: 5, timeout: 30_000 };

describe('a change', () => {
  test('of a key makes that key be forgotten at once, and no other [D14.46]', async () => {
    const [revoked, other] = [await newKey(), await newKey()];
    await find(revoked.apiKey);
    const kept = await find(other.apiKey);
    await revokeKey(database, revoked.keyId);
    await vi.waitFor(() => expect(get(revoked.apiKey)).toBeUndefined(), soon);
    expect(cache.isKnown(hashOf(revoked.apiKey))).toBe(false);
    expect(get(other.apiKey)).toBe(kept);
    expect(await find(revoked.apiKey)).toBeUndefined();
  });

  test('of an account makes its keys be forgotten, and no others', async () => {
    const [changed, other] = [await newKey(), await newKey()];
    await find(changed.apiKey);
    const kept = await find(other.apiKey);
    await updateAccount(database, changed.accountId, { addFeatures: ['food_eligibility'] });
    await vi.waitFor(() => expect(get(changed.apiKey)).toBeUndefined(), soon);
    expect(get(other.apiKey)).toBe(kept);
    expect((await find(changed.apiKey))?.features).toEqual(['food_eligibility']);
  });

  test('of a substantiation, and a new account, is noticed, so that checkout is told of its statement at once [D14.233]', async () => {
    const made = Promise.withResolvers<void>();
    onStatement = made.resolve;
    const { account_id: id } = await createAccount(database, { name: 'A shop' });
    await made.promise;
    const changed = Promise.withResolvers<void>();
    onStatement = changed.resolve;
    await updateAccount(database, id, { substantiation: { substantiation: 'iias', setBy: 'Ada' } });
    await changed.promise;
  });

  test('of who belongs to an organization counts for its other members too', async () => {
    const { organization_id: organizationId } = await createOrganization(database, { name: 'A group' });
    const [member, joining] = [await newKey({ organizationId }), await newKey()];
    expect((await find(member.apiKey))?.siblingAccountIds).toEqual([]);
    await updateAccount(database, joining.accountId, { organizationId });
    await vi.waitFor(() => expect(get(member.apiKey)).toBeUndefined(), soon);
    expect((await find(member.apiKey))?.siblingAccountIds).toEqual([joining.accountId]);
  });

  test('and so does an account that is made as its member', async () => {
    const { organization_id: organizationId } = await createOrganization(database, { name: 'A group' });
    const member = await newKey({ organizationId });
    expect((await find(member.apiKey))?.siblingAccountIds).toEqual([]);
    const { accountId } = await newKey({ organizationId });
    await vi.waitFor(() => expect(get(member.apiKey)).toBeUndefined(), soon);
    expect((await find(member.apiKey))?.siblingAccountIds).toEqual([accountId]);
  });

  test('keeps what was read before it from being kept, though the request that asked is answered', async () => {
    const { apiKey, keyId } = await newKey();
    onSign = () => cache.forget(keyId);
    expect((await find(apiKey))?.keyId).toBe(keyId);
    expect(get(apiKey)).toBeUndefined();
  });

  test('makes later requests look the key up again, also while an earlier lookup is in flight', async () => {
    const { apiKey, keyId } = await newKey();
    const before = find(apiKey);
    cache.forget(keyId);
    // Its query is still under way when the earlier lookup has ended.
    const isEarlierOver = Promise.withResolvers<void>();
    const { row } = database;
    const held = vi.spyOn(database, 'row').mockImplementationOnce(async (...query: Parameters<typeof row>) => {
      await isEarlierOver.promise;
      return row.apply(database, query);
    });
    const after = find(apiKey);
    held.mockRestore();
    expect(after).not.toBe(before);
    await before;
    expect(find(apiKey)).toBe(after);
    isEarlierOver.resolve();
    await after;
    expect(get(apiKey)).toBe(await after);
  });
});

test('requests that come while a key is looked up share the query', async () => {
  const { apiKey } = await newKey();
  const first = find(apiKey);
  expect(find(apiKey)).toBe(first);
  await first;
});

test('a key ends at its expiry, though it was seen a moment ago', async () => {
  const { apiKey } = await newKey({ expiresAt: new Date(Date.now() + 60_000) });
  await find(apiKey);
  expect(get(apiKey)).toBeDefined();
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 60_000 });
  expect(get(apiKey)).toBeUndefined();
});

test('a key is looked up again after 3.5 s, whatever becomes of the wall clock', async () => {
  const { apiKey } = await newKey();
  await find(apiKey);
  expect(get(apiKey)).toBeDefined();
  const foundAt = performance.now();
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() - 3_600_000 });
  clock.mockReturnValue(foundAt + 3_499);
  expect(get(apiKey)).toBeDefined();
  clock.mockReturnValue(foundAt + 3_501);
  expect(get(apiKey)).toBeUndefined();
});

test('who listens is heard again after the connection was lost, once, and not after it has stopped', async () => {
  const listeners = async () =>
    (
      await databases.admin<{ pid: number }>(
        `select pid from pg_stat_activity
         where application_name = 'eligo gateway keys' and datname = current_database() and query like 'listen%'`,
      )
    ).map(({ pid }) => pid);
  const [first] = await listeners();
  await databases.admin('select pg_terminate_backend($1, 5000)', [first]);
  await vi.waitFor(async () => expect(await listeners()).toEqual([expect.any(Number)]), soon);
  const { apiKey, keyId } = await newKey();
  await find(apiKey);
  await revokeKey(database, keyId);
  await vi.waitFor(() => expect(get(apiKey)).toBeUndefined(), soon);
  await cache.stop();
  await vi.waitFor(async () => expect(await listeners()).toEqual([]), soon);
});

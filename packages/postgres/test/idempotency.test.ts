import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  claimKey,
  type Database,
  findKey,
  finishKey,
  finishKeyOfAttempt,
  type KeyUse,
  linkAttempt,
  pruneKeys,
  releaseKey,
  releaseKeyOfAttempt,
  requestHash,
  unlinkAttempt,
  withTx,
} from '../src/index.ts';
import { type TestDatabase, testDatabase } from './support.ts';

const scope = { accountId: 'facct_a', testMode: true };
const answer = { status: 200, body: Buffer.from('{"x":  1}\n') };
const LEASE_MS = 60_000;
// A lease of 0 ms may last for half of one: its end is kept in whole milliseconds, rounded.
const lapsed = -1_000;

let on: TestDatabase;
let database: Database;
let count = 0;

beforeAll(async () => {
  on = await testDatabase();
  database = on.open();
});
afterAll(() => on.drop());

function useOf(body: unknown, options: Partial<KeyUse> = {}): KeyUse {
  const endpoint = options.endpoint ?? 'POST /v1/checkout/sessions/fcs_1/confirm';
  return {
    endpoint,
    key: `key-${count}`,
    requestHash: requestHash({ method: 'POST', path: endpoint, body }),
    otherRequest: 'refuse',
    ...options,
  };
}

const claim = (use: KeyUse, leaseMs = LEASE_MS, as = scope) =>
  withTx(database, as, (tx) => claimKey(tx, as, use, leaseMs));
const finish = (use: KeyUse) => withTx(database, scope, (tx) => finishKey(tx, scope, use, answer));

describe('a key', () => {
  test('is claimed once; then it is in use; then it replays the same bytes', async () => {
    count += 1;
    const use = useOf({ a: 1 });
    expect(await claim(use)).toEqual({ outcome: 'claimed', epoch: 1, attemptId: undefined, isNew: true });
    expect(await claim(use)).toEqual({ outcome: 'in_use' });
    expect(await findKey(database, scope, use)).toEqual({ outcome: 'in_use' });
    expect(await finish(use)).toBe(true);
    expect(await claim(use)).toEqual({ outcome: 'finished', answer, attemptId: undefined });
    expect(await findKey(database, scope, use)).toEqual({ outcome: 'finished', answer, attemptId: undefined });
  });

  test('is in use for every request while one is in flight; another request is refused once it is not [D14.42]', async () => {
    count += 1;
    const use = useOf({ a: 1 });
    await claim(use);
    expect(await claim(useOf({ a: 2 }))).toEqual({ outcome: 'in_use' });
    expect(await findKey(database, scope, useOf({ a: 2 }))).toEqual({ outcome: 'in_use' });
    await finish(use);
    expect(await claim(useOf({ a: 2 }))).toEqual({ outcome: 'other_request' });
    count += 1;
    const abandoned = useOf({ a: 1 });
    await claim(abandoned, lapsed);
    expect(await claim(useOf({ a: 2 }))).toEqual({ outcome: 'other_request' });
    expect(await claim(abandoned)).toMatchObject({ outcome: 'claimed' });
  });

  test('with another request is another request where clients send keys of resources', async () => {
    count += 1;
    const first = useOf({ a: 1 }, { otherRequest: 'run_as_new' });
    const second = useOf({ a: 2 }, { otherRequest: 'run_as_new' });
    await claim(first);
    await finish(first);
    expect(await claim(second)).toMatchObject({ outcome: 'claimed' });
    expect(await claim(first)).toMatchObject({ outcome: 'finished' });
  });

  test('belongs to account, mode and endpoint', async () => {
    count += 1;
    await claim(useOf({ a: 1 }));
    expect(await claim(useOf({ a: 1 }), LEASE_MS, { ...scope, testMode: false })).toMatchObject({ outcome: 'claimed' });
    expect(await claim(useOf({ a: 1 }), LEASE_MS, { ...scope, accountId: 'facct_b' })).toMatchObject({
      outcome: 'claimed',
    });
    expect(await claim(useOf({ a: 1 }, { endpoint: 'POST /v1/other' }))).toMatchObject({ outcome: 'claimed' });
  });

  test('whose lease lapsed is taken over with a new epoch and what was begun', async () => {
    count += 1;
    const use = useOf({ a: 1 });
    await claim(use, lapsed);
    await withTx(database, scope, (tx) => linkAttempt(tx, scope, use, 'fatt_1'));
    expect(await claim(use)).toEqual({ outcome: 'claimed', epoch: 2, attemptId: 'fatt_1', isNew: false });
    expect(await claim(use)).toEqual({ outcome: 'in_use' });
  });

  test('is released early only by its holder', async () => {
    count += 1;
    const use = useOf({ a: 1 });
    await claim(use, lapsed);
    await claim(use);
    await withTx(database, scope, (tx) => releaseKey(tx, scope, use, 1));
    expect(await claim(use)).toEqual({ outcome: 'in_use' });
    await withTx(database, scope, (tx) => releaseKey(tx, scope, use, 2));
    expect(await claim(use)).toMatchObject({ outcome: 'claimed', epoch: 3 });
  });

  test('is finished by a caller that knows only the attempt, and the first answer stays', async () => {
    count += 1;
    const use = useOf({ a: 1 });
    await claim(use);
    await withTx(database, scope, (tx) => linkAttempt(tx, scope, use, 'fatt_2'));
    const byAttempt = (status: number) =>
      withTx(database, scope, (tx) => finishKeyOfAttempt(tx, scope, 'fatt_2', { status, body: answer.body }));
    expect(await byAttempt(402)).toBe(true);
    expect(await byAttempt(200)).toBe(false);
    expect(await finish(use)).toBe(false);
    expect(await claim(use)).toMatchObject({ outcome: 'finished', answer: { status: 402 } });
  });

  test('starts a new attempt when its attempt is abandoned', async () => {
    count += 1;
    const use = useOf({ a: 1 });
    await claim(use, lapsed);
    await withTx(database, scope, (tx) => linkAttempt(tx, scope, use, 'fatt_3'));
    await withTx(database, scope, (tx) => unlinkAttempt(tx, scope, 'fatt_3'));
    expect(await claim(use)).toEqual({ outcome: 'claimed', epoch: 3, attemptId: undefined, isNew: false });
  });

  test('claimed sixteen times at once is claimed once', async () => {
    count += 1;
    const use = useOf({ a: 1 });
    const wide = on.open('alpha', { max: 16 });
    const claims = await Promise.all(
      Array.from({ length: 16 }, () => withTx(wide, scope, (tx) => claimKey(tx, scope, use, LEASE_MS))),
    );
    expect(claims.filter(({ outcome }) => outcome === 'claimed')).toHaveLength(1);
    expect(claims.filter(({ outcome }) => outcome === 'in_use')).toHaveLength(15);
  });

  test('is not claimed when the transaction does not commit', async () => {
    count += 1;
    const use = useOf({ a: 1 });
    const attempt = withTx(database, scope, async (tx) => {
      await claimKey(tx, scope, use, LEASE_MS);
      throw new Error('no');
    });
    await expect(attempt).rejects.toThrow('no');
    expect(await findKey(database, scope, use)).toBeUndefined();
  });

  test('is deleted when it is finished and thirty days old, in every account', async () => {
    count += 1;
    const old = useOf({ a: 1 });
    await claim(old);
    await finish(old);
    const open = useOf({ a: 1 }, { endpoint: 'POST /v1/open' });
    await claim(open);
    await on.admin("update alpha.idempotency_keys set created_at = now() - interval '31 days' where key = $1", [
      old.key,
    ]);
    expect(await pruneKeys(database)).toBe(1);
    expect(await findKey(database, scope, old)).toBeUndefined();
    expect(await findKey(database, scope, open)).toEqual({ outcome: 'in_use' });
  });
});

describe('a key whose attempt was given up', () => {
  const age = (use: KeyUse) =>
    on.admin(
      `update alpha.idempotency_keys set created_at = now() - interval '31 days', lease_until = now() - interval '1 s'
       where key = $1 and endpoint = $2`,
      [use.key, use.endpoint],
    );

  test('is free at once when its attempt was sent and charged nothing, and its previous holder cannot end the next lease', async () => {
    count += 1;
    const use = useOf({ a: 1 });
    await claim(use);
    await withTx(database, scope, (tx) => linkAttempt(tx, scope, use, 'fatt_late'));
    await withTx(database, scope, (tx) => releaseKeyOfAttempt(tx, scope, 'fatt_late'));
    expect(await claim(use)).toEqual({ outcome: 'claimed', epoch: 3, attemptId: undefined, isNew: false });
    await withTx(database, scope, (tx) => releaseKey(tx, scope, use, 1));
    expect(await findKey(database, scope, use)).toEqual({ outcome: 'in_use' });
  });

  test('is pruned after thirty days; one with an attempt never is, nor one that is being used', async () => {
    count += 1;
    const [released, begun, used] = ['released', 'begun', 'used'].map((name) =>
      useOf({ a: 1 }, { endpoint: `POST /v1/${name}` }),
    ) as [KeyUse, KeyUse, KeyUse];
    for (const use of [released, begun, used]) await claim(use);
    await withTx(database, scope, async (tx) => {
      await linkAttempt(tx, scope, released, 'fatt_released');
      await linkAttempt(tx, scope, begun, 'fatt_begun');
      await unlinkAttempt(tx, scope, 'fatt_released');
    });
    for (const use of [released, begun, used]) await age(use);
    await on.admin("update alpha.idempotency_keys set lease_until = now() + interval '1 minute' where endpoint = $1", [
      used.endpoint,
    ]);
    expect(await pruneKeys(database)).toBe(1);
    const left = await on.admin(
      'select endpoint from alpha.idempotency_keys where endpoint = any($1) order by endpoint',
      [[released, begun, used].map(({ endpoint }) => endpoint)],
    );
    expect(left).toEqual([{ endpoint: begun.endpoint }, { endpoint: used.endpoint }]);
  });
});

describe('the guard of a key refuses what no check constraint holds any more', () => {
  const own = ['POST /v1/guarded', 'guarded'];
  beforeAll(() =>
    on.admin(
      `insert into alpha.idempotency_keys (account_id, test_mode, endpoint, key, request_hash, lease_until)
       values ('facct_a', true, $1, $2, $3, now())`,
      [...own, requestHash({ method: 'POST', path: '/x', body: {} })],
    ),
  );
  const finished = { state: 'finished', status: 200, body: '\\x00' };
  const checks: [string, Record<string, string | number | null>][] = [
    ['idempotency_keys_key_check', { key: '' }],
    ['idempotency_keys_key_check', { key: 'k'.repeat(256) }],
    ['idempotency_keys_request_hash_check', { request_hash: `\\x${'00'.repeat(31)}` }],
    ['idempotency_keys_state_check', { state: 'lost' }],
    ['idempotency_keys_status_check', { ...finished, status: 199 }],
    ['idempotency_keys_status_check', { ...finished, status: 600 }],
    ['finished_has_answer', { ...finished, status: null }],
    ['finished_has_answer', { ...finished, body: null }],
    ['finished_has_answer', { status: 200 }],
    ['finished_has_answer', { body: '\\x00' }],
  ];

  test.each(checks)('%s, for a new row and for a changed one with %j', async (constraint, columns) => {
    const values = [...own, columns];
    const insert = `insert into alpha.idempotency_keys select other.* from alpha.idempotency_keys own,
      jsonb_populate_record(own, $3) other where (own.endpoint, own.key) = ($1, $2)`;
    await expect(on.admin(insert, values)).rejects.toMatchObject({ constraint });
    const set = Object.keys(columns).map((name) => `${name} = (jsonb_populate_record(own, $3)).${name}`);
    const update = `update alpha.idempotency_keys own set ${set.join(', ')} where (own.endpoint, own.key) = ($1, $2)`;
    await expect(on.admin(update, values)).rejects.toMatchObject({ constraint });
  });

  test('and these are all of its checks', async () => {
    const rows = await on.admin(
      `select (regexp_matches(prosrc, 'then ''(\\w+)''', 'g'))[1] as name from pg_proc
       where oid = 'alpha.guard_idempotency_key'::regproc`,
    );
    expect(rows.map(({ name }) => name).sort()).toEqual([...new Set(checks.map(([name]) => name))].sort());
    expect(rows).toHaveLength(5);
  });
});

describe('a request hash', () => {
  const hash = (query: unknown, body: unknown) =>
    requestHash({ method: 'POST', path: '/x', query, body }).toString('hex');

  test('does not depend on the order of keys', () => {
    expect(hash({ a: 1, b: 2 }, { x: { p: 1, q: [1, { r: 1, s: 2 }] } })).toBe(
      hash({ b: 2, a: 1 }, { x: { q: [1, { s: 2, r: 1 }], p: 1 } }),
    );
  });

  test('depends on everything else', () => {
    const seen = new Set([
      hash({}, { a: [1, 2] }),
      hash({}, { a: [2, 1] }),
      hash({}, { a: '1' }),
      hash({}, { a: 1 }),
      hash({}, { a: null }),
      hash({}, {}),
      hash({ a: 1 }, {}),
      requestHash({ method: 'GET', path: '/x', body: {} }).toString('hex'),
      requestHash({ method: 'POST', path: '/y', body: {} }).toString('hex'),
    ]);
    expect(seen.size).toBe(9);
  });
});

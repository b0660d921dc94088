import { create } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import type { Database } from '@eligo/postgres';
import { RecordHealthCardStatementResponseSchema } from '@eligo/proto/checkout/v1/checkout';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isKey, keyHash, newKey } from '../src/accounts/key-format.ts';
import { toldStatements } from '../src/accounts/tellings.ts';
import {
  createAccount,
  createKey,
  createOrganization,
  findAccount,
  gatewayService,
  keyPattern,
  listAccounts,
  listKeys,
  revokeKey,
  rollKey,
  updateAccount,
} from '../src/index.ts';
import { teller } from './gateway-database.ts';

let databases: TestDatabase;
let database: Database;

beforeAll(async () => {
  databases = await testDatabase(gatewayService);
  database = databases.open('gateway');
});

afterAll(() => databases?.drop());

describe('the format of keys', () => {
  test('says its mode, carries 190 random bits and a check', () => {
    expect(newKey(true)).toMatch(/^fsk_test_[0-9A-Za-z]{38}$/);
    expect(newKey(false)).toMatch(/^fsk_[0-9A-Za-z]{38}$/);
    expect(newKey(true)).not.toBe(newKey(true));
    expect(`log line with ${newKey(false)} inside`).toMatch(keyPattern);
  });

  test('a key passes its own check, and not with any one character changed', () => {
    const key = newKey(true);
    expect(isKey(key)).toBe(true);
    for (let at = 0; at < key.length; at += 1) {
      const other = key[at] === 'a' ? 'b' : 'a';
      expect(isKey(key.slice(0, at) + other + key.slice(at + 1))).toBe(false);
    }
  });

  test.each(['', 'fsk_', 'fsk_test_', `${newKey(true)} `, newKey(true).slice(1), `sk_${newKey(false).slice(4)}`])(
    '%j is none',
    (text) => expect(isKey(text)).toBe(false),
  );
});

describe('accounts', () => {
  test('creating an account publishes no event [D14.46]', async () => {
    const account = await createAccount(database, { name: ' A shop ', features: ['food_eligibility'] });
    expect(account).toMatchObject({ name: 'A shop', features: ['food_eligibility'], organization_id: null });
    expect(await databases.admin('select type from gateway.outbox')).toEqual([]);
  });

  test('sets how its checkout pages look, refuses what no page can show, and clears it again [D14.84, D14.110]', async () => {
    const { account_id: id } = await createAccount(database, { name: 'A shop' });
    const key = 'pk_live_0123456789abcdef';
    const look = { displayName: ' Sun Pharmacy ', logoUrl: 'https://cdn.example/l.svg', accentColor: '#FFCC00' };
    const set = { display_name: 'Sun Pharmacy', logo_url: 'https://cdn.example/l.svg', accent_color: '#ffcc00' };
    expect(await updateAccount(database, id, { publishableKey: key })).toMatchObject({ publishable_key: key });
    expect(await updateAccount(database, id, look)).toMatchObject(set);
    expect(await updateAccount(database, id, { name: 'Another name' })).toMatchObject(set);
    for (const wrong of [
      { displayName: ' ' },
      { logoUrl: 'http://cdn.example/l.svg' },
      { logoUrl: 'javascript:alert(1)' },
      { logoUrl: 'https://user@cdn.example/' },
      { accentColor: 'red' },
      { accentColor: '#ffcc00;' },
      { shippingCountries: [] },
      { shippingCountries: ['US', 'USA'] },
      { shippingCountries: ['QQ'] },
      { publishableKey: 'pk_test_0123456789abcdef' },
      { publishableKey: 'sk_live_0123456789abcdef' },
      { publishableKey: 'pk_live_0123456789 abcdef' },
    ])
      await expect(updateAccount(database, id, wrong)).rejects.toMatchObject({ code: 'validation_error' });
    for (const [column, value] of [
      ['logo_url', 'http://cdn.example'],
      ['accent_color', 'red'],
      ['shipping_countries', 'us'],
      ['display_name', ''],
      ['publishable_key', 'pk_test_0123456789abcdef'],
    ])
      await expect(
        databases.admin(`update gateway.accounts set ${column} = $2 where account_id = $1`, [id, value]),
      ).rejects.toThrow('violates check constraint');
    expect(await updateAccount(database, id, { shippingCountries: ['us', 'CA', 'US'] })).toMatchObject({
      shipping_countries: 'US,CA',
    });
    const none = { shippingCountries: null, displayName: null, logoUrl: null, accentColor: null, publishableKey: null };
    expect(await updateAccount(database, id, none)).toMatchObject({
      shipping_countries: null,
      ...{ display_name: null, logo_url: null, accent_color: null, publishable_key: null },
    });
  });

  test('and their keys are all listed, oldest first, however many there are', async () => {
    const { account_id: id } = await createAccount(database, { name: 'A shop of many keys' });
    await databases.admin(
      `insert into gateway.accounts (account_id, name)
       select 'facct_0' || lpad(n::text, 24, '0'), 'One of many' from generate_series(1, 2000) n`,
    );
    await databases.admin(
      `insert into gateway.api_keys (key_id, account_id, test_mode, key_hash, last4)
       select 'fkey_0' || lpad(n::text, 24, '0'), $1, true, sha256(('one of many ' || n)::bytea), 'abcd' from generate_series(1, 2000) n`,
      [id],
    );
    const accounts = (await listAccounts(database)).map(({ account_id }) => account_id);
    const [counted] = await databases.admin<{ count: number }>('select count(*)::int from gateway.accounts');
    expect(accounts).toEqual([...new Set(accounts)].sort());
    expect(accounts).toHaveLength(counted?.count ?? 0);
    const keys = (await listKeys(database, id)).map(({ key_id }) => key_id);
    expect(keys).toEqual([...new Set(keys)].sort());
    expect(keys).toHaveLength(2_000);
    expect(await findAccount(database, id)).toMatchObject({ account_id: id, name: 'A shop of many keys' });
    expect(await findAccount(database, 'facct_nobody')).toBeUndefined();
  });

  test('features are added and removed; each change has a version of its own [D2.4]', async () => {
    const { account_id: id } = await createAccount(database, { name: 'A shop' });
    const added = await updateAccount(database, id, { addFeatures: ['food_eligibility', 'refund_payment_methods'] });
    expect(added.features).toEqual(['food_eligibility', 'refund_payment_methods']);
    const removed = await updateAccount(database, id, { removeFeatures: ['food_eligibility'] });
    expect(removed.features).toEqual(['refund_payment_methods']);
    const [row] = await databases.admin('select version::int from gateway.accounts where account_id = $1', [id]);
    expect(row?.version).toBe(3);
    expect(await listAccounts(database)).toContainEqual(removed);
  });

  test('the operator says how an account substantiates, with who said so and when; the tables refuse a word of nobody [D14.72]', async () => {
    const { account_id: id, ...made } = await createAccount(database, { name: 'A shop' });
    expect(made).toMatchObject({ substantiation: null, substantiation_set_by: null, substantiation_set_at: null });
    const said = await updateAccount(database, id, { substantiation: { substantiation: 'iias', setBy: ' Ada ' } });
    expect(said).toMatchObject({
      substantiation: 'iias',
      substantiation_set_by: 'Ada',
      substantiation_set_at: expect.any(Date),
    });
    expect(await updateAccount(database, id, { name: 'Renamed' })).toEqual({ ...said, name: 'Renamed' });
    const withdrawn = await updateAccount(database, id, { substantiation: { substantiation: null, setBy: 'Grace' } });
    expect(withdrawn).toMatchObject({ substantiation: null, substantiation_set_by: 'Grace' });
    const put = (columns: string) =>
      databases.admin(`update gateway.accounts set ${columns} where account_id = $1`, [id]);
    await expect(put("substantiation = 'honest'")).rejects.toMatchObject({ constraint: 'accounts_substantiation' });
    await expect(put('substantiation_set_by = null')).rejects.toMatchObject({
      constraint: 'accounts_substantiation_is_someones_word',
    });
    await expect(
      put("substantiation = 'iias', substantiation_set_by = null, substantiation_set_at = null"),
    ).rejects.toMatchObject({ constraint: 'accounts_substantiation_is_someones_word' });
  });

  test('tells checkout of each change until it is recorded, the last one last, whoever makes it [D14.233]', async () => {
    const { account_id: id } = await createAccount(database, { name: 'A shop' });
    const told: (string | undefined)[] = [];
    const others: (string | undefined)[] = [];
    let meanwhile: () => Promise<unknown> = async () => undefined;
    const checkout: Parameters<typeof toldStatements.tell>[0]['checkout'] = {
      async recordHealthCardStatement({ substantiation }, { caller } = {}) {
        if (caller?.accountId === id) {
          expect(caller.testMode).toBe(false);
          await meanwhile();
          told.push(substantiation);
        } else others.push(caller?.accountId);
        return create(RecordHealthCardStatementResponseSchema);
      },
    };
    const runOnce = teller(database, toldStatements, { checkout });
    const run = async () => {
      while (await runOnce());
      return told.splice(0);
    };
    const say = (substantiation: 'iias' | null) =>
      updateAccount(database, id, { substantiation: { substantiation, setBy: 'Ada' } });
    expect(await run()).toEqual(['']);
    await say('iias');
    meanwhile = () => Promise.reject(new Error('checkout is away'));
    await expect(run()).rejects.toThrow('checkout is away');
    // One that fails does not hold up those behind it.
    const { account_id: behind } = await createAccount(database, { name: 'Another shop' });
    expect(others).not.toContain(behind);
    await expect(run()).rejects.toThrow('checkout is away');
    expect(others).toContain(behind);
    // A change while the call is under way stays in the queue.
    meanwhile = () => say(null);
    expect(await run()).toEqual(['iias']);
    meanwhile = async () => undefined;
    expect(await run()).toEqual(['']);
    await updateAccount(database, id, { name: 'Renamed' });
    expect(await run()).toEqual([]);
    await databases.admin("update gateway.accounts set substantiation = 'medical_mcc' where account_id = $1", [id]);
    expect(await run()).toEqual(['medical_mcc']);
  });

  test('stops telling when checkout fails three times in a row, and goes on behind them [D14.233]', async () => {
    await databases.admin('delete from gateway.statements_to_tell');
    const ids: string[] = [];
    for (let n = 0; n < 7; n++) ids.push((await createAccount(database, { name: 'A shop' })).account_id);
    const tried: number[] = [];
    let failing = (_n: number) => true;
    const checkout: Parameters<typeof toldStatements.tell>[0]['checkout'] = {
      async recordHealthCardStatement(_request, { caller } = {}) {
        const at = ids.indexOf(caller?.accountId ?? '');
        tried.push(at);
        if (failing(at)) throw new Error('checkout is away');
        return create(RecordHealthCardStatementResponseSchema);
      },
    };
    const run = teller(database, toldStatements, { checkout });
    await expect(run()).rejects.toThrow('checkout is away');
    expect(tried.splice(0)).toEqual([0, 1, 2]);
    failing = (n) => n < 4;
    await expect(run()).rejects.toThrow('checkout is away');
    expect(tried.splice(0)).toEqual([3, 4, 5, 6]);
    await expect(run()).rejects.toThrow('checkout is away');
    failing = () => false;
    expect(await run()).toBe(true);
    expect(tried.splice(0)).toEqual([0, 1, 2, 3]);
    expect(await run()).toBe(false);
    expect(tried).toEqual([0, 1, 2]);
    expect(await databases.admin('select 1 from gateway.statements_to_tell')).toEqual([]);
  });

  test('the operator sets the letter fee, which stays through other changes; the tables refuse another [D14.179]', async () => {
    const { account_id: id, ...made } = await createAccount(database, { name: 'A shop' });
    expect(made).toMatchObject({ letter_fee_cents: 0 });
    await updateAccount(database, id, { letterFeeCents: 1_500 });
    expect(await updateAccount(database, id, { name: 'Renamed' })).toMatchObject({ letter_fee_cents: 1_500 });
    for (const letterFeeCents of [-1, 1.5, 100_000]) {
      await expect(updateAccount(database, id, { letterFeeCents })).rejects.toMatchObject({ code: 'validation_error' });
    }
    const put = databases.admin('update gateway.accounts set letter_fee_cents = -1 where account_id = $1', [id]);
    await expect(put).rejects.toMatchObject({ constraint: 'accounts_letter_fee' });
    expect(await updateAccount(database, id, { letterFeeCents: 0 })).toMatchObject({ letter_fee_cents: 0 });
  });

  test.each([
    ['an unknown feature', () => createAccount(database, { name: 'x', features: ['flying'] })],
    ['an empty name', () => createAccount(database, { name: '  ' })],
    ['an organization that does not exist', () => createAccount(database, { name: 'x', organizationId: 'forg_x' })],
    ['an account that does not exist', () => updateAccount(database, 'facct_x', {})],
  ])('%s is refused and leaves nothing behind', async (_what, act) => {
    const before = await databases.admin('select count(*) from gateway.accounts');
    await expect(act()).rejects.toBeInstanceOf(Failure);
    expect(await databases.admin('select count(*) from gateway.accounts')).toEqual(before);
  });

  test('an organization has at most 100 accounts, also when many join at once [D14.62]', async () => {
    const { organization_id: organizationId } = await createOrganization(database, { name: 'A group' });
    await databases.admin(
      `insert into gateway.accounts (account_id, name, organization_id)
         select 'facct_member' || n, 'Member', $1 from generate_series(1, 95) n`,
      [organizationId],
    );
    const { account_id: outside } = await createAccount(database, { name: 'Outside' });
    const joining = await Promise.allSettled([
      ...Array.from({ length: 9 }, (_, n) => createAccount(database, { name: `Member ${n}`, organizationId })),
      updateAccount(database, outside, { organizationId }),
    ]);
    expect(joining.filter(({ status }) => status === 'fulfilled')).toHaveLength(5);
    for (const one of joining) if (one.status === 'rejected') expect(one.reason).toMatchObject({ code: 'conflict' });
    await updateAccount(database, 'facct_member1', { name: 'Still a member' });
    await updateAccount(database, 'facct_member1', { organizationId: null });
    await createAccount(database, { name: 'In its place', organizationId });
  });

  test('an account belongs to at most one organization, and can leave it [D2.3]', async () => {
    const { organization_id } = await createOrganization(database, { name: 'A group' });
    const { account_id } = await createAccount(database, { name: 'x', organizationId: organization_id });
    expect((await updateAccount(database, account_id, { name: 'y' })).organization_id).toBe(organization_id);
    expect((await updateAccount(database, account_id, { organizationId: null })).organization_id).toBeNull();
  });
});

describe('keys', () => {
  test('a key is shown once: only its hash and its last four characters are kept [D2.1]', async () => {
    const { account_id: accountId } = await createAccount(database, { name: 'x' });
    const issued = await createKey(database, { accountId, testMode: true, scopes: ['files:read', 'prices_write'] });
    expect(issued).toMatchObject({ mode: 'test', scopes: ['files_read', 'prices_write'], rate_limit: null });
    const [row] = await databases.admin<{ key_hash: Buffer }>('select * from gateway.api_keys where key_id = $1', [
      issued.key_id,
    ]);
    expect(JSON.stringify(row)).not.toContain(issued.api_key);
    expect(row?.key_hash.equals(keyHash(issued.api_key))).toBe(true);
    expect(issued.last4).toBe(issued.api_key.slice(-4));
    expect(JSON.stringify(await listKeys(database, accountId))).not.toContain(issued.api_key);
  });

  test('a scope that does not exist and an account that does not exist are refused', async () => {
    const { account_id: accountId } = await createAccount(database, { name: 'x' });
    await expect(createKey(database, { accountId, testMode: true, scopes: ['everything'] })).rejects.toThrow(Failure);
    await expect(createKey(database, { accountId: 'facct_x', testMode: true })).rejects.toThrow('account_not_found');
  });

  test('rolling gives a second live key with the same rights; the first ends after the overlap [D2.1]', async () => {
    const { account_id: accountId } = await createAccount(database, { name: 'x' });
    const first = await createKey(database, { accountId, testMode: false, scopes: ['prices_read'], rateLimit: 7 });
    const second = await rollKey(database, first.key_id, { overlapMs: 60_000 });
    expect(second).toMatchObject({ mode: 'live', scopes: ['prices_read'], rate_limit: 7, expires_at: null });
    expect(second.api_key).not.toBe(first.api_key);
    const [old] = await listKeys(database, accountId);
    const left = Date.parse(old?.expires_at ?? '') - Date.now();
    expect(left).toBeGreaterThan(50_000);
    expect(left).toBeLessThan(61_000);
  });

  test('a key has one successor: rolled again it would hand on the end of its overlap', async () => {
    const { account_id: accountId } = await createAccount(database, { name: 'x' });
    const first = await createKey(database, { accountId, testMode: false });
    const second = await rollKey(database, first.key_id);
    await expect(rollKey(database, first.key_id)).rejects.toMatchObject({ code: 'conflict' });
    expect(await rollKey(database, second.key_id)).toMatchObject({ expires_at: null });
  });

  test('a key that has its own end hands it on, and one that has ended hands on nothing', async () => {
    const { account_id: accountId } = await createAccount(database, { name: 'x' });
    const expiresAt = new Date(Date.now() + 3_600_000);
    const ending = await createKey(database, { accountId, testMode: true, expiresAt });
    expect(await rollKey(database, ending.key_id)).toMatchObject({ expires_at: expiresAt.toISOString() });
    const ended = await createKey(database, { accountId, testMode: true, expiresAt: new Date(Date.now() - 1_000) });
    await expect(rollKey(database, ended.key_id)).rejects.toThrow('api_key_not_found');
  });

  test('a revoked key stays revoked at its first time, and cannot be rolled', async () => {
    const { account_id: accountId } = await createAccount(database, { name: 'x' });
    const { key_id } = await createKey(database, { accountId, testMode: true });
    const revoked = await revokeKey(database, key_id);
    expect(await revokeKey(database, key_id)).toEqual(revoked);
    await expect(rollKey(database, key_id)).rejects.toThrow('api_key_not_found');
    await expect(revokeKey(database, 'fakey_x')).rejects.toThrow('api_key_not_found');
  });

  test("the gateway's role can neither delete keys nor accounts", async () => {
    for (const table of ['api_keys', 'accounts', 'organizations']) {
      const [row] = await databases.admin(
        `select has_table_privilege('eligo_gateway', 'gateway.${table}', 'delete') as may_delete,
           has_table_privilege('eligo_gateway', 'gateway.${table}', 'select') as may_select`,
      );
      expect(row, table).toEqual({ may_delete: false, may_select: true });
    }
  });
});

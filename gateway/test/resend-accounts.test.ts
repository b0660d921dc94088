import { type Database, openSession, unscoped, withTx } from '@eligo/postgres';
import { type TestDatabase, testDatabase, untilLockWait } from '@eligo/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ChangeQueue } from '../src/accounts/change-queue.ts';
import { tellings } from '../src/accounts/tellings.ts';
import { createAccount, gatewayService, resendAccounts } from '../src/index.ts';

let databases: TestDatabase;
let database: Database;
beforeAll(async () => {
  databases = await testDatabase(gatewayService);
  database = databases.open('gateway');
});
afterAll(() => databases?.drop());

const tables = ['features_to_tell', 'shop_names_to_tell', 'statements_to_tell', 'time_zones_to_tell'];
const lock = unscoped('test.lock', 'select from accounts where account_id = $1 for update');
const change = unscoped(
  'test.change',
  `update accounts set features = '{}', name = 'After', substantiation = 'iias', substantiation_set_by = 'Ada', substantiation_set_at = now(),
     time_zone = 'America/Denver'
    where account_id = $1`,
);

beforeEach(async () => {
  for (const table of tables) await databases.admin(`delete from gateway.${table}`);
});

async function queued<Value>(queue: ChangeQueue<Value>, accountId: string) {
  const all = await queue.page(database, 0n, 10_000);
  return all.find((one) => one.accountId === accountId) ?? expect.fail('The account is not queued');
}

async function valuesOf(accountId: string) {
  return Promise.all(tellings.map(async ({ queue }) => (await queued(queue, accountId)).value));
}

async function versionsOf(accountId: string): Promise<bigint[]> {
  return Promise.all(tellings.map(async ({ queue }) => (await queued(queue, accountId)).version));
}

describe('queueing all accounts again', () => {
  test('has every account once for each service, over several pages, as it is now [D14.358]', async () => {
    await databases.admin(
      `insert into gateway.accounts (account_id, name, display_name, features)
         select 'facct_many' || n, 'A shop', 'Care ' || n, '{receipts}' from generate_series(1, 1100) n`,
    );
    for (const table of tables) await databases.admin(`delete from gateway.${table} where account_id > 'facct_many5'`);
    const { account_id: id } = await createAccount(database, { name: 'Plain' });
    const [all] = await databases.admin<{ count: bigint }>('select count(*) from gateway.accounts');
    // Twice: what is queued already is queued once.
    for (let times = 0; times < 2; times += 1) expect(await resendAccounts(database)).toBe(Number(all?.count));
    for (const table of tables) {
      const missing = `select account_id from gateway.accounts full join gateway.${table} q using (account_id) where q.version is null`;
      expect(await databases.admin(missing)).toEqual([]);
    }
    expect(await valuesOf('facct_many1099')).toEqual([['receipts'], 'Care 1099', null, 'America/New_York']);
    expect(await valuesOf(id)).toEqual([[], 'Plain', null, 'America/New_York']);
    await databases.admin(`delete from gateway.accounts where account_id like 'facct_many%'`);
  });

  test('takes versions above all that were taken, also after a restore took the sequences back, and never goes back itself [D14.358]', async () => {
    const { account_id: id } = await createAccount(database, { name: 'A shop' });
    const above = (versions: readonly bigint[], than: readonly bigint[]) =>
      versions.every((version, index) => version > (than[index] ?? expect.fail('no version')));
    const setSequences = async (to: bigint) => {
      for (const table of tables) await databases.admin(`select setval('gateway.${table}_version_seq', $1)`, [to]);
    };
    const resent = async () => {
      await resendAccounts(database);
      return versionsOf(id);
    };
    let last = await versionsOf(id);
    for (let times = 0; times < 3; times += 1) {
      const versions = await resent();
      expect(above(versions, last)).toBe(true);
      last = versions;
      await setSequences(1n);
    }
    // The clock was ahead once.
    const ahead = BigInt(Date.now() + 86_400_000) * 1_000n;
    await setSequences(ahead);
    expect(above(await resent(), [ahead, ahead, ahead, ahead])).toBe(true);
  });

  test('waits for a change of an account that is under way, and queues what it makes of it [D14.358]', async () => {
    const { account_id: id } = await createAccount(database, { name: 'Before', features: ['receipts'] });
    await resendAccounts(database);
    const locked = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    const changing = withTx(database, null, async (tx) => {
      await tx.execute(lock, null, [id]);
      locked.resolve();
      await go.promise;
      await tx.execute(change, null, [id]);
    });
    await locked.promise;
    const resending = resendAccounts(database);
    await untilLockWait(databases.admin, 'the queueing to wait', { pattern: 'from accounts' });
    go.resolve();
    await Promise.all([changing, resending]);
    expect(await valuesOf(id)).toEqual([[], 'After', 'iias', 'America/Denver']);
  });

  test('has a change that comes meanwhile queued above what it queues [D14.358]', async () => {
    const { account_id: id } = await createAccount(database, { name: 'Before', features: ['receipts'] });
    // Stops between the lock of the account and what is queued of it.
    const holder = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const hold = unscoped('test.hold', 'select from shop_names_to_tell where account_id = $1 for update');
    const other = databases.open('gateway', { url: databases.adminUrl });
    const holding = withTx(other, null, async (tx) => {
      await tx.execute(hold, null, [id]);
      holder.resolve();
      await release.promise;
    });
    await holder.promise;
    const resending = resendAccounts(database);
    await untilLockWait(databases.admin, 'the queueing to wait', { pattern: 'delete from shop_names_to_tell' });
    const changing = withTx(database, null, (tx) => tx.execute(change, null, [id]));
    await untilLockWait(databases.admin, 'the change to wait', { pattern: 'update accounts' });
    release.resolve();
    await Promise.all([holding, resending, changing]);
    expect(await valuesOf(id)).toEqual([[], 'After', 'iias', 'America/Denver']);
  });

  test('tells the gateways, which then tell the services [D14.358]', async () => {
    const told = Promise.withResolvers<string>();
    const session = await openSession(database, 'a gateway', (channel) => told.resolve(channel));
    await session.query('listen eligo_gateway_statements');
    await resendAccounts(database);
    expect(await told.promise).toBe('eligo_gateway_statements');
    await session.close();
  });
});

import { create } from '@bufbuild/protobuf';
import type { Database } from '@eligo/postgres';
import { RecordShopNameResponseSchema } from '@eligo/proto/billing/v1/billing';
import { CallerContextSchema } from '@eligo/proto/caller/v1/caller';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tellChanges } from '../src/accounts/tell-changes.ts';
import { toldShopNames } from '../src/accounts/tellings.ts';
import { createAccount, gatewayService, updateAccount } from '../src/index.ts';

let databases: TestDatabase;
let database: Database;
beforeAll(async () => {
  databases = await testDatabase(gatewayService);
  database = databases.open('gateway');
});
afterAll(() => databases?.drop());

test('tells billing what shoppers call a shop, at each change, until it is recorded, the last one last [D14.367]', async () => {
  const { account_id: id } = await createAccount(database, { name: 'Corner Care Inc.' });
  const told: [string | undefined, bigint | undefined][] = [];
  let isAway = false;
  const billing: Parameters<typeof toldShopNames.tell>[0]['billing'] = {
    async recordShopName({ name, version }, { caller } = {}) {
      if (isAway) throw new Error('billing is away');
      expect([caller?.accountId, caller?.testMode]).toEqual([id, false]);
      told.push([name, version]);
      return create(RecordShopNameResponseSchema);
    },
  };
  const job = tellChanges(toldShopNames, database, { billing }, ({ accountId, testMode }) =>
    create(CallerContextSchema, { accountId, testMode }),
  );
  const run = async () => {
    while (await job.run(new AbortController().signal));
    return told.map(([name]) => name);
  };
  expect(await run()).toEqual(['Corner Care Inc.']);
  // The display name is what shoppers see.
  await updateAccount(database, id, { displayName: 'Corner Care' });
  await updateAccount(database, id, { name: 'Another Inc.', letterFeeCents: 1_500 });
  expect(await run()).toEqual(['Corner Care Inc.', 'Corner Care']);
  isAway = true;
  await updateAccount(database, id, { displayName: 'Care' });
  await expect(run()).rejects.toThrow('billing is away');
  isAway = false;
  await updateAccount(database, id, { displayName: null });
  expect(await run()).toEqual(['Corner Care Inc.', 'Corner Care', 'Another Inc.']);
  const versions = told.map(([, version]) => Number(version));
  expect(versions).toEqual(versions.toSorted((one, other) => one - other));
  expect(await databases.admin('select 1 from gateway.shop_names_to_tell')).toEqual([]);
});

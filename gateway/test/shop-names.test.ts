import { create } from '@bufbuild/protobuf';
import { RecordShopNameResponseSchema } from '@eligo/proto/billing/v1/billing';
import { expect, test } from 'vitest';
import { toldShopNames } from '../src/accounts/tellings.ts';
import { createAccount, updateAccount } from '../src/index.ts';
import { teller, useGatewayDatabase } from './gateway-database.ts';

const gateway = useGatewayDatabase();

test('tells billing what shoppers call a shop, at each change, until it is recorded, the last one last [D14.367]', async () => {
  const { account_id: id } = await createAccount(gateway.database, { name: 'Corner Care Inc.' });
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
  const runOnce = teller(gateway.database, toldShopNames, { billing });
  const run = async () => {
    while (await runOnce());
    return told.map(([name]) => name);
  };
  expect(await run()).toEqual(['Corner Care Inc.']);
  // The display name is what shoppers see.
  await updateAccount(gateway.database, id, { displayName: 'Corner Care' });
  await updateAccount(gateway.database, id, { name: 'Another Inc.', letterFeeCents: 1_500 });
  expect(await run()).toEqual(['Corner Care Inc.', 'Corner Care']);
  isAway = true;
  await updateAccount(gateway.database, id, { displayName: 'Care' });
  await expect(run()).rejects.toThrow('billing is away');
  isAway = false;
  await updateAccount(gateway.database, id, { displayName: null });
  expect(await run()).toEqual(['Corner Care Inc.', 'Corner Care', 'Another Inc.']);
  const versions = told.map(([, version]) => Number(version));
  expect(versions).toEqual(versions.toSorted((one, other) => one - other));
  expect(await gateway.databases.admin('select 1 from gateway.shop_names_to_tell')).toEqual([]);
});

import { create } from '@bufbuild/protobuf';
import { RecordAccountFeaturesResponseSchema } from '@eligo/proto/billing/v1/billing';
import { expect, test } from 'vitest';
import { toldFeatures } from '../src/accounts/tellings.ts';
import { createAccount, updateAccount } from '../src/index.ts';
import { teller, useGatewayDatabase } from './gateway-database.ts';

const gateway = useGatewayDatabase();

test('tells billing what an account can do in both modes, each change until it is recorded, the last one last, whoever makes it [D14.355]', async () => {
  const { account_id: id } = await createAccount(gateway.database, { name: 'A shop', features: ['receipts'] });
  const told: [boolean, string[], bigint][] = [];
  let meanwhile: (testMode: boolean) => Promise<unknown> = async () => undefined;
  const billing: Parameters<typeof toldFeatures.tell>[0]['billing'] = {
    async recordAccountFeatures({ features = [], version = 0n }, { caller } = {}) {
      if (caller?.accountId === id) {
        await meanwhile(caller.testMode);
        told.push([caller.testMode, [...features], version]);
      }
      return create(RecordAccountFeaturesResponseSchema);
    },
  };
  const runOnce = teller(gateway.database, toldFeatures, { billing });
  const run = async () => {
    while (await runOnce());
    return told.splice(0).map(([testMode, features]) => [testMode, features]);
  };
  const inBothModes = (features: string[]) => [
    [false, features],
    [true, features],
  ];
  expect(await run()).toEqual(inBothModes(['receipts']));
  expect(await run()).toEqual([]);
  await updateAccount(gateway.database, id, { addFeatures: ['food_eligibility'] });
  // Billing goes away between the two modes: both are told again.
  meanwhile = async (testMode) => {
    if (testMode) throw new Error('billing is away');
  };
  await expect(run()).rejects.toThrow('billing is away');
  told.splice(0);
  meanwhile = async () => undefined;
  expect(await run()).toEqual(inBothModes(['food_eligibility', 'receipts']));
  // A change while the call is under way stays in the queue.
  await updateAccount(gateway.database, id, { removeFeatures: ['receipts'] });
  meanwhile = async () => {
    meanwhile = async () => undefined;
    await gateway.databases.admin("update gateway.accounts set features = '{}' where account_id = $1", [id]);
  };
  expect(await run()).toEqual(inBothModes(['food_eligibility']));
  expect(await run()).toEqual(inBothModes([]));
  await updateAccount(gateway.database, id, { name: 'Renamed' });
  expect(await run()).toEqual([]);
  expect(await gateway.databases.admin('select 1 from gateway.features_to_tell')).toEqual([]);
});

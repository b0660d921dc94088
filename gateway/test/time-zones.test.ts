import { create } from '@bufbuild/protobuf';
import type { Database } from '@eligo/postgres';
import { RecordTimeZoneResponseSchema } from '@eligo/proto/billing/v1/billing';
import { CallerContextSchema } from '@eligo/proto/caller/v1/caller';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tellChanges } from '../src/accounts/tell-changes.ts';
import { toldTimeZones } from '../src/accounts/tellings.ts';
import { createAccount, gatewayService, updateAccount } from '../src/index.ts';

let databases: TestDatabase;
let database: Database;
beforeAll(async () => {
  databases = await testDatabase(gatewayService);
  database = databases.open('gateway');
});
afterAll(() => databases?.drop());

test('an account has the time zone that it is given, by its IANA name, and New York’s without one [D14.376]', async () => {
  const { account_id: id, ...made } = await createAccount(database, { name: 'A shop' });
  expect(made.time_zone).toBe('America/New_York');
  expect(await createAccount(database, { name: 'West', timeZone: 'US/Pacific' })).toMatchObject({
    time_zone: 'America/Los_Angeles',
  });
  expect(await updateAccount(database, id, { timeZone: 'America/Chicago' })).toMatchObject({
    time_zone: 'America/Chicago',
  });
  expect(await updateAccount(database, id, { name: 'Another name' })).toMatchObject({ time_zone: 'America/Chicago' });
  for (const timeZone of ['EST', '-05:00', 'Mars/Olympus_Mons', '']) {
    const refusal = { code: 'validation_error', violations: [{ loc: ['time_zone'] }] };
    await expect(updateAccount(database, id, { timeZone })).rejects.toMatchObject(refusal);
    await expect(createAccount(database, { name: 'A shop', timeZone })).rejects.toMatchObject(refusal);
  }
  await expect(
    databases.admin("update gateway.accounts set time_zone = '-05:00' where account_id = $1", [id]),
  ).rejects.toMatchObject({ constraint: 'accounts_time_zone_check' });
});

test('billing is told the time zone of an account in both modes, at each change, until it is recorded [D14.376]', async () => {
  await databases.admin('delete from gateway.time_zones_to_tell');
  const { account_id: id } = await createAccount(database, { name: 'A shop', timeZone: 'America/Denver' });
  const told: [string | undefined, boolean | undefined, bigint | undefined][] = [];
  let isAway = false;
  const billing: Parameters<typeof toldTimeZones.tell>[0]['billing'] = {
    async recordTimeZone({ timeZone, version }, { caller } = {}) {
      if (isAway) throw new Error('billing is away');
      expect(caller?.accountId).toBe(id);
      told.push([timeZone, caller?.testMode, version]);
      return create(RecordTimeZoneResponseSchema);
    },
  };
  const job = tellChanges(toldTimeZones, database, { billing }, ({ accountId, testMode }) =>
    create(CallerContextSchema, { accountId, testMode }),
  );
  const run = async () => {
    while (await job.run(new AbortController().signal));
    return told.map(([timeZone, testMode]) => [timeZone, testMode]);
  };
  const denver = ['America/Denver', 'America/Denver'].map((zone, at) => [zone, at === 1]);
  expect(await run()).toEqual(denver);
  await updateAccount(database, id, { name: 'Another name' });
  expect(await run()).toEqual(denver);
  isAway = true;
  await updateAccount(database, id, { timeZone: 'America/Chicago' });
  await expect(run()).rejects.toThrow('billing is away');
  isAway = false;
  await updateAccount(database, id, { timeZone: 'America/Boise' });
  expect(await run()).toEqual([...denver, ['America/Boise', false], ['America/Boise', true]]);
  expect(Number(told[2]?.[2])).toBeGreaterThan(Number(told[0]?.[2]));
  expect(await databases.admin('select 1 from gateway.time_zones_to_tell')).toEqual([]);
});

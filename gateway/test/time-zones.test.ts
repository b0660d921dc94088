import { create } from '@bufbuild/protobuf';
import { RecordTimeZoneResponseSchema } from '@eligo/proto/billing/v1/billing';
import { expect, test } from 'vitest';
import { toldTimeZones } from '../src/accounts/tellings.ts';
import { createAccount, updateAccount } from '../src/index.ts';
import { teller, useGatewayDatabase } from './gateway-database.ts';

const gateway = useGatewayDatabase();

test('an account has the time zone that it is given, by its IANA name, and New York’s without one [D14.376]', async () => {
  const { account_id: id, ...made } = await createAccount(gateway.database, { name: 'A shop' });
  expect(made.time_zone).toBe('America/New_York');
  expect(await createAccount(gateway.database, { name: 'West', timeZone: 'US/Pacific' })).toMatchObject({
    time_zone: 'America/Los_Angeles',
  });
  expect(await updateAccount(gateway.database, id, { timeZone: 'America/Chicago' })).toMatchObject({
    time_zone: 'America/Chicago',
  });
  expect(await updateAccount(gateway.database, id, { name: 'Another name' })).toMatchObject({
    time_zone: 'America/Chicago',
  });
  for (const timeZone of ['EST', '-05:00', 'Mars/Olympus_Mons', '']) {
    const refusal = { code: 'validation_error', violations: [{ loc: ['time_zone'] }] };
    await expect(updateAccount(gateway.database, id, { timeZone })).rejects.toMatchObject(refusal);
    await expect(createAccount(gateway.database, { name: 'A shop', timeZone })).rejects.toMatchObject(refusal);
  }
  await expect(
    gateway.databases.admin("update gateway.accounts set time_zone = '-05:00' where account_id = $1", [id]),
  ).rejects.toMatchObject({ constraint: 'accounts_time_zone_check' });
});

test('billing is told the time zone of an account in both modes, at each change, until it is recorded [D14.376]', async () => {
  await gateway.databases.admin('delete from gateway.time_zones_to_tell');
  const { account_id: id } = await createAccount(gateway.database, { name: 'A shop', timeZone: 'America/Denver' });
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
  const runOnce = teller(gateway.database, toldTimeZones, { billing });
  const run = async () => {
    while (await runOnce());
    return told.map(([timeZone, testMode]) => [timeZone, testMode]);
  };
  const denver = ['America/Denver', 'America/Denver'].map((zone, at) => [zone, at === 1]);
  expect(await run()).toEqual(denver);
  await updateAccount(gateway.database, id, { name: 'Another name' });
  expect(await run()).toEqual(denver);
  isAway = true;
  await updateAccount(gateway.database, id, { timeZone: 'America/Chicago' });
  await expect(run()).rejects.toThrow('billing is away');
  isAway = false;
  await updateAccount(gateway.database, id, { timeZone: 'America/Boise' });
  expect(await run()).toEqual([...denver, ['America/Boise', false], ['America/Boise', true]]);
  expect(Number(told[2]?.[2])).toBeGreaterThan(Number(told[0]?.[2]));
  expect(await gateway.databases.admin('select 1 from gateway.time_zones_to_tell')).toEqual([]);
});

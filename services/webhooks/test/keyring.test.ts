import { randomBytes } from 'node:crypto';
import { ForeignKeyring, keyringCheck, openKeyring } from '@eligo/service';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { webhooksService } from '../src/service.ts';

let place: TestDatabase;
beforeAll(async () => {
  place = await testDatabase(webhooksService);
});
afterAll(() => place?.drop());

const key = () => randomBytes(32).toString('base64');

it("refuses a keyring that is not the installation's, and takes one whose keys were rotated [D14.224]", async () => {
  const database = place.open('webhooks');
  const check = (text: string) => keyringCheck(database, openKeyring(text), 'webhook secrets')();
  const first = `k1:${key()}`;
  const second = `k2:${key()}`;
  await check(first);
  await check(first);
  await expect(check(`k1:${key()}`)).rejects.toThrow('its key k1 is a different key');
  await expect(check(`other:${key()}`)).rejects.toThrow('it has none of the keys that sealed them');
  await expect(check(`k3:${key()},k1:${key()}`)).rejects.toBeInstanceOf(ForeignKeyring);
  await check(`${second},${first}`);
  await check(second);
  // What was refused has recorded nothing.
  const rows = await place.admin<{ key_id: string; length: number }>(
    'select key_id, length(fingerprint) from webhooks.sealing_keys order by key_id',
  );
  expect(rows).toEqual([
    { key_id: 'k1', length: 32 },
    { key_id: 'k2', length: 32 },
  ]);
  await expect(place.admin("update webhooks.sealing_keys set fingerprint = 'x'")).rejects.toMatchObject({
    constraint: 'sealing_keys_fingerprint_check',
  });
  await database.close();
});

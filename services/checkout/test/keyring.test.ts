import { randomBytes } from 'node:crypto';
import { createLogger, ForeignKeyring, openKeyring, startWithKeyring } from '@eligo/service';
import { type TestDatabase, testDatabase } from '@eligo/testkit';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { checkoutService } from '../src/service.ts';

let place: TestDatabase;
beforeAll(async () => {
  place = await testDatabase(checkoutService);
});
afterAll(() => place?.drop());

const key = () => randomBytes(32).toString('base64');

it('checkout does not start with a keyring that cannot open the answers for letters, and waits for a database that is away [D14.224]', async () => {
  const database = place.open('checkout');
  const warnings: object[] = [];
  const logger = {
    ...createLogger({ service: 'checkout', level: 'silent' }),
    warn: (fields: object) => void warnings.push(fields),
  };
  const begin = (text: string) =>
    startWithKeyring(database, openKeyring(text), { sealed: 'answers for letters', logger });
  const first = `k1:${key()}`;
  const check = await begin(first);
  await check();
  await expect(begin(`k1:${key()}`)).rejects.toThrow(
    'ELIGO_KEYRING does not open the answers for letters of this database: its key k1 is a different key.',
  );
  await expect(begin(`other:${key()}`)).rejects.toBeInstanceOf(ForeignKeyring);
  expect(await place.admin('select key_id from checkout.sealing_keys')).toEqual([{ key_id: 'k1' }]);
  expect(warnings).toEqual([]);
  await place.admin('alter table checkout.sealing_keys rename to away');
  const later = await begin(first);
  expect(warnings).toHaveLength(1);
  await expect(later()).rejects.toThrow('sealing_keys');
  await place.admin('alter table checkout.away rename to sealing_keys');
  await later();
  await database.close();
});

import {
  fillTables,
  growths,
  type Readings,
  readInSmallAndLarge,
  seededEvents,
  seededId,
  seededRows,
  statementsNotRun,
  type TestDatabase,
} from '@eligo/testkit';
import { beforeAll, expect, test } from 'vitest';
import { createAccount } from '../src/accounts/create-account.ts';
import { findAccountOfPage } from '../src/accounts/find-account-of-page.ts';
import { findKey } from '../src/accounts/find-key.ts';
import { findShop } from '../src/accounts/find-shop.ts';
import { createKey, listKeys, revokeKey, rollKey } from '../src/accounts/keys.ts';
import { createOrganization } from '../src/accounts/organizations.ts';
import { listAccounts, updateAccount } from '../src/accounts/update-account.ts';
import { gatewayService } from '../src/service.ts';

let read: { small: Readings; large: Readings };
beforeAll(async () => {
  read = await readInSmallAndLarge({ service: gatewayService, seed, run });
}, 240_000);

test('every statement of accounts, keys and organizations is run on the large installation', () => {
  // The gateway keeps no idempotency keys.
  expect(statementsNotRun(read.large).filter((name) => !name.startsWith('idempotency.'))).toEqual([]);
});

test('no statement reads more among 100,000 accounts than among 1,000', () => {
  expect(growths(read.small, read.large, longPages)).toEqual([]);
});

const longPages = [
  // An operator's commands, which print everything that there is.
  { statement: /^accounts\.list$/, rows: 120_100 },
  { statement: /^keys\.list$/, rows: 40_100 },
];

// A fifth of the keys are one account's. An organization has 100 accounts, and is full, except for the last.
async function seed(place: TestDatabase, each: number): Promise<void> {
  const rows = seededRows(each);
  await fillTables(place, 'gateway', [
    `organizations (organization_id, name) select 'forg_' || id, 'An owner' ${rows}`,
    `accounts (account_id, name, organization_id)
     select 'facct_' || id, 'A shop', 'forg_' || lpad((1 + n / 100)::text, 26, '0') ${rows}`,
    `api_keys (key_id, account_id, test_mode, key_hash, last4)
     select 'fkey_' || id, 'facct_' || owner, true, sha256(('key ' || n)::bytea), 'abcd' ${rows}`,
    ...seededEvents(each),
  ]);
}

async function run(place: TestDatabase): Promise<void> {
  // Beside other tests, a statement that says how it ran takes longer than the service's own bound expects.
  const database = place.open('gateway', { statementTimeoutMs: 30_000 });
  const owner = await createOrganization(database, { name: 'An owner' });
  const { account_id: accountId } = await createAccount(database, { name: 'A shop' });
  await createAccount(database, { name: 'A member', organizationId: owner.organization_id });
  await updateAccount(database, accountId, { addFeatures: [], organizationId: owner.organization_id });
  await updateAccount(database, seededId('facct', 150), { name: 'Another name' });
  await listAccounts(database);
  for (const id of [accountId, seededId('facct', 1)]) {
    await findShop(database, id);
    await findAccountOfPage(database, id);
    const key = await createKey(database, { accountId: id, testMode: true });
    await rollKey(database, key.key_id);
    await revokeKey(database, key.key_id);
    await listKeys(database, id);
  }
  const [row] = await place.admin<{ key_hash: Buffer }>('select key_hash from gateway.api_keys where key_id = $1', [
    seededId('fkey', 100),
  ]);
  if (row === undefined) throw new Error('No key was seeded');
  await findKey(database, row.key_hash);
}

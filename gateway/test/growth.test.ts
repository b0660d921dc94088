import type { Database } from '@eligo/postgres';
import { sandboxAccountOf } from '@eligo/processor';
import {
  fillTables,
  growths,
  type Readings,
  readInSmallAndLarge,
  seededAccount,
  seededEvents,
  seededId,
  seededRows,
  statementsNotRun,
  type TestDatabase,
} from '@eligo/testkit';
import { newId } from '@eligo/values';
import { beforeAll, expect, test } from 'vitest';
import type { ChangeQueue } from '../src/accounts/change-queue.ts';
import { createAccount } from '../src/accounts/create-account.ts';
import { findAccountAtSandbox } from '../src/accounts/find-account-at-sandbox.ts';
import { findAccountOfPage } from '../src/accounts/find-account-of-page.ts';
import { findKey } from '../src/accounts/find-key.ts';
import { createKey, listKeys, revokeKey, rollKey } from '../src/accounts/keys.ts';
import { addOperator, findOperator, listOperators, revokeOperator } from '../src/accounts/operators.ts';
import { createOrganization } from '../src/accounts/organizations.ts';
import { resendAccounts } from '../src/accounts/resend-accounts.ts';
import { tellings } from '../src/accounts/tellings.ts';
import { findAccount, listAccounts, updateAccount } from '../src/accounts/update-account.ts';
import { storeNames } from '../src/files/content-stores.ts';
import { eraseFiles } from '../src/files/erase-files.ts';
import {
  addPart,
  beginFile,
  deleteFile,
  expiredFiles,
  findFile,
  findPart,
  findStore,
  storeFile,
} from '../src/files/file-rows.ts';
import { gatewayService } from '../src/service.ts';

let read: { small: Readings; large: Readings };
beforeAll(async () => {
  read = await readInSmallAndLarge({ service: gatewayService, seed, run });
}, 240_000);

test('every statement of accounts, keys and organizations is run on the large installation', () => {
  // The gateway keeps no idempotency keys.
  expect(statementsNotRun(read.large).filter((name) => !name.startsWith('idempotency.'))).toEqual([]);
});

test('no statement reads more among many accounts than among few', () => {
  expect(growths(read.small, read.large, longPages)).toEqual([]);
});

const longPages = [
  // A page of an operator's command, which prints everything that there is.
  { statement: /^(accounts|keys)\.list$/, rows: 1_000 },
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
    `files (account_id, test_mode, id, state, purpose, filename, type, size_bytes, created_at, expires_at)
     select account, true, 'ffile_' || id, 'stored', 'dispute_evidence', 'receipt.pdf', 'pdf', 8, now() - interval '1 year',
       now() + (case when n % 10 = 0 then -1 else 1 end) * n * interval '1 second' ${rows}`,
    `file_parts (account_id, test_mode, file_id, part, bytes) select account, true, 'ffile_' || id, 0, '%PDF-1.4' ${rows}`,
    `file_usage (account_id, test_mode, files, bytes) select account, true, 1, 8 ${rows} group by account`,
    ...seededEvents(each),
  ]);
}

async function removeFirst<Value>(database: Database, queue: ChangeQueue<Value>): Promise<void> {
  const [first] = await queue.page(database, 0n, 100);
  if (first === undefined) throw new Error('Nothing was queued');
  await queue.remove(database, first);
}

async function run(place: TestDatabase): Promise<void> {
  // Beside other tests, a statement that says how it ran takes longer than the service's own bound expects.
  const database = place.open('gateway', { statementTimeoutMs: 30_000 });
  const owner = await createOrganization(database, { name: 'An owner' });
  const { account_id: accountId } = await createAccount(database, { name: 'A shop' });
  await createAccount(database, { name: 'A member', organizationId: owner.organization_id });
  await updateAccount(database, accountId, { addFeatures: [], organizationId: owner.organization_id });
  await updateAccount(database, seededId('facct', 150), { name: 'Another name' });
  await findAccount(database, accountId);
  await listAccounts(database);
  await resendAccounts(database);
  for (const { queue } of tellings) await removeFirst(database, queue);
  for (const id of [accountId, seededId('facct', 1)]) {
    for (const testMode of [true, false]) {
      const found = await findAccountAtSandbox(database, sandboxAccountOf({ accountId: id, testMode }));
      if (found?.accountId !== id || found.testMode !== testMode) throw new Error('An account was not found');
    }
    await findAccountOfPage(database, id);
    const key = await createKey(database, { accountId: id, testMode: true });
    await rollKey(database, key.key_id);
    await revokeKey(database, key.key_id);
    await listKeys(database, id);
  }
  const { operatorId, credential } = await addOperator(database, { name: 'Ada' });
  await findOperator(database, credential);
  await revokeOperator(database, operatorId);
  await listOperators(database);
  const scope = { accountId: seededAccount, testMode: true };
  const fileId = newId('file');
  await beginFile(database, scope, fileId, 'postgres');
  await addPart(database, scope, fileId, 0, Buffer.from('%PDF-1.4'));
  const described = { purpose: 'dispute_evidence', filename: 'receipt.pdf', type: 'pdf', sizeBytes: 8 } as const;
  await storeFile(database, scope, { fileId, ...described, expiresAt: new Date(Date.now() + 3_600_000) });
  await findFile(database, scope, fileId);
  await findPart(database, scope, fileId, 0);
  await findStore(database, scope, fileId);
  await deleteFile(database, scope, fileId);
  // Row-level security does not bind the operator's command.
  const operator = place.open('gateway', { url: place.adminUrl, statementTimeoutMs: 30_000 });
  await eraseFiles(operator, scope, [seededId('ffile', 1), newId('file')]);
  const [oldest] = await expiredFiles(database, 'postgres', undefined, 100);
  if (oldest === undefined) throw new Error('No file has expired');
  for (const store of storeNames) await expiredFiles(database, store, oldest, 100);
  const [row] = await place.admin<{ key_hash: Buffer }>('select key_hash from gateway.api_keys where key_id = $1', [
    seededId('fkey', 100),
  ]);
  if (row === undefined) throw new Error('No key was seeded');
  await findKey(database, row.key_hash);
}

import { type Database, type Scope, unscoped } from '@eligo/postgres';

/** The account and mode whose account at the sandbox this is: two indexed look-ups. */
export async function findAccountAtSandbox(database: Database, sandboxAccount: string): Promise<Scope | undefined> {
  const row = await database.row(find, null, [sandboxAccount]);
  return row && { accountId: row.account_id, testMode: row.test_mode };
}

const atSandbox = (mode: 'test' | 'live') =>
  `select account_id, ${mode === 'test'} as test_mode from accounts
    where 'acct_' || left(encode(sha256(decode('${mode}:' || account_id, 'escape')), 'hex'), 24) = $1`;

const find = unscoped<{ account_id: string; test_mode: boolean }>(
  'accounts.find_at_sandbox',
  `${atSandbox('test')} union all ${atSandbox('live')}`,
);

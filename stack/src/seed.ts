import { join } from 'node:path';
import { type Database, openDatabase } from '@eligo/postgres';
import { type Home, readJsonFile, writePrivateFile } from './home.ts';

/** The account that a stack comes with, and its keys: shown again at each start, so they are kept in the home. */
export interface DemoAccount {
  readonly account: string;
  readonly testApiKey: string;
  readonly liveApiKey: string;
}

/** Zero stands for "no limit": the demo's keys are for trying things out, and for measuring. */
const unlimited = 0;

// What fails beside the statements is the nudge to the relay, which looks by itself anyway.
const onError = () => undefined;

/** The demo account of a home, made when the database does not have it (yet, or any more). */
export async function demoAccount(home: Home, databaseUrl: string, features: readonly string[]): Promise<DemoAccount> {
  const path = join(home.root, 'demo.json');
  const database = openDatabase({
    url: databaseUrl,
    applicationName: 'eligo demo account',
    schema: 'gateway',
    max: 1,
    onError,
  });
  try {
    const known = readJsonFile(path) as DemoAccount | undefined;
    if (known && (await isThere(database, known))) {
      await enableHealthCards(database, known.account);
      return known;
    }
    const made = await makeDemoAccount(database, features);
    writePrivateFile(path, `${JSON.stringify(made, undefined, 2)}\n`);
    return made;
  } finally {
    await database.close();
  }
}

async function isThere(database: Database, demo: DemoAccount): Promise<boolean> {
  const { listKeys } = await import('@eligo/gateway/accounts');
  const keys = await listKeys(database, demo.account);
  const live = keys.filter((key) => key.revoked_at === null && key.expires_at === null);
  return [demo.testApiKey, demo.liveApiKey].every((key) => live.some(({ last4 }) => key.endsWith(last4)));
}

// The live key charges HSA and FSA cards, too, unless the operator has said otherwise.
async function enableHealthCards(database: Database, accountId: string): Promise<void> {
  const { findAccount, updateAccount } = await import('@eligo/gateway/accounts');
  const account = await findAccount(database, accountId);
  if (account?.substantiation_set_at !== null) return;
  await updateAccount(database, accountId, { substantiation: { substantiation: 'iias', setBy: 'npm start' } });
}

async function makeDemoAccount(database: Database, features: readonly string[]): Promise<DemoAccount> {
  const { createAccount, createKey } = await import('@eligo/gateway/accounts');
  const { account_id: accountId } = await createAccount(database, {
    name: 'Demo',
    features: ['food_eligibility', ...features],
  });
  await enableHealthCards(database, accountId);
  const [test, live] = await Promise.all(
    [true, false].map((testMode) => createKey(database, { accountId, testMode, rateLimit: unlimited })),
  );
  if (!test || !live) throw new Error('A key of the demo account was not created');
  return { account: accountId, testApiKey: test.api_key, liveApiKey: live.api_key };
}

import { createAccount, createKey } from '@eligo/gateway/accounts';
import { openDatabase } from '@eligo/postgres';

/** An account of the bench, with an unlimited test key. */
export interface BenchAccount {
  readonly accountId: string;
  readonly apiKey: string;
}

/** Makes accounts, as an operator would. */
export async function makeAccounts(gatewayDatabaseUrl: string, count: number): Promise<BenchAccount[]> {
  const database = openDatabase({ url: gatewayDatabaseUrl, applicationName: 'eligo bench', schema: 'gateway', max: 1 });
  try {
    const made: BenchAccount[] = [];
    for (let at = 0; at < count; at += 1) {
      const { account_id: accountId } = await createAccount(database, { name: `Bench ${at + 1}` });
      const { api_key: apiKey } = await createKey(database, { accountId, testMode: true, rateLimit: 0 });
      made.push({ accountId, apiKey });
    }
    return made;
  } finally {
    await database.close();
  }
}

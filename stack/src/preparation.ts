import { loadCompositions } from './compositions.ts';
import { homeAt } from './home.ts';
import type { Passwords } from './postgres/database.ts';
import { prepareDatabase } from './postgres/prepare.ts';
import { type DemoAccount, demoAccount } from './seed.ts';

/** What a stack's database needs before its components start. */
export interface Preparation {
  readonly home: string;
  /** Undefined for databases that somebody else prepares. */
  readonly database:
    | {
        readonly adminUrl: string;
        readonly passwords: Passwords;
        readonly installation: string;
        readonly newPasswords: boolean;
      }
    | undefined;
  readonly gatewayDatabaseUrl: string;
  /** What a new demo account can do beside `food_eligibility`. */
  readonly demoFeatures: readonly string[];
}

/** Roles, schemas, migrations and the demo account. */
export async function prepareStack(preparation: Preparation): Promise<DemoAccount> {
  if (preparation.database) {
    const { migrations } = await loadCompositions();
    await prepareDatabase({ ...preparation.database, migrations });
  }
  const { home, gatewayDatabaseUrl, demoFeatures } = preparation;
  return await demoAccount(homeAt(home), gatewayDatabaseUrl, demoFeatures);
}

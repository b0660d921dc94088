import type { Database, Scope } from '@eligo/postgres';
import type { Clock } from '@eligo/values';

/** What an action works with. */
export interface Context {
  readonly database: Database;
  readonly clock: Clock;
}

/** For whom an action works. A received call fits. */
export interface Asker {
  readonly scope: Scope;
  readonly caller: { readonly features: readonly string[]; readonly siblingAccountIds: readonly string[] };
}

/** Whether the account may rely on the food policy (decisions 2). */
export function hasFoodEligibility(asker: Asker): boolean {
  return asker.caller.features.includes('food_eligibility');
}

import { type Database, type GroupedReads, openGroupedReads, type Scope } from '@eligo/postgres';
import type { Clock } from '@eligo/values';
import { type CartQuery, type CartRecords, findCartRecords } from './store/carts.ts';

/** What an action works with. */
export interface Context {
  readonly database: Database;
  readonly clock: Clock;
  /** Reads carts; those that come at the same time share a statement. */
  readonly cartRecords: GroupedReads<CartQuery, CartRecords>;
}

/** Opens what the actions of a process work with. */
export function openContext({ database, clock }: Pick<Context, 'database' | 'clock'>): Context {
  const cartRecords = openGroupedReads<CartQuery, CartRecords>((scope, carts) =>
    findCartRecords(database, scope, carts),
  );
  return { database, clock, cartRecords };
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

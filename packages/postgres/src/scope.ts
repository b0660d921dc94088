/** Whose rows a statement works on: one account, in one of its two modes (architecture, invariant 6). */
export interface Scope {
  readonly accountId: string;
  readonly testMode: boolean;
}

/** The account of readiness checks, which does not exist: it waits for connections with work that has no account. */
export const readinessAccountId = `facct_${'0'.repeat(26)}`;

/** The predicate of every table's row-level security policy. The setting is '' and not null once it has been used and has lapsed. */
export const scopePolicy =
  "account_id = nullif(current_setting('eligo.account_id', true), '') " +
  "and test_mode = (nullif(current_setting('eligo.test_mode', true), ''))::boolean";

/** Whether both name the same account and mode. */
export function isSameScope(a: Scope, b: Scope): boolean {
  return a.accountId === b.accountId && a.testMode === b.testMode;
}

/** An account as it is stored. */
export interface AccountRow {
  readonly account_id: string;
  readonly name: string;
  readonly organization_id: string | null;
  readonly features: string[];
  readonly dunning_end: string;
  readonly version: bigint;
}

/** An account as those who administer it see it. */
export interface Account {
  readonly account_id: string;
  readonly name: string;
  readonly organization_id: string | null;
  readonly features: readonly string[];
  readonly dunning_end: string;
}

export const accountColumns = 'account_id, name, organization_id, features, dunning_end, version';

export function toAccount({ version, ...account }: AccountRow): Account {
  return account;
}

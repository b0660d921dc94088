/** An account, as it is stored and as those who administer it see it. */
export interface Account {
  readonly account_id: string;
  readonly name: string;
  readonly organization_id: string | null;
  readonly features: readonly string[];
}

export const accountColumns = 'account_id, name, organization_id, features';

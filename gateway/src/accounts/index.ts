export type { Account } from './account-row.ts';
export { createAccount, type NewAccount } from './create-account.ts';
export { isKey, keyPattern } from './key-format.ts';
export { createKey, type IssuedKey, type KeyRecord, listKeys, type NewKey, revokeKey, rollKey } from './keys.ts';
export { addOperator, findOperator, listOperators, revokeOperator } from './operators.ts';
export { createOrganization, type Organization } from './organizations.ts';
export { resendAccounts } from './resend-accounts.ts';
export { isSubstantiation, type Substantiation, substantiations } from './substantiation.ts';
export { type AccountChange, assertAccount, findAccount, listAccounts, updateAccount } from './update-account.ts';

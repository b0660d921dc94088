import { type Database, unscoped } from '@eligo/postgres';
import type { CallerInit } from '@eligo/rpc';

/** What a page without a key needs to know of its account. */
export interface AccountOfPage {
  readonly caller: Pick<CallerInit, 'features' | 'substantiation' | 'letterFeeCents'>;
  /** What receipts call the merchant; undefined where the shop sends none. */
  readonly receiptMerchantName: string | undefined;
}

/** The account of a page, with what travels with its calls: one indexed query. */
export async function findAccountOfPage(database: Database, accountId: string): Promise<AccountOfPage | undefined> {
  const row = await database.row(find, null, [accountId]);
  if (row === undefined) return undefined;
  const { features, substantiation, letter_fee_cents: letterFeeCents, name } = row;
  return {
    caller: { features, substantiation, letterFeeCents },
    receiptMerchantName: features.includes('receipts') ? name : undefined,
  };
}

const find = unscoped<{ features: string[]; substantiation: string | null; letter_fee_cents: number; name: string }>(
  'accounts.find_of_page',
  `select features, substantiation, letter_fee_cents, coalesce(display_name, name) as name from accounts where account_id = $1`,
);

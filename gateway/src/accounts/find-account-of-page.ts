import type { PageShop } from '@eligo/contract';
import { type Database, openGroupedReads, type Scope, unscoped } from '@eligo/postgres';
import type { CallerInit } from '@eligo/rpc';

/** What a page without a key needs to know of its account. */
export interface AccountOfPage {
  readonly caller: Pick<CallerInit, 'features' | 'substantiation' | 'letterFeeCents'>;
  readonly shop: PageShop;
  /** What receipts call the merchant; undefined where the shop sends none. */
  readonly receiptMerchantName: string | undefined;
}

/** The account of a page, with what travels with its calls and what the page shows of it: one indexed query. */
export async function findAccountOfPage(database: Database, accountId: string): Promise<AccountOfPage | undefined> {
  const row = await database.row(find, null, [accountId]);
  if (row === undefined) return undefined;
  const { features, substantiation, letter_fee_cents: letterFeeCents, name } = row;
  const { logo_url: logoUrl, accent_color: accentColor, publishable_key: publishableKey } = row;
  const shippingCountries = (row.shipping_countries ?? 'US').split(',');
  return {
    caller: { features, substantiation, letterFeeCents },
    shop: { name, logoUrl, accentColor, publishableKey, shippingCountries },
    receiptMerchantName: features.includes('receipts') ? name : undefined,
  };
}

/** Finds the account of a page; undefined for one that does not exist. */
export type AccountOf = (page: Scope) => Promise<AccountOfPage | undefined>;

/** Requests of one account that come at the same time share the query. */
export function accountsOfPages(database: Database): AccountOf {
  const reads = openGroupedReads(async ({ accountId }, requests: readonly undefined[]) => {
    const account = await findAccountOfPage(database, accountId);
    return requests.map(() => account);
  });
  return ({ accountId, testMode }) => reads.submit({ accountId, testMode }, undefined);
}

/** An account as its pages show it. */
export async function findShop(database: Database, accountId: string): Promise<PageShop | undefined> {
  return (await findAccountOfPage(database, accountId))?.shop;
}

const find = unscoped<{
  features: string[];
  substantiation: string | null;
  letter_fee_cents: number;
  name: string;
  logo_url: string | null;
  accent_color: string | null;
  publishable_key: string | null;
  shipping_countries: string | null;
}>(
  'accounts.find_of_page',
  `select features, substantiation, letter_fee_cents, coalesce(display_name, name) as name, logo_url, accent_color, publishable_key, shipping_countries
   from accounts where account_id = $1`,
);

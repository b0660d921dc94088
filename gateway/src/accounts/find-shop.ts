import type { PageShop } from '@eligo/contract';
import { type Database, unscoped } from '@eligo/postgres';

/** An account as its checkout pages show it: one indexed query. */
export async function findShop(database: Database, accountId: string): Promise<PageShop | undefined> {
  const row = await database.row(find, null, [accountId]);
  if (row === undefined) return undefined;
  const { display_name: displayName, logo_url: logoUrl, accent_color: accentColor, publishable_key: key } = row;
  const shippingCountries = (row.shipping_countries ?? 'US').split(',');
  return { name: displayName ?? row.name, logoUrl, accentColor, publishableKey: key, shippingCountries };
}

const find = unscoped<{
  name: string;
  display_name: string | null;
  logo_url: string | null;
  accent_color: string | null;
  publishable_key: string | null;
  shipping_countries: string | null;
}>(
  'accounts.find_shop',
  'select name, display_name, logo_url, accent_color, publishable_key, shipping_countries from accounts where account_id = $1',
);

import type { PageShop } from '@eligo/contract';
import { type Database, unscoped } from '@eligo/postgres';

/** An account as its checkout pages show it: one indexed query. */
export async function findShop(database: Database, accountId: string): Promise<PageShop | undefined> {
  const row = await database.row(find, null, [accountId]);
  return row && { name: row.display_name ?? row.name, logoUrl: row.logo_url, accentColor: row.accent_color };
}

const find = unscoped<{
  name: string;
  display_name: string | null;
  logo_url: string | null;
  accent_color: string | null;
}>('accounts.find_shop', 'select name, display_name, logo_url, accent_color from accounts where account_id = $1');

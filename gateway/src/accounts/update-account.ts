import { Failure } from '@eligo/failures';
import { allInPages, type Database, unscoped, withTx } from '@eligo/postgres';
import { type Account, accountColumns } from './account-row.ts';
import {
  checkColor,
  checkCountries,
  checkFeatures,
  checkLetterFee,
  checkLogoUrl,
  checkName,
  checkPublishableKey,
  checkTimeZone,
} from './account-rules.ts';
import { findShop } from './find-account-of-page.ts';
import { assertOrganization, refuseFullOrganization } from './organizations.ts';
import type { SubstantiationStatement } from './substantiation.ts';

/** What changes on an account; what is left out stays. */
export interface AccountChange {
  readonly name?: string | undefined;
  readonly addFeatures?: readonly string[] | undefined;
  readonly removeFeatures?: readonly string[] | undefined;
  /** Null takes the account out of its organization. */
  readonly organizationId?: string | null | undefined;
  readonly substantiation?: SubstantiationStatement | undefined;
  /** What the checkout pages show; null clears. */
  readonly displayName?: string | null | undefined;
  readonly logoUrl?: string | null | undefined;
  readonly accentColor?: string | null | undefined;
  /** The key of its card fields in live mode; null takes them away. */
  readonly publishableKey?: string | null | undefined;
  /** Where its shoppers may have their orders sent; null: the United States alone. */
  readonly shippingCountries?: readonly string[] | null | undefined;
  /** What sessions that need a letter take for its review; 0: nothing. */
  readonly letterFeeCents?: number | undefined;
  /** The IANA name of the time zone whose days receipts, invoices and mails name. */
  readonly timeZone?: string | undefined;
}

/**
 * Changes an account's settings; every gateway and service works by them within seconds. Throws account_not_found, organization_not_found, and
 * conflict when the organization is full.
 */
export async function updateAccount(database: Database, accountId: string, change: AccountChange): Promise<Account> {
  return withTx(database, null, async (tx) => {
    const found = await tx.row(lock, null, [accountId]);
    if (found === undefined) throw new Failure('account_not_found');
    if (typeof change.organizationId === 'string') await assertOrganization(tx, change.organizationId);
    const removed = new Set<string>(checkFeatures(change.removeFeatures ?? []));
    const features = checkFeatures([...found.features, ...(change.addFeatures ?? [])]).filter(
      (feature) => !removed.has(feature),
    );
    const organization = change.organizationId === undefined ? found.organization_id : change.organizationId;
    const name = change.name === undefined ? found.name : checkName(change.name);
    const said = change.substantiation;
    const look = lookOf(found, change);
    const values = [
      ...[accountId, name, organization, features],
      ...[said !== undefined, said?.substantiation ?? null, said && checkName(said.setBy)],
      ...[look.displayName, look.logoUrl, look.accentColor, look.publishableKey],
      checkLetterFee(change.letterFeeCents ?? found.letter_fee_cents),
      look.shippingCountries,
      change.timeZone === undefined ? found.time_zone : checkTimeZone(change.timeZone),
    ];
    const row = await tx.row(update, null, values).catch(refuseFullOrganization);
    if (row === undefined) throw new Error('Updating a locked account changed no row');
    return row;
  });
}

/** Throws account_not_found. */
export async function assertAccount(database: Database, accountId: string): Promise<void> {
  if ((await findShop(database, accountId)) === undefined) throw new Failure('account_not_found');
}

/** An account with its settings, or undefined. */
export function findAccount(database: Database, accountId: string): Promise<Account | undefined> {
  return database.row(find, null, [accountId]);
}

/** All accounts, oldest first, read page by page. */
export function listAccounts(database: Database): Promise<Account[]> {
  return allInPages<Account>(accountsOfPage, (after) =>
    database.rows(list, null, [after?.account_id ?? '', accountsOfPage]),
  );
}

const accountsOfPage = 1_000;

function lookOf(found: Account, change: AccountChange) {
  const { displayName, logoUrl, accentColor, publishableKey: key, shippingCountries: countries } = change;
  return {
    displayName: displayName === undefined ? found.display_name : displayName && checkName(displayName),
    logoUrl: logoUrl === undefined ? found.logo_url : logoUrl && checkLogoUrl(logoUrl),
    accentColor: accentColor === undefined ? found.accent_color : accentColor && checkColor(accentColor),
    shippingCountries: countries === undefined ? found.shipping_countries : countries && checkCountries(countries),
    publishableKey: key === undefined ? found.publishable_key : key && checkPublishableKey(key),
  };
}

const lock = unscoped<Account>(
  'accounts.lock',
  `select ${accountColumns} from accounts where account_id = $1 for update`,
);
const find = unscoped<Account>('accounts.find', `select ${accountColumns} from accounts where account_id = $1`);
const list = unscoped<Account>(
  'accounts.list',
  `select ${accountColumns} from accounts where account_id > $1 order by account_id limit $2`,
);
const update = unscoped<Account>(
  'accounts.update',
  `update accounts set name = $2, organization_id = $3, features = $4, version = version + 1,
     substantiation = case when $5::boolean then $6 else substantiation end,
     substantiation_set_by = case when $5 then $7 else substantiation_set_by end,
     substantiation_set_at = case when $5 then clock_timestamp() else substantiation_set_at end,
     display_name = $8, logo_url = $9, accent_color = $10, publishable_key = $11, letter_fee_cents = $12,
     shipping_countries = $13, time_zone = $14,
     updated_at = clock_timestamp()
   where account_id = $1 returning ${accountColumns}`,
);

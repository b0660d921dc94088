import { type Database, unscoped } from '@eligo/postgres';

/** A live key with all that a request under it needs to know of its account. */
export interface FoundKey {
  readonly keyId: string;
  readonly accountId: string;
  readonly testMode: boolean;
  /** Null: all scopes. */
  readonly scopes: readonly string[] | null;
  /** Requests per second; null: the mode's default; 0: none. */
  readonly rateLimit: number | null;
  readonly expiresAtMs: number;
  readonly features: readonly string[];
  /** What receipts call the merchant. */
  readonly accountName: string;
  readonly substantiation: string | null;
  readonly letterFeeCents: number;
  /** Whose days its documents name. */
  readonly timeZone: string;
  readonly siblingAccountIds: readonly string[];
}

/** The key with this hash, unless it is unknown, revoked or expired: one indexed query. */
export async function findKey(database: Database, hash: Buffer): Promise<FoundKey | undefined> {
  const row = await database.row(find, null, [hash]);
  if (row === undefined) return undefined;
  return {
    keyId: row.key_id,
    accountId: row.account_id,
    testMode: row.test_mode,
    scopes: row.scopes,
    rateLimit: row.rate_limit,
    expiresAtMs: row.expires_at?.getTime() ?? Number.POSITIVE_INFINITY,
    features: row.features,
    accountName: row.account_name,
    substantiation: row.substantiation,
    letterFeeCents: row.letter_fee_cents,
    timeZone: row.time_zone,
    siblingAccountIds: row.siblings,
  };
}

interface Row {
  key_id: string;
  account_id: string;
  test_mode: boolean;
  scopes: string[] | null;
  rate_limit: number | null;
  expires_at: Date | null;
  features: string[];
  account_name: string;
  substantiation: string | null;
  letter_fee_cents: number;
  time_zone: string;
  siblings: string[];
}

/** An organization has no more members; what each call carries stays bounded also if one should. */
const mostSiblings = 100;

const find = unscoped<Row>(
  'keys.find',
  `select k.key_id, k.account_id, k.test_mode, k.scopes, k.rate_limit, k.expires_at, a.features, a.name as account_name,
     a.substantiation, a.letter_fee_cents, a.time_zone,
     array(select s.account_id from accounts s
           where s.organization_id = a.organization_id and s.account_id <> a.account_id
           order by s.account_id limit ${mostSiblings}) as siblings
   from api_keys k join accounts a on a.account_id = k.account_id
   where k.key_hash = $1 and k.revoked_at is null and (k.expires_at is null or k.expires_at > clock_timestamp())`,
);

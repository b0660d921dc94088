import { scopeOf } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import { allInPages, type Database, type Db, unscoped, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import { keyHash, newKey } from './key-format.ts';

/** What a new key is made from. */
export interface NewKey {
  readonly accountId: string;
  readonly testMode: boolean;
  /** All scopes when left out. `files:read` is accepted for `files_read`. */
  readonly scopes?: readonly string[] | undefined;
  /** Requests per second: the mode's default when left out, no limit when 0. */
  readonly rateLimit?: number | undefined;
  readonly expiresAt?: Date | undefined;
}

/** A key as it is administered; the key itself is only in the answer that makes it. */
export interface KeyRecord {
  readonly key_id: string;
  readonly account_id: string;
  readonly mode: 'test' | 'live';
  readonly last4: string;
  readonly scopes: readonly string[] | null;
  readonly rate_limit: number | null;
  readonly expires_at: string | null;
  readonly revoked_at: string | null;
  readonly created_at: string;
}

export interface IssuedKey extends KeyRecord {
  /** Shown once: only its hash is kept. */
  readonly api_key: string;
}

/** Issues a key for an account in one mode. */
export async function createKey(database: Database, key: NewKey): Promise<IssuedKey> {
  const scopes = key.scopes === undefined ? null : checkScopes(key.scopes);
  return withTx(database, null, async (tx) => {
    if ((await tx.row(findAccount, null, [key.accountId])) === undefined) throw new Failure('account_not_found');
    const { accountId, testMode, rateLimit = null, expiresAt = null } = key;
    return insertKey(tx, { accountId, testMode, scopes, rateLimit, expiresAt });
  });
}

/**
 * Replaces a key: the new one works at once and for as long as the old one was to, the old one until the overlap (24 hours by default) is
 * over. Throws api_key_not_found for a key that has ended, conflict for one that was rolled before.
 */
export async function rollKey(
  database: Database,
  keyId: string,
  { overlapMs = 86_400_000 }: { overlapMs?: number } = {},
): Promise<IssuedKey> {
  return withTx(database, null, async (tx) => {
    const old = await tx.row(lockKey, null, [keyId]);
    if (old === undefined) throw new Failure('api_key_not_found');
    if (old.rolled_at !== null) {
      throw new Failure('conflict', { detail: 'The key was already rolled. Roll its replacement instead.' });
    }
    await tx.execute(endByRoll, null, [keyId, overlapMs]);
    return insertKey(tx, {
      accountId: old.account_id,
      testMode: old.test_mode,
      scopes: old.scopes,
      rateLimit: old.rate_limit,
      expiresAt: old.expires_at,
    });
  });
}

/** Ends a key; every gateway refuses it within seconds. Revoking a revoked key changes nothing. */
export async function revokeKey(database: Database, keyId: string): Promise<KeyRecord> {
  const row = await database.row(revoke, null, [keyId]);
  if (row === undefined) throw new Failure('api_key_not_found');
  return toRecord(row);
}

/** The keys of an account, oldest first, revoked ones too, read page by page. */
export async function listKeys(database: Database, accountId: string): Promise<KeyRecord[]> {
  const keys = await allInPages<KeyRow>(keysOfPage, (after) =>
    database.rows(list, null, [accountId, after?.key_id ?? '', keysOfPage]),
  );
  return keys.map(toRecord);
}

const keysOfPage = 1_000;

interface KeyRow {
  readonly key_id: string;
  readonly account_id: string;
  readonly test_mode: boolean;
  readonly last4: string;
  readonly scopes: string[] | null;
  readonly rate_limit: number | null;
  readonly expires_at: Date | null;
  readonly revoked_at: Date | null;
  readonly created_at: Date;
}

interface KeyParts {
  readonly accountId: string;
  readonly testMode: boolean;
  readonly scopes: readonly string[] | null;
  readonly rateLimit: number | null;
  readonly expiresAt: Date | null;
}

async function insertKey(db: Db, parts: KeyParts): Promise<IssuedKey> {
  const apiKey = newKey(parts.testMode);
  const values = [newId('api_key'), parts.accountId, parts.testMode, keyHash(apiKey), apiKey.slice(-4)];
  const row = await db.row(insert, null, [...values, parts.scopes, parts.rateLimit, parts.expiresAt]);
  if (row === undefined) throw new Error('Inserting an API key returned no row');
  return { ...toRecord(row), api_key: apiKey };
}

function checkScopes(scopes: readonly string[]): string[] {
  return [...new Set(scopes)].map((name) => {
    const scope = scopeOf(name);
    if (scope === undefined) throw Failure.invalid(['scopes'], 'unknown_scope', 'No such scope');
    return scope;
  });
}

function toRecord(row: KeyRow): KeyRecord {
  return {
    key_id: row.key_id,
    account_id: row.account_id,
    mode: row.test_mode ? 'test' : 'live',
    last4: row.last4,
    scopes: row.scopes,
    rate_limit: row.rate_limit,
    expires_at: row.expires_at?.toISOString() ?? null,
    revoked_at: row.revoked_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString(),
  };
}

const columns = 'key_id, account_id, test_mode, last4, scopes, rate_limit, expires_at, revoked_at, created_at';
const findAccount = unscoped<{ account_id: string }>(
  'keys.account',
  'select account_id from accounts where account_id = $1',
);
const insert = unscoped<KeyRow>(
  'keys.insert',
  `insert into api_keys (key_id, account_id, test_mode, key_hash, last4, scopes, rate_limit, expires_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8) returning ${columns}`,
);
const lockKey = unscoped<KeyRow & { readonly rolled_at: Date | null }>(
  'keys.lock',
  `select ${columns}, rolled_at from api_keys
   where key_id = $1 and revoked_at is null and (expires_at is null or expires_at > clock_timestamp()) for update`,
);
const endByRoll = unscoped(
  'keys.end_by_roll',
  `update api_keys set rolled_at = clock_timestamp(),
     expires_at = least(expires_at, clock_timestamp() + $2 * interval '1 millisecond')
   where key_id = $1`,
);
const revoke = unscoped<KeyRow>(
  'keys.revoke',
  `update api_keys set revoked_at = coalesce(revoked_at, clock_timestamp()) where key_id = $1 returning ${columns}`,
);
const list = unscoped<KeyRow>(
  'keys.list',
  `select ${columns} from api_keys where account_id = $1 and key_id > $2 order by key_id limit $3`,
);

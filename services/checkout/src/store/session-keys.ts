import { type Db, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';

/** What a request is known by, and what it asked for. */
export interface SessionKey {
  readonly key: string;
  readonly requestHash: Uint8Array;
}

/**
 * Makes the session the one that its key stands for, in place of `earlierId` (null: the key is new). False when another request has
 * used the key meanwhile; the transaction must then be given up.
 */
export async function takeSessionKey(
  tx: Tx,
  scope: Scope,
  key: SessionKey,
  sessionId: string,
  earlierId: string | null,
): Promise<boolean> {
  return (await tx.execute(upsertKey, scope, [key.key, Buffer.from(key.requestHash), sessionId, earlierId])) === 1;
}

/** Deletes keys that are older than 30 days, at most `most`; returns how many. */
export async function pruneSessionKeys(db: Db, most: number): Promise<number> {
  return Number((await db.row(prune, null, [most]))?.pruned ?? 0n);
}

const upsertKey = scoped<never>(
  'session_keys.take',
  `insert into checkout.session_keys (account_id, test_mode, key, request_hash, session_id) values ($1, $2, $3, $4, $5)
   on conflict (account_id, test_mode, key) do update
     set request_hash = excluded.request_hash, session_id = excluded.session_id, created_at = now()
     where session_keys.session_id = $6`,
);

const prune = unscoped<{ pruned: bigint }>('session_keys.prune', 'select checkout.prune_session_keys($1) as pruned');

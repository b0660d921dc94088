import type { DatabaseSync } from 'node:sqlite';

export interface StoredAnswer {
  status: number;
  body: string;
}

export interface StoredKey extends StoredAnswer {
  endpoint: string;
  fingerprint: string;
}

export interface IdempotencyKeys {
  /** The answer that was stored under a key, unless it has lapsed. */
  find(account: string, key: string, nowMs: number): StoredKey | undefined;
  store(account: string, key: string, stored: StoredKey, nowMs: number): void;
  /** Deletes lapsed keys, at most `limit`; gives how many it deleted. */
  purge(nowMs: number, limit: number): number;
}

/** Stripe keeps a key for at least 24 hours; here it is exactly that, so that what relies on more shows. */
export const keyRetentionMs = 24 * 60 * 60 * 1000;

/** What was answered under each key: (account, key) -> endpoint, fingerprint of the parameters, status, body. */
export function openIdempotencyKeys(db: DatabaseSync): IdempotencyKeys {
  db.exec(`
    create table if not exists idempotency_keys (
      seq integer primary key, account text not null, key text not null, endpoint text not null, fingerprint text not null,
      status integer not null, body text not null, created_ms integer not null, unique (account, key));
    create index if not exists idempotency_keys_by_age on idempotency_keys (created_ms);
  `);
  const find = db.prepare(
    'select endpoint, fingerprint, status, body from idempotency_keys where account = ? and key = ? and created_ms > ?',
  );
  const store = db.prepare(
    `insert into idempotency_keys (account, key, endpoint, fingerprint, status, body, created_ms) values (?, ?, ?, ?, ?, ?, ?)
     on conflict (account, key) do update set endpoint = excluded.endpoint, fingerprint = excluded.fingerprint,
       status = excluded.status, body = excluded.body, created_ms = excluded.created_ms`,
  );
  const purge = db.prepare(
    `delete from idempotency_keys where seq in
       (select seq from idempotency_keys where created_ms <= ? order by created_ms limit ?)`,
  );
  return {
    find: (account, key, nowMs) => {
      const row = find.get(account, key, nowMs - keyRetentionMs);
      if (row === undefined) return undefined;
      return {
        endpoint: String(row.endpoint),
        fingerprint: String(row.fingerprint),
        status: Number(row.status),
        body: String(row.body),
      };
    },
    store: (account, key, stored, nowMs) => {
      store.run(account, key, stored.endpoint, stored.fingerprint, stored.status, stored.body, nowMs);
    },
    purge: (nowMs, limit) => Number(purge.run(nowMs - keyRetentionMs, limit).changes),
  };
}

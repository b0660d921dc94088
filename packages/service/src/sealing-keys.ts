import { type Db, unscoped } from '@eligo/postgres';

const list = unscoped<{ key_id: string; fingerprint: string }>(
  'service_sealing_keys',
  "select key_id, encode(fingerprint, 'hex') as fingerprint from sealing_keys order by key_id limit 1000",
);

const insert = unscoped<never>(
  'service_record_sealing_key',
  "insert into sealing_keys (key_id, fingerprint) values ($1, decode($2, 'hex')) on conflict do nothing",
);

/** The keys that have sealed what the service's schema keeps, by their ids. */
export async function listSealingKeys(db: Db): Promise<Map<string, string>> {
  return new Map((await db.rows(list, null)).map(({ key_id, fingerprint }) => [key_id, fingerprint]));
}

/** Keeps a key's fingerprint; the first that came for an id stays. */
export async function recordSealingKey(db: Db, keyId: string, fingerprint: string): Promise<void> {
  await db.execute(insert, null, [keyId, fingerprint]);
}

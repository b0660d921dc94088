import type { Database } from '@eligo/postgres';
import type { Keyring } from '@eligo/service';
import { listSealingKeys, recordSealingKey } from '../store/sealing-keys.ts';

/** The keyring is not the one that sealed this installation's secrets. */
export class ForeignKeyring extends Error {
  constructor(what: string) {
    super(
      `ELIGO_KEYRING does not open the webhook secrets of this database: ${what}. Use the keyring of this installation. Nothing was changed.`,
    );
    this.name = 'ForeignKeyring';
  }
}

/**
 * Makes the check that the keyring is the installation's, and records its sealing key. It rejects with `ForeignKeyring`, or with the database's error. Once
 * it held it is not made again.
 */
export function keyringCheck(database: Database, { fingerprints }: Pick<Keyring, 'fingerprints'>): () => Promise<void> {
  let isOurs = false;
  return async () => {
    if (isOurs) return;
    const [sealing] = fingerprints;
    if (sealing === undefined) throw new Error('The keyring is empty');
    const recorded = await listSealingKeys(database);
    refuseForeign(recorded, fingerprints);
    if (!recorded.has(sealing[0])) {
      await recordSealingKey(database, ...sealing);
      // Another process may have been first, with another key.
      refuseForeign(await listSealingKeys(database), fingerprints);
    }
    isOurs = true;
  };
}

function refuseForeign(recorded: ReadonlyMap<string, string>, own: ReadonlyMap<string, string>): void {
  for (const [id, fingerprint] of own) {
    const known = recorded.get(id);
    if (known !== undefined && known !== fingerprint) throw new ForeignKeyring(`its key ${id} is a different key`);
  }
  // After a rotation old keys leave the keyring, but a key that has sealed secrets stays until they are sealed under a recorded one.
  if (recorded.size > 0 && ![...own.keys()].some((id) => recorded.has(id))) {
    throw new ForeignKeyring('it has none of the keys that sealed them');
  }
}

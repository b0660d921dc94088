import type { Database } from '@eligo/postgres';
import type { Keyring } from './keyring.ts';
import type { Logger } from './logger.ts';
import { listSealingKeys, recordSealingKey } from './sealing-keys.ts';

/** The keyring is not the one that sealed what the service's schema keeps. */
export class ForeignKeyring extends Error {
  constructor(sealed: string, what: string) {
    super(
      `ELIGO_KEYRING does not open the ${sealed} of this database: ${what}. Use the keyring of this installation. Nothing was changed.`,
    );
    this.name = 'ForeignKeyring';
  }
}

/**
 * Makes the check that the keyring is the installation's, and records its sealing key in the table `sealing_keys` of the service's schema. It rejects with
 * `ForeignKeyring`, or with the database's error. Once it held it is not made again.
 *
 * @param sealed what the schema keeps sealed, for the message
 */
export function keyringCheck(
  database: Database,
  { fingerprints }: Pick<Keyring, 'fingerprints'>,
  sealed: string,
): () => Promise<void> {
  let isOurs = false;
  return async () => {
    if (isOurs) return;
    const [sealing] = fingerprints;
    if (sealing === undefined) throw new Error('The keyring is empty');
    const recorded = await listSealingKeys(database);
    refuseForeign(recorded, fingerprints, sealed);
    if (!recorded.has(sealing[0])) {
      await recordSealingKey(database, ...sealing);
      // Another process may have been first, with another key.
      refuseForeign(await listSealingKeys(database), fingerprints, sealed);
    }
    isOurs = true;
  };
}

/** The same at the start of a service: a foreign keyring ends it. While the database is away it goes on, and readiness asks again. */
export async function startWithKeyring(
  database: Database,
  keyring: Pick<Keyring, 'fingerprints'>,
  { sealed, logger }: { readonly sealed: string; readonly logger: Pick<Logger, 'warn'> },
): Promise<() => Promise<void>> {
  const check = keyringCheck(database, keyring, sealed);
  await check().catch((error: unknown) => {
    if (error instanceof ForeignKeyring) throw error;
    logger.warn({ err: error }, 'Failed to compare the keyring with the database; not ready until it is compared');
  });
  return check;
}

function refuseForeign(recorded: ReadonlyMap<string, string>, own: ReadonlyMap<string, string>, sealed: string): void {
  for (const [id, fingerprint] of own) {
    const known = recorded.get(id);
    if (known !== undefined && known !== fingerprint)
      throw new ForeignKeyring(sealed, `its key ${id} is a different key`);
  }
  // After a rotation old keys leave the keyring, but a key that has sealed secrets stays until they are sealed under a recorded one.
  if (recorded.size > 0 && ![...own.keys()].some((id) => recorded.has(id))) {
    throw new ForeignKeyring(sealed, 'it has none of the keys that sealed them');
  }
}

import { type Database, withTx } from '@eligo/postgres';
import type { Keyring } from '@eligo/service';
import { countSecrets, readSecrets, replaceSealed, type SealedSecret } from '../store/secrets.ts';
import { secretBox } from './secret-box.ts';

/** How far it is. */
export interface ResealProgress {
  readonly done: number;
  readonly total: number;
}

/** What became of the secrets. */
export interface ResealResult {
  readonly total: number;
  readonly resealed: number;
  /** Under the first key already. */
  readonly current: number;
  /** Changed or deleted while this ran, and already sealed under a current key. */
  readonly changed: number;
  /** Endpoints whose secret opens under no key of the ring. */
  readonly unopened: readonly string[];
}

/**
 * Reseals every webhook secret that is under another key under the first key of the keyring. Each by itself and only if it is still what was
 * read, so that it may be stopped, repeated, and run beside the service, whose roll it never undoes. `database` is open as a role that
 * row-level security does not bind.
 */
export async function resealSecrets(options: {
  database: Database;
  keyring: Keyring;
  onProgress?: (progress: ResealProgress) => void;
}): Promise<ResealResult> {
  const { database, keyring, onProgress } = options;
  const total = await countSecrets(database);
  const counts = { resealed: 0, current: 0, changed: 0 };
  const unopened: string[] = [];
  let done = 0;
  for (let after: SealedSecret | undefined, page = await readSecrets(database, after, rowsOfPage); page.length > 0; ) {
    for (const secret of page) {
      const outcome = await reseal(database, keyring, secret);
      if (outcome === 'unopened') unopened.push(secret.webhookId);
      else counts[outcome] += 1;
    }
    done += page.length;
    onProgress?.({ done, total: Math.max(total, done) });
    after = page.at(-1);
    page = await readSecrets(database, after, rowsOfPage);
  }
  return { total: done, ...counts, unopened };
}

const rowsOfPage = 500;

async function reseal(
  database: Database,
  keyring: Keyring,
  secret: SealedSecret,
): Promise<'resealed' | 'current' | 'changed' | 'unopened'> {
  const box = secretBox(keyring);
  let sealedAnew: string;
  try {
    if (!keyring.isStale(secret.sealed)) return 'current';
    sealedAnew = box.seal(secret.scope, box.open(secret.scope, secret.sealed));
  } catch {
    // Its text adds nothing and does not belong in a log.
    return 'unopened';
  }
  const replaced = await withTx(database, secret.scope, (tx) => replaceSealed(tx, secret, sealedAnew));
  return replaced ? 'resealed' : 'changed';
}

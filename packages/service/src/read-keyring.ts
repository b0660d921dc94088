import type { EnvironmentReader } from './environment.ts';
import { isWeakKeyring, type Keyring, openKeyring } from './keyring.ts';

/** Reads `ELIGO_KEYRING`, for the services that keep sealed values. No other component is given it. */
export function readKeyring(env: EnvironmentReader): Keyring {
  const text = env.secret('ELIGO_KEYRING');
  if (text === '') return unreadable;
  try {
    const keyring = openKeyring(text);
    if (env.stage === 'production' && isWeakKeyring(text)) {
      env.problem('ELIGO_KEYRING has a key that is not random, or the same key twice; run eligo secrets init');
    }
    return keyring;
  } catch {
    env.problem('ELIGO_KEYRING must be id:base64key,… with keys of 32 bytes');
    return unreadable;
  }
}

// Stands in while the environment has a problem, with which no service starts.
const unreadable: Keyring = { seal: refuse, open: refuse, isStale: refuse, fingerprints: new Map() };

function refuse(): never {
  throw new Error('The keyring cannot be read');
}

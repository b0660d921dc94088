import type { KeyObject } from 'node:crypto';
import type { Scope } from '@eligo/postgres';
import type { Keyring } from '@eligo/service';
import type { SecretBox } from '../context.ts';
import { signingKey } from '../domain/signature.ts';

/** Seals signing secrets under the keyring, bound to their account and mode: moved to another account's row, one does not open. */
export function secretBox(keyring: Pick<Keyring, 'seal' | 'open'>): SecretBox {
  return {
    seal: (scope, secret) => keyring.seal(secret, placeOf(scope)),
    open: (scope, sealed) => keyring.open(sealed, placeOf(scope)),
  };
}

/** Opens sealed secrets to signing keys, and keeps the last thousands: an endpoint's secret is opened once, not at every attempt. */
export function keyOpener(secrets: SecretBox): (scope: Scope, sealed: string) => KeyObject {
  const opened = new Map<string, KeyObject>();
  return (scope, sealed) => {
    // What is sealed twice differs, so the text alone names the secret; it opened for its own account or it would not be here.
    const known = opened.get(sealed);
    if (known !== undefined) return known;
    const key = signingKey(secrets.open(scope, sealed));
    if (opened.size >= mostKeys) opened.clear();
    opened.set(sealed, key);
    return key;
  };
}

const mostKeys = 5_000;

function placeOf(scope: Scope): string {
  return `webhooks.endpoint_secrets ${scope.accountId} ${scope.testMode ? 'test' : 'live'}`;
}

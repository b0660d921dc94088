import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { ActiveKey, KeyCache } from '../accounts/key-cache.ts';
import { isKey } from '../accounts/key-format.ts';
import type { FailedAuthentications } from './failed-authentications.ts';
import { networkOf } from './network-of.ts';
import type { TrustedProxies } from './trusted-proxies.ts';

/** Finds the key of a request. The refusal is the same for a key that is missing, malformed, unknown, revoked or expired (decisions 2). */
export class Authenticator {
  readonly #keys: KeyCache;
  readonly #failed: FailedAuthentications;
  readonly #proxies: TrustedProxies;

  constructor(keys: KeyCache, failed: FailedAuthentications, proxies: TrustedProxies) {
    this.#keys = keys;
    this.#failed = failed;
    this.#proxies = proxies;
  }

  /** The key at once when it was seen lately, which is nearly always. */
  authenticate(request: IncomingMessage): ActiveKey | Promise<ActiveKey> {
    const apiKey = bearerOf(request.headers.authorization);
    if (apiKey === undefined) return this.#refuse(request);
    const digest = hash('sha256', apiKey, 'base64url');
    return this.#keys.get(digest) ?? this.#lookUp(request, apiKey, digest);
  }

  async #lookUp(request: IncomingMessage, apiKey: string, digest: string): Promise<ActiveKey> {
    if (!isKey(apiKey)) return this.#refuse(request);
    const find = () => this.#keys.find(apiKey, digest);
    // One that was live when it was last looked up is no guess.
    if (this.#keys.isKnown(digest)) return (await find()) ?? this.#refuse(request);
    return this.#failed.lookUp(networkOf(request, this.#proxies), find);
  }

  async #refuse(request: IncomingMessage): Promise<never> {
    throw this.#failed.refuse(networkOf(request, this.#proxies));
  }
}

const bearer = /^bearer +([\x21-\x7e]{1,256})$/i;

function bearerOf(header: string | undefined): string | undefined {
  if (header === undefined) return undefined;
  if (header.startsWith('Bearer fsk_')) return header.slice(7);
  return bearer.exec(header)?.[1];
}

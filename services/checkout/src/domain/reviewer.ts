import { createHash, randomBytes } from 'node:crypto';

/** A person who decides letters of medical necessity. */
export interface Reviewer {
  readonly id: string;
  readonly name: string;
  readonly license: string;
  /** The state that issued the license. */
  readonly state: string;
}

/** A new personal credential. 256 random bits, so that a guess needs no limit. */
export function newCredential(): string {
  return `freviewer_${randomBytes(32).toString('base64url')}`;
}

/** What is stored of a credential. */
export function credentialHash(credential: string): Buffer {
  return createHash('sha256').update(credential).digest();
}

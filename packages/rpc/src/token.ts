import { type KeyObject, sign, verify } from 'node:crypto';

/**
 * Longer tokens are not even verified. A context with hundreds of sibling accounts fits, and an organization has a hundred accounts; HTTP/2 in
 * Node takes 64 KiB.
 */
const maxTokenLength = 32_768;

/**
 * What is signed: who presents itself to whom, on whose behalf a call is made, which operator acts, or which call an operator makes. A signature for
 * one never passes for another.
 */
export type TokenKind = 'credential' | 'caller' | 'operator' | 'proof';

/** `<base64url payload>.<base64url signature>`, signed over its kind too. */
export function signToken(kind: TokenKind, payload: Uint8Array, key: KeyObject): string {
  const body = Buffer.from(payload);
  return `${body.toString('base64url')}.${signatureOf(kind, body, key).toString('base64url')}`;
}

/** The signature alone, for a payload that its verifier knows. */
export function signatureOf(kind: TokenKind, payload: Buffer, key: KeyObject): Buffer {
  return sign(null, signedBytes(kind, payload), key);
}

/** The payload of a token before its signature is verified, to learn whose key to verify it with; undefined if it is no token. */
export function openToken(token: string): { payload: Buffer; signature: Buffer } | undefined {
  if (token.length > maxTokenLength) return undefined;
  const dot = token.indexOf('.');
  if (dot < 0) return undefined;
  return {
    payload: Buffer.from(token.slice(0, dot), 'base64url'),
    signature: Buffer.from(token.slice(dot + 1), 'base64url'),
  };
}

export function isSignedBy(kind: TokenKind, token: { payload: Buffer; signature: Buffer }, key: KeyObject): boolean {
  return verify(null, signedBytes(kind, token.payload), key, token.signature);
}

function signedBytes(kind: TokenKind, payload: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`eligo.${kind}.v1\0`), payload]);
}

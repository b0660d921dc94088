import { createHmac, createSecretKey, type KeyObject, randomBytes } from 'node:crypto';

/** A signing secret: `whsec_` and the base64 of 32 random bytes (decisions 8). */
export function newSigningSecret(): string {
  return secretPrefix + randomBytes(32).toString('base64');
}

/**
 * The key of a secret, made once: signing with its bytes costs five times as much. Throws a RangeError for fewer than 24 bytes or more than
 * 64, which Standard Webhooks forbids.
 */
export function signingKey(secret: string): KeyObject {
  if (!secret.startsWith(secretPrefix)) throw new RangeError('A signing secret must start with whsec_');
  const key = Buffer.from(secret.slice(secretPrefix.length), 'base64');
  if (key.length < 24 || key.length > 64) throw new RangeError('A signing secret must have 24 to 64 bytes');
  return createSecretKey(key);
}

/**
 * The value of `webhook-signature` (Standard Webhooks 1.0.0): one `v1,<base64 HMAC-SHA256 of id.timestamp.body>` per key, in the order of the
 * keys. The oldest live key stands first: receivers that read only the first signature keep working during a roll (decisions 8).
 */
export function signatureHeader(
  keys: readonly KeyObject[],
  message: { id: string; timestampSeconds: number; body: Uint8Array },
): string {
  const head = `${message.id}.${message.timestampSeconds}.`;
  return keys
    .map((key) => `v1,${createHmac('sha256', key).update(head).update(message.body).digest('base64')}`)
    .join(' ');
}

const secretPrefix = 'whsec_';

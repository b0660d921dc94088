import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';

/** Seals secrets at rest: AES-256-GCM under one of several keys, so that keys can be rotated while old values still open. */
export interface Keyring {
  /** Seals a text. `associatedData` names where it belongs (table, row): sealed for one place it does not open for another. */
  seal(plaintext: string, associatedData: string): string;
  /** Opens what was sealed for the same place. Throws when it was changed, moved, or sealed under a key that is not on the ring. */
  open(sealed: string, associatedData: string): string;
  /** Whether a value is sealed under another key than the first, and should be resealed. */
  isStale(sealed: string): boolean;
  /** Each key by its id, the sealing one first, with what tells keys apart without giving one away. */
  readonly fingerprints: ReadonlyMap<string, string>;
}

const ivBytes = 12;
const tagBytes = 16;

/** Opens a keyring from `id:base64key,…`: 32 bytes each; the first one seals, all of them open. */
export function openKeyring(text: string): Keyring {
  const keys = readKeys(text);
  const [first] = keys;
  if (first === undefined) throw new Error('The keyring is empty');
  const [sealingId, sealingKey] = first;
  return {
    seal(plaintext, associatedData) {
      const iv = randomBytes(ivBytes);
      const cipher = createCipheriv('aes-256-gcm', sealingKey, iv);
      cipher.setAAD(boundTo(sealingId, associatedData));
      const body = Buffer.concat([iv, cipher.update(plaintext, 'utf8'), cipher.final(), cipher.getAuthTag()]);
      return `${version}.${sealingId}.${body.toString('base64url')}`;
    },
    open(sealed, associatedData) {
      const { id, body } = takeApart(sealed);
      const key = keys.get(id);
      if (key === undefined) throw new Error(`The keyring has no key ${id}`);
      const decipher = createDecipheriv('aes-256-gcm', key, body.subarray(0, ivBytes), { authTagLength: tagBytes });
      decipher.setAAD(boundTo(id, associatedData));
      decipher.setAuthTag(body.subarray(body.length - tagBytes));
      try {
        const opened = decipher.update(body.subarray(ivBytes, body.length - tagBytes));
        return Buffer.concat([opened, decipher.final()]).toString('utf8');
      } catch {
        throw new Error('The sealed value was modified or belongs to another account, mode or purpose');
      }
    },
    fingerprints: new Map([...keys].map(([id, key]) => [id, fingerprintOf(key)])),
    isStale: (sealed) => takeApart(sealed).id !== sealingId,
  };
}

function fingerprintOf(key: Buffer): string {
  return createHmac('sha256', key).update('eligo keyring fingerprint').digest('hex');
}

/** Whether a key of the keyring is no random one, or two are the same. */
export function isWeakKeyring(text: string): boolean {
  const keys = [...readKeys(text).values()];
  const isRepeated = new Set(keys.map((key) => key.toString('hex'))).size < keys.length;
  // 32 random bytes have fewer than sixteen different ones once in 10^15.
  return isRepeated || keys.some((key) => new Set(key).size < 16);
}

const version = 'sealed1';
const idSyntax = /^[A-Za-z0-9_-]{1,32}$/;

function readKeys(text: string): Map<string, Buffer> {
  const keys = new Map<string, Buffer>();
  for (const entry of text.split(',').map((part) => part.trim())) {
    const colon = entry.indexOf(':');
    const id = entry.slice(0, colon);
    const key = Buffer.from(entry.slice(colon + 1), 'base64');
    // The text of an entry is never repeated: it is a key.
    if (colon < 0 || !idSyntax.test(id)) throw new Error('The keyring must be id:base64key,…');
    if (key.length !== 32) throw new Error(`Keyring key ${id} must be 32 bytes in base64`);
    if (keys.has(id)) throw new Error(`Keyring key ${id} appears twice`);
    keys.set(id, key);
  }
  return keys;
}

function takeApart(sealed: string): { id: string; body: Buffer } {
  const [mark, id, text, ...rest] = sealed.split('.');
  const body = Buffer.from(text ?? '', 'base64url');
  if (mark !== version || id === undefined || rest.length > 0 || body.length < ivBytes + tagBytes) {
    throw new Error('The value is not sealed');
  }
  return { id, body };
}

function boundTo(id: string, associatedData: string): Buffer {
  return Buffer.from(`${version}.${id}.${associatedData}`);
}

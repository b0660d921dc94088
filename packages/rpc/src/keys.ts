import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';

/** The key pairs of a set of components as they stand in the environment: private keys base64 PKCS 8, public keys base64 SPKI. */
export interface ComponentKeys {
  readonly privateKeys: Readonly<Record<string, string>>;
  readonly publicKeys: Readonly<Record<string, string>>;
}

/** Makes a new Ed25519 key pair for each component. */
export function generateComponentKeys(names: readonly string[]): ComponentKeys {
  const privateKeys: Record<string, string> = {};
  const publicKeys: Record<string, string> = {};
  for (const name of names) {
    const pair = generateKeyPairSync('ed25519');
    privateKeys[name] = pair.privateKey.export({ type: 'pkcs8', format: 'der' }).toString('base64');
    publicKeys[name] = pair.publicKey.export({ type: 'spki', format: 'der' }).toString('base64');
  }
  return { privateKeys, publicKeys };
}

/** The public half of a private key. */
export function publicKeyOf(privateKey: string): string {
  return createPublicKey(readPrivateKey(privateKey)).export({ type: 'spki', format: 'der' }).toString('base64');
}

/** Reads an Ed25519 private key; the error never carries the key. */
export function readPrivateKey(base64: string): KeyObject {
  return ed25519(
    () => createPrivateKey({ key: Buffer.from(base64, 'base64'), type: 'pkcs8', format: 'der' }),
    'private',
  );
}

/** Reads an Ed25519 public key. */
export function readPublicKey(base64: string): KeyObject {
  return ed25519(() => createPublicKey({ key: Buffer.from(base64, 'base64'), type: 'spki', format: 'der' }), 'public');
}

function ed25519(read: () => KeyObject, what: string): KeyObject {
  let key: KeyObject;
  try {
    key = read();
  } catch {
    throw new Error(`a component's ${what} key is not a base64 Ed25519 key`);
  }
  if (key.asymmetricKeyType !== 'ed25519') throw new Error(`a component's ${what} key is not an Ed25519 key`);
  return key;
}

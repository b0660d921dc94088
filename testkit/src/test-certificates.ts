import { generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';

/** A certificate and its private key, in PEM. */
export interface TestCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** An authority of a test, which signs certificates. */
export interface TestAuthority {
  /** The authority's own certificate, in PEM. */
  readonly certificate: string;
  /** Signs a certificate for these host names and IPv4 addresses; valid for an hour unless it is to have expired. */
  issue(names: readonly string[], options?: { expired?: boolean }): TestCertificate;
}

/** Makes an authority of its own: P-256 keys and X.509 version 3, written out here because Node reads certificates but makes none. */
export function testAuthority(): TestAuthority {
  const name = nameOf(`Test authority ${randomBytes(4).toString('hex')}`);
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const isAuthority = extension('551d13', der(0x30, der(0x01, Buffer.from([0xff]))));
  const issued = (subject: Buffer, key: KeyObject, extensions: Buffer, expired = false) =>
    signed({ issuer: name, subject, key, extensions, expired }, privateKey);
  return {
    certificate: issued(name, publicKey, isAuthority),
    issue(names, { expired = false } = {}) {
      const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' });
      const alternatives = extension('551d11', der(0x30, ...names.map(alternativeName)));
      return {
        certificate: issued(nameOf(names[0] ?? 'nobody'), pair.publicKey, alternatives, expired),
        key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      };
    },
  };
}

/** Writes a certificate into a folder as orchestrators mount it: `tls.crt`, `tls.key`, and `ca.crt` with the authorities to trust. */
export function writeTestCertificate(folder: string, issued: TestCertificate, authorities: readonly string[]): void {
  mkdirSync(folder, { recursive: true });
  const files = { 'tls.crt': issued.certificate, 'tls.key': issued.key, 'ca.crt': authorities.join('') };
  for (const [name, text] of Object.entries(files)) {
    // A reader sees the old file or the new one.
    writeFileSync(join(folder, `${name}.new`), text, { mode: 0o600 });
    renameSync(join(folder, `${name}.new`), join(folder, name));
  }
}

interface Unsigned {
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly key: KeyObject;
  readonly extensions: Buffer;
  readonly expired: boolean;
}

const hourMs = 3_600_000;
const ecdsaWithSha256 = der(0x30, der(0x06, Buffer.from('2a8648ce3d040302', 'hex')));

function signed({ issuer, subject, key, extensions, expired }: Unsigned, signer: KeyObject): string {
  const now = Date.now();
  const validity = der(0x30, timeOf(now - 2 * hourMs), timeOf(expired ? now - hourMs : now + hourMs));
  const body = der(
    0x30,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)])),
    ecdsaWithSha256,
    issuer,
    validity,
    subject,
    key.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(0x30, extensions)),
  );
  const signature = sign('sha256', body, signer);
  const bytes = der(0x30, body, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature));
  const lines = bytes
    .toString('base64')
    .match(/.{1,64}/g)
    ?.join('\n');
  return `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`;
}

function nameOf(commonName: string): Buffer {
  const attribute = der(0x30, der(0x06, Buffer.from('550403', 'hex')), der(0x0c, Buffer.from(commonName)));
  return der(0x30, der(0x31, attribute));
}

function alternativeName(name: string): Buffer {
  if (isIP(name) === 4) return der(0x87, Buffer.from(name.split('.').map(Number)));
  return der(0x82, Buffer.from(name));
}

function extension(idHex: string, value: Buffer): Buffer {
  return der(0x30, der(0x06, Buffer.from(idHex, 'hex')), der(0x01, Buffer.from([0xff])), der(0x04, value));
}

function timeOf(atMs: number): Buffer {
  return der(0x17, Buffer.from(`${new Date(atMs).toISOString().slice(2, 19).replace(/[-T:]/g, '')}Z`));
}

/** One element of DER: its tag, its length, its content. */
function der(tag: number, ...content: readonly Buffer[]): Buffer {
  const body = Buffer.concat(content);
  if (body.length < 0x80) return Buffer.concat([Buffer.from([tag, body.length]), body]);
  const length = body.length < 0x100 ? [0x81, body.length] : [0x82, body.length >> 8, body.length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...length]), body]);
}

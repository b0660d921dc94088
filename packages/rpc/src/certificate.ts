import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSecureContext } from 'node:tls';

/** What a component proves its name with to its peers, and the authorities whose word it takes for theirs. */
export interface Certificate {
  readonly certificate: Buffer;
  readonly privateKey: Buffer;
  readonly authorities: Buffer;
  readonly expiresAt: Date;
}

/** A certificate that cannot be used; the message names the file and what is wrong with it. */
export class UnusableCertificate extends Error {}

/**
 * Reads the certificate of a component from a folder, with the file names that Kubernetes and cert-manager use: `tls.crt` (its chain), `tls.key` and
 * `ca.crt`. It has to name the component, match its key, and be valid still.
 */
export function readCertificate(folder: string, component: string): Certificate {
  const certificate = readPart(folder, 'tls.crt');
  const privateKey = readPart(folder, 'tls.key');
  const authorities = readPart(folder, 'ca.crt');
  const read = usable('tls.crt is not a PEM certificate', () => new X509Certificate(certificate));
  usable('ca.crt is not a PEM certificate', () => new X509Certificate(authorities));
  usable('tls.key does not match tls.crt', () =>
    createSecureContext({ cert: certificate, key: privateKey, ca: authorities }),
  );
  if (read.checkHost(component) === undefined) {
    throw new UnusableCertificate(`tls.crt does not have the DNS name ${component}`);
  }
  const expiresAt = new Date(read.validTo);
  if (expiresAt.getTime() <= Date.now()) throw new UnusableCertificate('tls.crt has expired');
  return { certificate, privateKey, authorities, expiresAt };
}

function readPart(folder: string, name: string): Buffer {
  return usable(`${name} cannot be read`, () => readFileSync(join(folder, name)));
}

function usable<Value>(problem: string, read: () => Value): Value {
  try {
    return read();
  } catch (error) {
    throw new UnusableCertificate(problem, { cause: error });
  }
}

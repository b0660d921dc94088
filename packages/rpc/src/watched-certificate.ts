import type { experimental } from '@grpc/grpc-js';
import { type Certificate, readCertificate, UnusableCertificate } from './certificate.ts';

export interface WatchedCertificateOptions {
  /** Holds `tls.crt`, `tls.key` and `ca.crt`. */
  readonly folder: string;
  readonly component: string;
  /** Told of each certificate that replaces another. */
  readonly onReplaced?: (certificate: Certificate) => void;
  /** Told once of files that cannot be used; the certificate from before stays. */
  readonly onRefused?: (reason: string) => void;
  /** How often the files are read (10,000). */
  readonly everyMs?: number;
}

/** A component's certificate, as its files say now. */
export interface WatchedCertificate {
  /** Hands each new certificate to grpc-js. */
  readonly provider: experimental.CertificateProvider;
  current(): Certificate;
}

/**
 * Follows the files of a certificate while a server or a client uses it. It reads them again and again, because a file watcher misses what happens behind
 * the symbolic links of a mounted secret. Throws `UnusableCertificate` if they cannot be used at first.
 */
export function watchCertificate(options: WatchedCertificateOptions): WatchedCertificate {
  const { folder, component, onReplaced, onRefused, everyMs = 10_000 } = options;
  let current = readCertificate(folder, component);
  let refused: string | undefined;
  let timer: NodeJS.Timeout | undefined;
  const authorityListeners = new Set<experimental.CaCertificateUpdateListener>();
  const identityListeners = new Set<experimental.IdentityCertificateUpdateListener>();

  const readAgain = () => {
    try {
      const read = readCertificate(folder, component);
      refused = undefined;
      if (isSame(read, current)) return;
      current = read;
      for (const listener of authorityListeners) listener(authoritiesOf(current));
      for (const listener of identityListeners) listener(identityOf(current));
      onReplaced?.(current);
    } catch (error) {
      if (!(error instanceof UnusableCertificate)) throw error;
      if (refused !== error.message) onRefused?.(error.message);
      refused = error.message;
    }
  };
  const follow = () => {
    if (timer === undefined) {
      timer = setInterval(readAgain, everyMs).unref();
      // Nobody looked while nobody used it.
      readAgain();
    }
    if (authorityListeners.size + identityListeners.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
  return {
    current: () => current,
    provider: {
      addCaCertificateListener(listener) {
        authorityListeners.add(listener);
        follow();
        // The server notes what it listens for after this returns.
        process.nextTick(() => listener(authoritiesOf(current)));
      },
      removeCaCertificateListener(listener) {
        authorityListeners.delete(listener);
        follow();
      },
      addIdentityCertificateListener(listener) {
        identityListeners.add(listener);
        follow();
        process.nextTick(() => listener(identityOf(current)));
      },
      removeIdentityCertificateListener(listener) {
        identityListeners.delete(listener);
        follow();
      },
    },
  };
}

function authoritiesOf({ authorities }: Certificate): experimental.CaCertificateUpdate {
  return { caCertificate: authorities };
}

function identityOf({ certificate, privateKey }: Certificate): experimental.IdentityCertificateUpdate {
  return { certificate, privateKey };
}

function isSame(one: Certificate, other: Certificate): boolean {
  return (
    one.certificate.equals(other.certificate) &&
    one.privateKey.equals(other.privateKey) &&
    one.authorities.equals(other.authorities)
  );
}

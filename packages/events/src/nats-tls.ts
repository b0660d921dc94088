import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { join } from 'node:path';
import {
  checkServerIdentity,
  createSecureContext,
  type PeerCertificate,
  type ConnectionOptions as SecureClientOptions,
} from 'node:tls';
import { fileAsProperty, isTlsCode } from '@eligo/postgres';
import type { TlsOptions } from 'nats';

/**
 * How a client of NATS uses TLS: with a folder always, without one for `tls://` URLs. The folder has `ca.crt`, the authorities whose servers are
 * accepted, and `tls.crt` with `tls.key` where the server asks for a client certificate. Each connection reads the files again; one that cannot
 * be read counts as unchanged. Undefined: no TLS of the client's own accord.
 */
export function natsTls(servers: readonly URL[], folder: string | undefined): TlsOptions | undefined {
  if (folder === undefined && servers[0]?.protocol !== 'tls:') return undefined;
  const names = servers.map(({ hostname }) => hostname.replace(/^\[(.*)\]$/, '$1'));
  const addresses = names.filter((name) => isIP(name) !== 0 || name === 'localhost');
  const options: TlsOptions & Pick<SecureClientOptions, 'checkServerIdentity'> = {
    // The client passes no name for a server that is named by its address, and Node says localhost then.
    checkServerIdentity(hostname: string, certificate: PeerCertificate): Error | undefined {
      const accepted = hostname === 'localhost' && addresses.length > 0 ? addresses : [hostname];
      const refusals = accepted.map((name) => checkServerIdentity(name, certificate));
      return refusals.includes(undefined) ? undefined : refusals[0];
    },
  };
  for (const [option, file] of folder === undefined ? [] : Object.entries(filesOf(folder))) {
    Object.defineProperty(options, option, fileAsProperty(join(folder ?? '', file)));
  }
  return options;
}

/** What is wrong with the files of a folder, for the operator; undefined if nothing is. */
export function natsTlsProblem(folder: string): string | undefined {
  const files = filesOf(folder);
  const read = Object.fromEntries(
    Object.entries(files).map(([option, file]) => [option, contentOf(join(folder, file))] as const),
  );
  const unreadable = Object.entries(files).find(([option]) => read[option] === undefined);
  if (unreadable !== undefined) return `${unreadable[1]} cannot be read`;
  for (const option of ['ca', 'cert'] as const) {
    const content = read[option];
    if (content === undefined) continue;
    const certificate = certificateOf(content);
    if (certificate === undefined) return `${files[option]} is not a PEM certificate`;
    // An authority of the bundle that has expired does no harm: it accepts no server.
    if (option === 'cert' && new Date(certificate.validTo).getTime() <= Date.now()) return 'tls.crt has expired';
  }
  try {
    createSecureContext(read);
    return undefined;
  } catch {
    return 'tls.key does not match tls.crt';
  }
}

/** Why no TLS came about with the server, in plain words; undefined for any other error. */
export function natsTlsFailure(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (code === 'SERVER_OPT_NA') return 'the server does not offer TLS';
  if (isTlsCode(code)) {
    // Node adds advice for those who start it by hand.
    return (error.message.split('; if the root CA')[0] ?? '').slice(0, 300);
  }
  const inner = 'chainedError' in error ? error.chainedError : error.cause;
  return inner === error ? undefined : natsTlsFailure(inner);
}

// A client certificate is optional, and both of its files belong to it.
function filesOf(folder: string): Readonly<Record<string, string>> {
  const hasOwn = ['tls.crt', 'tls.key'].some((file) => contentOf(join(folder, file)) !== undefined);
  return { ca: 'ca.crt', ...(hasOwn ? { cert: 'tls.crt', key: 'tls.key' } : {}) };
}

function contentOf(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

function certificateOf(content: Buffer): X509Certificate | undefined {
  try {
    return new X509Certificate(content);
  } catch {
    return undefined;
  }
}

import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { ClientConfig } from 'pg';
import { fileAsProperty, isTlsCode } from './tls-files.ts';

/**
 * Where to connect and by which TLS, as the URL says: `sslmode=verify-full`, with `sslrootcert` for the authority, and `sslcert` and `sslkey` for a client
 * certificate. The driver would read the files of a URL once per connection and end the process when one is missing; here each connection reads
 * them, and one that cannot be read counts as unchanged.
 */
export function connectionTo(url: string): ClientConfig {
  const problem = tlsProblem(url);
  if (problem !== undefined) throw new Error(`The URL of the database is unusable: ${problem}`);
  const bare = parsed(url);
  if (bare?.searchParams.get('sslmode') !== 'verify-full') return { connectionString: url };
  const files = { ca: 'sslrootcert', cert: 'sslcert', key: 'sslkey' };
  const ssl: ClientConfig['ssl'] = {};
  for (const [option, parameter] of Object.entries(files)) {
    const path = bare.searchParams.get(parameter);
    if (path !== null) Object.defineProperty(ssl, option, fileAsProperty(path));
    bare.searchParams.delete(parameter);
  }
  bare.searchParams.delete('sslmode');
  return { connectionString: bare.href, ssl };
}

/** What is wrong with a database URL's TLS; undefined if nothing is. Modes that encrypt without knowing the server are refused: they look safe and are not. */
export function tlsProblem(url: string): string | undefined {
  const parameters = parsed(url)?.searchParams;
  if (parameters === undefined) return undefined;
  if (['ssl', 'uselibpqcompat', 'sslnegotiation'].some((name) => parameters.has(name))) {
    return 'of the TLS parameters, only sslmode, sslrootcert, sslcert and sslkey are supported';
  }
  const given = ['sslrootcert', 'sslcert', 'sslkey'].filter((name) => parameters.has(name));
  const mode = parameters.get('sslmode') ?? 'disable';
  if (mode !== 'verify-full' && mode !== 'disable') return 'sslmode must be verify-full or disable';
  if (mode === 'disable' && given.length > 0) return `${given[0]} needs sslmode=verify-full`;
  if (parameters.has('sslcert') !== parameters.has('sslkey')) return 'sslcert and sslkey belong together';
  const unreadable = given.find((name) => !isReadable(name, parameters.get(name) ?? ''));
  return unreadable && `the file that ${unreadable} names cannot be read`;
}

/** Why no TLS came about with the server; undefined for any other error. */
export function tlsFailure(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  if (isTlsCode(code) || error.message === 'The server does not support SSL connections') return error.message;
  return error.cause === undefined || error.cause === error ? undefined : tlsFailure(error.cause);
}

function isReadable(name: string, path: string): boolean {
  try {
    const content = readFileSync(path);
    return name === 'sslkey' || new X509Certificate(content).subject !== '';
  } catch {
    return false;
  }
}

// A URL that Node does not understand may still name a Unix socket for the driver.
function parsed(url: string): URL | undefined {
  return URL.canParse(url) ? new URL(url) : undefined;
}

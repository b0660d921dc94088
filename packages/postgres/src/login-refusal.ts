import { sqlState } from './errors.ts';

/** A login that the server refused: never with the password. */
export interface LoginRefusal {
  readonly role: string;
  readonly host: string;
  readonly port: number;
  readonly database: string;
  readonly sqlState: string;
}

// The password or the role is wrong, the host may not log in, the database does not exist or may not be used.
const refusedStates = new Set(['28P01', '28000', '3D000', '42501']);

/** What an operator needs to know of a refused login; undefined for any other error. */
export function loginRefusal(error: unknown, url: string): LoginRefusal | undefined {
  const state = sqlState(error);
  if (state === undefined || !refusedStates.has(state) || !isOfTheLogin(error)) return undefined;
  const { username, hostname, port, pathname, searchParams } = new URL(url);
  return {
    role: decodeURIComponent(username),
    // A Unix socket is named by a parameter.
    host: searchParams.get('host') ?? hostname,
    port: Number(port || 5432),
    database: decodeURIComponent(pathname.slice(1)),
    sqlState: state,
  };
}

// A statement that may not do something has the same state as a database that may not be used.
function isOfTheLogin(error: unknown): boolean {
  const { severity } = (error instanceof Error && error.cause instanceof Error ? error.cause : error) as {
    severity?: string;
  };
  return severity === 'FATAL';
}

import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';

/**
 * Why a request is refused that a browser may have been turned into sending: it has an `Origin`, or its `Host` is a domain name that is not this
 * component's. A page that has its own name point at this machine sends that name. Names without a dot are of a local network or of compose, and no one
 * else can have them point here. Undefined: it is not refused.
 */
export function browserRefusal(
  { headers }: IncomingMessage,
  names: readonly string[],
): { readonly status: 403 | 421; readonly detail: string } | undefined {
  if (headers.origin !== undefined) return { status: 403, detail: 'Requests from browsers are not allowed' };
  // Browsers always send one.
  if (headers.host === undefined || isOwn(headers.host.toLowerCase(), names)) return undefined;
  return { status: 421, detail: 'Host is not allowed; add it to ELIGO_ADMIN_HOSTS' };
}

function isOwn(host: string, names: readonly string[]): boolean {
  const name = host.replace(/:\d*$/, '').replace(/\.$/, '');
  if (/^\[[0-9a-f:.]+\]$/.test(name)) return isIP(name.slice(1, -1)) === 6;
  return isIP(name) === 4 || /^[a-z0-9_-]+$/.test(name) || name.endsWith('.localhost') || names.includes(name);
}

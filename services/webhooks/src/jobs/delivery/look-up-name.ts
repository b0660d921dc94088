import { Resolver as DnsResolver } from 'node:dns/promises';
import { readFile } from 'node:fs/promises';
import { isIP } from 'node:net';

/** What a name stands for, and for how long its name servers say so. */
export interface NameAnswer {
  readonly addresses: readonly string[];
  readonly ttlMs: number;
}

/** Why a name has no addresses: the code is that of the DNS client. */
export class NameNotResolved extends Error {
  readonly code: string;

  constructor(code: string) {
    super(`the host was not resolved (${code})`);
    this.name = 'NameNotResolved';
    this.code = code;
  }
}

/** A name was not looked up, because its account asks for too many. The name itself may resolve. */
export class LookUpRefused extends NameNotResolved {}

/** Where names are looked up; tests give servers and a file of their own. */
export interface NameSources {
  /** `address:port` of name servers; the system's unless given. */
  readonly servers?: readonly string[];
  readonly hostsFile?: string;
  readonly timeoutMs?: number;
}

/** Looks up one name. Rejects with `NameNotResolved`. */
export type NameLookUp = (host: string) => Promise<NameAnswer>;

/**
 * Looks names up in the hosts file and then at the name servers. It uses no thread: the system's own function has four for the whole process,
 * and a name whose servers say nothing holds one for 20 s.
 */
export function nameLookUp(sources: NameSources = {}): NameLookUp {
  const { servers, hostsFile = '/etc/hosts', timeoutMs = longestLookUpMs } = sources;
  const hosts = hostsOf(hostsFile);
  return async (host) => {
    const local = (await hosts()).get(host.toLowerCase()) ?? (isLocalhost(host) ? loopback : undefined);
    return local === undefined ? askServers(host, servers, timeoutMs) : { addresses: local, ttlMs: 0 };
  };
}

// Two tries of a second at the first of three servers leave the second one a chance.
const longestLookUpMs = 3_000;
const tries = { timeout: 1_000, tries: 2 };
// A family without an answer delays a delivery by no more than this once the other has answered.
const otherFamilyMs = 250;
const hostsFileFreshMs = 5_000;
const loopback = ['127.0.0.1', '::1'];

// A client for each name: canceling ends all questions of one client.
async function askServers(host: string, servers: readonly string[] | undefined, ms: number): Promise<NameAnswer> {
  const client = new DnsResolver(tries);
  if (servers !== undefined) client.setServers([...servers]);
  const timers = [setTimeout(() => client.cancel(), ms)];
  const hurry = () => void timers.push(setTimeout(() => client.cancel(), otherFamilyMs));
  const families = [client.resolve4(host, { ttl: true }), client.resolve6(host, { ttl: true })];
  for (const family of families) family.then(hurry, () => undefined);
  const settled = await Promise.allSettled(families);
  for (const timer of timers) clearTimeout(timer);
  const records = settled.flatMap((family) => (family.status === 'fulfilled' ? family.value : []));
  if (records.length === 0) throw new NameNotResolved(codeOf(settled));
  return {
    addresses: records.map(({ address }) => address),
    ttlMs: Math.min(...records.map(({ ttl }) => ttl)) * 1_000,
  };
}

// A family that does not exist says less than one whose servers did not answer.
function codeOf(settled: readonly PromiseSettledResult<unknown>[]): string {
  const codes = settled.flatMap((family) =>
    family.status === 'rejected' && typeof family.reason?.code === 'string' ? [family.reason.code as string] : [],
  );
  const code = codes.find((one) => one !== 'ENODATA') ?? codes[0] ?? 'ENODATA';
  return code === 'ECANCELLED' ? 'ETIMEOUT' : code;
}

function isLocalhost(host: string): boolean {
  return /(^|\.)localhost$/i.test(host);
}

function hostsOf(file: string): () => Promise<ReadonlyMap<string, readonly string[]>> {
  let known: Promise<ReadonlyMap<string, readonly string[]>> | undefined;
  let readAtMs = 0;
  return () => {
    const nowMs = performance.now();
    if (known === undefined || nowMs - readAtMs > hostsFileFreshMs) {
      readAtMs = nowMs;
      // A machine without the file has no such names.
      known = readFile(file, 'utf8').then(parseHosts, () => new Map());
    }
    return known;
  };
}

function parseHosts(text: string): Map<string, string[]> {
  const byName = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/, '').trim().split(/\s+/);
    if (isIP(address) === 0) continue;
    for (const name of names) {
      const key = name.toLowerCase();
      byName.set(key, [...(byName.get(key) ?? []), address]);
    }
  }
  return byName;
}

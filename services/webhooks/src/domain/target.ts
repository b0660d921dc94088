import ipaddr from 'ipaddr.js';

/** Where endpoints may point: `public` addresses over https only, or also at this machine, over http too (decisions 8 and 13). */
export type TargetReach = 'public' | 'loopback';

/** The operator's rules for webhook URLs. */
export interface TargetRules {
  readonly reach: TargetReach;
  /** The ports that a public target may have; ignored when loopback is allowed. */
  readonly ports: readonly number[];
  /** Networks that no target may be in, whatever its reach (`10.0.0.0/8`). */
  readonly denied?: readonly string[];
}

/** Whether a text is a network that `denied` may hold. */
export function isNetwork(text: string): boolean {
  return ipaddr.isValidCIDR(text);
}

/** Why a target is refused: text that may be shown to the account. */
export class TargetRefused extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'TargetRefused';
  }
}

/**
 * The URL as it will be requested, or `TargetRefused`. Decides by the text alone: a name's addresses are judged by `checkAddresses` when they
 * are known, at every attempt. The WHATWG parser has by then turned decimal, octal, hexadecimal and fullwidth spellings into plain addresses.
 */
export function parseTarget(text: string, rules: TargetRules): URL {
  if (text.length > 2048) throw new TargetRefused('Must have at most 2048 characters');
  if (!URL.canParse(text)) throw new TargetRefused('Must be an absolute URL');
  const url = new URL(text);
  if (url.protocol !== 'https:' && !(url.protocol === 'http:' && rules.reach === 'loopback')) {
    throw new TargetRefused('Must use https');
  }
  if (url.username !== '' || url.password !== '') throw new TargetRefused('Must not contain credentials');
  if (rules.reach === 'public' && !rules.ports.includes(portOf(url)))
    throw new TargetRefused('Uses a port that is not allowed');
  const host = hostOf(url);
  if (host === '') throw new TargetRefused('Must have a host');
  if (ipaddr.isValid(host)) checkAddresses([host], rules);
  else if (!isRemoteName(host) && !(rules.reach === 'loopback' && isLocalhost(host))) {
    throw new TargetRefused('the host is not public');
  }
  url.hash = '';
  return url;
}

/** Throws `TargetRefused` unless there are addresses and every one of them may be connected to. */
export function checkAddresses(addresses: readonly string[], rules: TargetRules): void {
  if (addresses.length === 0) throw new TargetRefused('the host has no address');
  for (const address of addresses) {
    if (!isAllowedAddress(address, rules)) throw new TargetRefused('the host is not public');
  }
}

/** The host without the brackets of an IPv6 literal and without the dot of a rooted name. */
export function hostOf(url: URL): string {
  const bare = url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname;
  return bare.endsWith('.') ? bare.slice(0, -1) : bare;
}

/** The port that a request to the URL goes to. */
export function portOf(url: URL): number {
  if (url.port !== '') return Number(url.port);
  return url.protocol === 'https:' ? 443 : 80;
}

// `unicast` is what is left when every special range is taken out: loopback, private, link-local, carrier-grade NAT, mapped, NAT64, 6to4,
// Teredo, benchmarking, documentation, multicast, reserved. A zone (`fe80::1%eth0`) never belongs to a public address.
function isAllowedAddress(address: string, { reach, denied = [] }: TargetRules): boolean {
  if (address.includes('%') || !ipaddr.isValid(address)) return false;
  const parsed = ipaddr.process(address);
  if ([...alwaysDenied, ...denied].some((network) => isWithin(parsed, network))) return false;
  const range = parsed.range();
  if (range === 'loopback') return reach === 'loopback';
  if (range !== 'unicast') return false;
  return parsed.kind() === 'ipv4' || isGlobalUnicast(parsed as ipaddr.IPv6);
}

// A public address that answers inside each machine of a large cloud with its metadata and keys.
const alwaysDenied = ['168.63.129.16/32'];

function isWithin(address: ipaddr.IPv4 | ipaddr.IPv6, network: string): boolean {
  const [first, bits] = ipaddr.parseCIDR(network);
  return first.kind() === address.kind() && address.match(first, bits);
}

// What the registry has handed out for the public IPv6 internet; everything else that is not yet special is unassigned. Inside it, IPv4
// addresses embedded by ISATAP would name a host behind the receiver's own tunnel.
function isGlobalUnicast(address: ipaddr.IPv6): boolean {
  const [first = 0] = address.parts;
  const isatap = (address.parts[4] === 0 || address.parts[4] === 0x0200) && address.parts[5] === 0x5efe;
  return first >= 0x2000 && first <= 0x3fff && !isatap;
}

// Names that the public DNS does not have: single labels and the special-use domains that resolvers map to this machine or its network.
const localDomains = ['localhost', 'localdomain', 'local', 'internal', 'home.arpa'];

function isRemoteName(host: string): boolean {
  return host.includes('.') && !localDomains.some((domain) => host === domain || host.endsWith(`.${domain}`));
}

function isLocalhost(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

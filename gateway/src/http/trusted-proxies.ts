import { BlockList, isIP, SocketAddress } from 'node:net';

/**
 * The proxies whose word on where a request comes from is taken. Each appends the address that it was called from to `X-Forwarded-For`, so
 * the list is read from its right end, and no further than the first address that is not one of theirs: what stands left of it was sent by
 * the client itself, which may have made it up.
 */
export class TrustedProxies {
  readonly #networks = new BlockList();
  readonly #isEmpty: boolean;

  /** From addresses and networks (`10.0.0.7`, `10.0.0.0/8`, `fd00::/8`). Throws a RangeError for what is neither, and for the whole Internet. */
  constructor(networks: readonly string[]) {
    this.#isEmpty = networks.length === 0;
    for (const network of networks) {
      const { address, family, prefix } = parseNetwork(network);
      this.#networks.addSubnet(address, prefix, family);
    }
  }

  /** The address of the client: `peer`, at the other end of the connection, unless that is a trusted proxy which says more. */
  clientOf(peer: string, forwardedFor: string | undefined): string {
    if (this.#isEmpty || forwardedFor === undefined) return peer;
    let client = peer;
    for (const hop of forwardedFor.split(',').reverse()) {
      if (!this.isTrusted(client)) break;
      const named = addressOf(hop.trim());
      // A proxy that cannot say who called it (`unknown`, RFC 7239) answers for it itself.
      if (named === undefined) break;
      client = named;
    }
    return client;
  }

  /** Whether the address is one of theirs. */
  isTrusted(address: string): boolean {
    const family = familyOf(address);
    return family !== undefined && this.#networks.check(address, family);
  }
}

function parseNetwork(text: string) {
  const [address = '', length, ...more] = text.split('/');
  const family = familyOf(address);
  const longest = family === 'ipv4' ? 32 : 128;
  const prefix = length === undefined ? longest : /^\d{1,3}$/.test(length) ? Number(length) : Number.NaN;
  if (family === undefined || more.length > 0 || !(prefix >= 1 && prefix <= longest)) {
    throw new RangeError('Not an address or a network');
  }
  return { address, family, prefix };
}

// Some proxies add the port: `203.0.113.7:50012`, `[2001:db8::7]:50012`.
const withPort = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/;

function addressOf(text: string): string | undefined {
  const [, bracketed, dotted] = withPort.exec(text) ?? [];
  const address = bracketed ?? dotted ?? text;
  const family = familyOf(address);
  // One spelling for each, so that a client is counted once.
  return family && new SocketAddress({ address, family }).address;
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const version = isIP(address);
  return version === 0 ? undefined : version === 4 ? 'ipv4' : 'ipv6';
}

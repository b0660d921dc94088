import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { checkAddresses, hostOf, type TargetRules } from '../../domain/target.ts';

/** The addresses of a name, as the system's resolver has them. */
export type Resolver = (host: string) => Promise<readonly string[]>;

/**
 * The addresses that a request to `url` may go to, each of them checked: what the name stands for now, or the literal itself, which parsing the
 * URL has checked. The request is then pinned to them, so that a name which changes its mind between the check and the connection changes
 * nothing.
 */
export function resolveTarget(
  url: URL,
  rules: TargetRules,
  resolver: Resolver,
): readonly string[] | Promise<readonly string[]> {
  const host = hostOf(url);
  if (isIP(host) !== 0) return [host];
  return resolver(host).then((addresses) => {
    checkAddresses(addresses, rules);
    return addresses;
  });
}

/** The system's resolver, asked once per name and second: a burst to one host is one question. */
export function systemResolver(now: () => number = Date.now): Resolver {
  const answers = new Map<string, { at: number; addresses: Promise<readonly string[]> }>();
  return (host) => {
    const known = answers.get(host);
    if (known !== undefined && now() - known.at < 1_000) return known.addresses;
    if (answers.size >= mostNames) answers.clear();
    const addresses = lookup(host, { all: true, order: 'verbatim' }).then((found) =>
      found.map(({ address }) => address),
    );
    answers.set(host, { at: now(), addresses });
    return addresses;
  };
}

const mostNames = 1_000;

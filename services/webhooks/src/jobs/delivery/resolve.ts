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

/**
 * The system's resolver, asked once for a name until a second after its answer: a burst to one host is one question, and one whose name servers
 * say nothing has one of the few threads that look names up, not all of them.
 */
export function systemResolver({ now = Date.now, look = lookUp }: SystemResolverOptions = {}): Resolver {
  const answers = new Map<string, { until: number; readonly addresses: Promise<readonly string[]> }>();
  return (host) => {
    const known = answers.get(host);
    if (known !== undefined && now() < known.until) return known.addresses;
    if (answers.size >= mostNames) answers.clear();
    const asked = { until: Number.POSITIVE_INFINITY, addresses: look(host) };
    answers.set(host, asked);
    const settled = () => {
      asked.until = now() + keptMs;
    };
    asked.addresses.then(settled, settled);
    return asked.addresses;
  };
}

/** What tests put in the place of time and of the system. */
export interface SystemResolverOptions {
  readonly now?: () => number;
  readonly look?: Resolver;
}

const keptMs = 1_000;
const mostNames = 1_000;

const lookUp: Resolver = async (host) =>
  (await lookup(host, { all: true, order: 'verbatim' })).map(({ address }) => address);

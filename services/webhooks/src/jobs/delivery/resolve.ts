import { isIP } from 'node:net';
import { checkAddresses, hostOf, type TargetRules } from '../../domain/target.ts';

/** For whose endpoint a name is looked up: look-ups are counted by account and endpoint. */
export interface Asker {
  readonly accountId: string;
  readonly webhookId: string;
}

/** The addresses of a name. */
export type Resolver = (host: string, asker: Asker) => Promise<readonly string[]>;

/**
 * The addresses that a request to `url` may go to, each of them checked: what the name stands for now, or the literal itself, which parsing the
 * URL has checked. The request is then pinned to them, so that a name which changes its mind between the check and the connection changes
 * nothing.
 */
export function resolveTarget(
  url: URL,
  rules: TargetRules,
  resolver: Resolver,
  asker: Asker,
): readonly string[] | Promise<readonly string[]> {
  const host = hostOf(url);
  if (isIP(host) !== 0) return [host];
  return resolver(host, asker).then((addresses) => {
    checkAddresses(addresses, rules);
    return addresses;
  });
}

import type { Database, Scope } from '@eligo/postgres';
import { BoundedCache } from '@eligo/rpc';
import { ownAccount } from '@eligo/values';
import { findAccountAtSandbox } from '../accounts/find-account-at-sandbox.ts';
import type { EventSource } from './event-source.ts';

/** The processors whose events are taken by configuration: the secrets of each, and the accounts at Stripe. */
export interface EventSettings {
  readonly sandboxSecrets: readonly string[];
  readonly stripeSecrets: readonly string[];
  readonly stripeAccounts: ReadonlyMap<string, string>;
}

/**
 * A processor without a secret delivers no events. An account of Stripe's that is configured no longer is asked for: an earlier payment may be there, and its
 * account knows what to do about it.
 */
export function eventSources(
  { sandboxSecrets, stripeSecrets, stripeAccounts }: EventSettings,
  database: Database,
  formerAccounts: (processorAccount: string) => Promise<readonly Scope[]>,
): EventSource[] {
  const atSandbox = rememberedAccounts((account) => findAccountAtSandbox(database, account));
  const byStripeAccount = new Map([...stripeAccounts].map(([id, account]) => [account, id]));
  const sources: EventSource[] = [
    {
      name: 'sandbox',
      secrets: sandboxSecrets,
      async accountsOf({ processorAccount }) {
        if (processorAccount === undefined) return [];
        const found = await atSandbox(processorAccount);
        return found === undefined ? [] : [found];
      },
    },
    {
      name: 'stripe',
      secrets: stripeSecrets,
      // Stripe is the processor of live mode alone.
      async accountsOf({ processorAccount = ownAccount, isLive }) {
        if (!isLive) return [];
        const accountId = byStripeAccount.get(processorAccount);
        return accountId === undefined ? formerAccounts(processorAccount) : [{ accountId, testMode: false }];
      },
    },
  ];
  return sources.filter(({ secrets }) => secrets.length > 0);
}

/** Some 2 MB. */
const mostRemembered = 10_000;

// The name of an account at the sandbox is made of its identifier and mode, so what is found stays true. What is not found is asked for again: the account may be made
// a moment later.
function rememberedAccounts(
  find: (processorAccount: string) => Promise<Scope | undefined>,
): (processorAccount: string) => Promise<Scope | undefined> {
  const remembered = new BoundedCache<Scope>(mostRemembered);
  return async (processorAccount) => {
    const known = remembered.get(processorAccount, 0);
    if (known !== undefined) return known;
    const found = await find(processorAccount);
    if (found !== undefined) remembered.set(processorAccount, found, Number.POSITIVE_INFINITY);
    return found;
  };
}

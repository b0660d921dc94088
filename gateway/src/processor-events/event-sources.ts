import type { Database, Scope } from '@eligo/postgres';
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
  const byStripeAccount = new Map([...stripeAccounts].map(([id, account]) => [account, id]));
  const sources: EventSource[] = [
    {
      name: 'sandbox',
      secrets: sandboxSecrets,
      async accountsOf({ processorAccount }) {
        if (processorAccount === undefined) return [];
        const found = await findAccountAtSandbox(database, processorAccount);
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

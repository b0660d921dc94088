import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Scope } from '@eligo/postgres';
import { openProcessors } from '@eligo/processor';
import { readBalance } from '../src/actions/read-balance.ts';
import { defaultBudgets } from '../src/budgets.ts';
import type { Fixture } from './fixture.ts';

/** A page of movements as Stripe lists them. */
export interface ListedPage {
  readonly data: readonly object[];
  readonly hasMore: boolean;
  /** When Stripe says that it responded; now unless given. */
  readonly at?: Date;
}

/** A live account at a stand-in for Stripe that lists what `list` returns for a query, and how its balance is read once. */
export async function openListing(on: Fixture, scope: Scope, list: (query: URLSearchParams) => ListedPage) {
  const account = `acct_${scope.accountId.replaceAll('_', '')}`;
  const server = createServer((request, response) => {
    const { data, hasMore, at } = list(new URL(request.url ?? '/', 'http://localhost').searchParams);
    response.setHeader('content-type', 'application/json');
    if (at !== undefined) response.setHeader('date', at.toUTCString());
    response.end(JSON.stringify({ object: 'list', data, has_more: hasMore, url: '/v1/balance_transactions' }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const processors = openProcessors(
    { STRIPE_SECRET_KEY: 'sk_live_listing', STRIPE_ACCOUNTS: JSON.stringify({ [scope.accountId]: account }) },
    { stripeUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
  );
  return {
    /** Reads the feed from a time on, in windows of so many seconds. */
    async read(from: Date, windowSeconds = 86_400): Promise<void> {
      await on.admin(
        `insert into refunds.ledger_feeds (account_id, test_mode, processor, processor_account, begins_at, read_from, window_seconds, next_read_at)
         values ($1, false, 'stripe', $2, $3, $3, $4, now() - interval '1 second')`,
        [scope.accountId, account, from, windowSeconds],
      );
      const logger = { warn: () => undefined } as never;
      const feed = { scope, processorAccount: { processor: 'stripe' as const, account } };
      await readBalance({ database: on.service.database, budgets: defaultBudgets, processors, logger }, feed);
    },
    close(): void {
      processors.close();
      server.closeAllConnections();
      server.close();
    },
  };
}

/** A charge on the balance as Stripe lists it. */
export function movement(id: string, currency: string, amount: number, at: Date) {
  const seconds = Math.floor(at.getTime() / 1_000);
  return {
    ...{ id, object: 'balance_transaction', amount, currency, net: amount, fee: 0, fee_details: [] },
    ...{ created: seconds, available_on: seconds, description: null, exchange_rate: null },
    ...{ reporting_category: 'charge', source: `ch_${id}`, status: 'available', type: 'charge' },
  };
}

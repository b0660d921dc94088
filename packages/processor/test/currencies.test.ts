import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { openProcessors } from '../src/index.ts';

const shape = (id: string, currency: string) => ({
  ...{ id, object: 'balance_transaction', amount: 5_000, currency, net: 4_800, fee: 200, fee_details: [] },
  ...{ created: 1_800_000_000, available_on: 1_800_000_000, description: null, exchange_rate: null },
  ...{ reporting_category: 'charge', source: 'ch_1', status: 'available', type: 'charge' },
});

async function openPort() {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(request.url ?? '');
    const data = [shape('txn_usd', 'usd'), shape('txn_cad', 'cad')];
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ object: 'list', data, has_more: true, url: '/v1/balance_transactions' }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const processors = openProcessors(
    { STRIPE_SECRET_KEY: 'sk_live_currencies', STRIPE_ACCOUNTS: '{"facct_test":"acct_connected"}' },
    { stripeUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
  );
  onTestFinished(() => {
    processors.close();
    server.closeAllConnections();
    server.close();
  });
  return { asked, port: processors.of({ accountId: 'facct_test', testMode: false }) };
}

test.each([
  ['movements on the balance', 'listBalanceTransactions'],
  ['movements of a payout', 'listPayoutTransactions'],
] as const)(
  '%s are asked for in US dollars; others are left out, and the next page begins behind them [D14.152]',
  async (_, list) => {
    const { asked, port } = await openPort();
    const page = await port[list]({ payoutId: 'po_1', from: new Date(0) });
    expect(page).toMatchObject({
      ...{ kind: 'page', hasMore: true, lastId: 'txn_cad' },
      transactions: [{ balanceTransactionId: 'txn_usd', currency: 'usd', netCents: 4_800 }],
    });
    expect(page).toHaveProperty('transactions.length', 1);
    expect(asked).toEqual([expect.stringContaining('currency=usd')]);
  },
);

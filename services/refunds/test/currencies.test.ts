import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Scope } from '@eligo/postgres';
import { openProcessors } from '@eligo/processor';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readBalance } from '../src/actions/read-balance.ts';
import { defaultBudgets } from '../src/budgets.ts';
import { type Fixture, openFixture } from './fixture.ts';
import { balances } from './ledger-fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());

const account = 'acct_twocurrencies';
const now = Math.floor(Date.now() / 1_000);

/** A movement as Stripe lists it, `age` seconds old. */
function movement(id: string, currency: string, amount: number, age: number) {
  return {
    ...{ id, object: 'balance_transaction', amount, currency, net: amount, fee: 0, fee_details: [] },
    ...{ created: now - age, available_on: now - age, description: null, exchange_rate: null },
    ...{ reporting_category: 'charge', source: `ch_${id}`, status: 'available', type: 'charge' },
  };
}

// Newest first. The first page is of the other currency alone.
const listed = [
  ...Array.from({ length: 101 }, (_, n) => movement(`txn_cad${n}`, 'cad', 5_000, 600 + n)),
  movement('txn_usd', 'usd', 700, 900),
];

/** Lists all of them, whatever currency it is asked for. */
async function startProcessor() {
  const asked: URLSearchParams[] = [];
  const server = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '/', 'http://localhost');
    asked.push(searchParams);
    const after = searchParams.get('starting_after');
    const at = after === null ? 0 : listed.findIndex(({ id }) => id === after) + 1;
    const data = listed.slice(at, at + Number(searchParams.get('limit')));
    response.setHeader('content-type', 'application/json');
    const hasMore = at + data.length < listed.length;
    response.end(JSON.stringify({ object: 'list', data, has_more: hasMore, url: '/v1/balance_transactions' }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { asked, server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

it('posts no movement of a balance in another currency, and reads on behind a page of them [D14.152]', async () => {
  const scope: Scope = { accountId: 'facct_two_currencies', testMode: false };
  const { asked, server, url } = await startProcessor();
  const processors = openProcessors(
    { STRIPE_SECRET_KEY: 'sk_live_currencies', STRIPE_ACCOUNTS: JSON.stringify({ [scope.accountId]: account }) },
    { stripeUrl: url },
  );
  try {
    await on.admin(
      `insert into refunds.ledger_feeds (account_id, test_mode, processor, processor_account, begins_at, read_from, next_read_at)
       values ($1, false, 'stripe', $2, now() - interval '30 minutes', now() - interval '30 minutes', now() - interval '1 second')`,
      [scope.accountId, account],
    );
    const logger = { warn: () => undefined } as never;
    const feed = { scope, processorAccount: { processor: 'stripe' as const, account } };
    await readBalance({ database: on.service.database, budgets: defaultBudgets, processors, logger }, feed);
    expect(asked.map((query) => [query.get('currency'), query.get('starting_after')])).toEqual([
      ['usd', null],
      ['usd', 'txn_cad99'],
    ]);
    const stored = await on.admin(`select id from refunds.processor_transactions where account_id = $1`, [
      scope.accountId,
    ]);
    expect(stored).toEqual([{ id: 'txn_usd' }]);
    // A movement without a record of ours goes to suspense once it has waited for its record.
    await on.admin(
      `update refunds.processor_transactions set match_at = now() - interval '1 second', read_at = now() - interval '2 hours' where account_id = $1`,
      [scope.accountId],
    );
    while ((await on.service.jobs.runOnce('post-movements')) === true);
    expect(await balances(on, scope)).toEqual({ processor_balance: 700, suspense: -700 });
    const day = new Date((now - 900) * 1_000).toISOString().slice(0, 10);
    const closing: bigint[] = [];
    for await (const { item } of on.refunds.reportReconciliation({ from: day, to: day }, on.as(scope)))
      if (item.case === 'day') closing.push(item.value.closingCents);
    expect(closing).toEqual([700n]);
  } finally {
    processors.close();
    server.closeAllConnections();
    server.close();
  }
});

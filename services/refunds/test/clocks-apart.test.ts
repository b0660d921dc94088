import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Scope } from '@eligo/postgres';
import { openProcessors } from '@eligo/processor';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { readBalance } from '../src/actions/read-balance.ts';
import { defaultBudgets } from '../src/budgets.ts';
import { type Fixture, openFixture, someScope } from './fixture.ts';
import { journalOf, keepBooks, tell } from './ledger-fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());

it.each([-3, 3])(
  'reads what moved while its clock was %i days from the processor’s, and after that [D14.150]',
  async (days) => {
    const scope = someScope();
    const sell = async (cents: number) => tell(scope, on, journalOf(scope, on, await on.paid(scope, { hsa: cents })));
    await sell(3_000);
    await daysAway(days, () => keepBooks(on));
    await sell(2_000);
    await keepBooks(on);
    expect(
      await on.admin(
        `select amount_cents::int as amount, settled_cents::int as settled from refunds.balance_transactions
        where account_id = $1 order by created_at, id`,
        [scope.accountId],
      ),
    ).toEqual([3_000, 2_000].map((cents) => ({ amount: cents, settled: cents })));
  },
);

it.each([-3, 3])('misses no dispute while its clock was %i days from the processor’s [D14.161]', async (days) => {
  const scope = someScope();
  const session = await on.paid(scope, { hsa: 2_000 });
  on.checkout.accountsWithPayments.push(scope);
  while ((await on.service.jobs.runOnce('find-event-lists')) === true);
  const read = async () => {
    await on.admin(`update refunds.event_lists set next_read_at = now() - interval '1 second', lease_until = now()`);
    while ((await on.service.jobs.runOnce('read-event-lists')) === true);
    await on.handleEvents();
  };
  await daysAway(days, read);
  await on.port(scope).testBank.disputeCharge({ chargeId: session.cards[0]?.processorChargeId ?? '' });
  await read();
  const { disputes } = await on.refunds.listDisputes({ page: { limit: 10n } }, on.as(scope));
  expect(disputes).toHaveLength(1);
});

it('reads a window again that ended while its pages were read [D14.150]', async () => {
  const scope: Scope = { accountId: 'facct_slow_pages', testMode: false };
  const account = 'acct_slowpages';
  const from = new Date(Math.floor(Date.now() / 1_000) * 1_000 - 600_000);
  const at = (minutes: number) => new Date(from.getTime() + minutes * 60_000);
  // The window has six minutes. Its first page is of its fifth, and its second one of a time after its end.
  const server = createServer((request, response) => {
    const isFirst = !new URL(request.url ?? '/', 'http://localhost').searchParams.has('starting_after');
    const data = [movementAt(`txn_${isFirst}`, at(1))];
    response.setHeader('content-type', 'application/json');
    response.setHeader('date', at(isFirst ? 5 : 8).toUTCString());
    response.end(JSON.stringify({ object: 'list', data, has_more: isFirst, url: '/v1/balance_transactions' }));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const processors = openProcessors(
    { STRIPE_SECRET_KEY: 'sk_live_pages', STRIPE_ACCOUNTS: JSON.stringify({ [scope.accountId]: account }) },
    { stripeUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` },
  );
  try {
    await on.admin(
      `insert into refunds.ledger_feeds (account_id, test_mode, processor, processor_account, begins_at, read_from, window_seconds, next_read_at)
       values ($1, false, 'stripe', $2, $3, $3, 360, now() - interval '1 second')`,
      [scope.accountId, account, from],
    );
    const logger = { warn: () => undefined } as never;
    const feed = { scope, processorAccount: { processor: 'stripe' as const, account } };
    await readBalance({ database: on.service.database, budgets: defaultBudgets, processors, logger }, feed);
    const feeds = await on.admin('select read_from from refunds.ledger_feeds where account_id = $1', [scope.accountId]);
    expect(feeds).toEqual([{ read_from: from }]);
  } finally {
    processors.close();
    server.closeAllConnections();
    server.close();
  }
});

async function daysAway(days: number, work: () => Promise<void>): Promise<void> {
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + days * 86_400_000 });
  try {
    await work();
  } finally {
    vi.useRealTimers();
  }
}

function movementAt(id: string, at: Date) {
  const seconds = at.getTime() / 1_000;
  return {
    ...{ id, object: 'balance_transaction', amount: 700, currency: 'usd', net: 700, fee: 0, fee_details: [] },
    ...{ created: seconds, available_on: seconds, description: null, exchange_rate: null },
    ...{ reporting_category: 'charge', source: `ch_${id}`, status: 'available', type: 'charge' },
  };
}

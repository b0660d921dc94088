import type { Scope } from '@eligo/postgres';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { type Fixture, openFixture, someScope } from './fixture.ts';
import { journalOf, keepBooks, tell } from './ledger-fixture.ts';
import { movement, openListing } from './listing-processor.ts';

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
  const from = new Date(Math.floor(Date.now() / 1_000) * 1_000 - 600_000);
  const at = (minutes: number) => new Date(from.getTime() + minutes * 60_000);
  // The window ends after six minutes. Stripe sends its first page in the fifth, and its second one in the eighth.
  const processor = await openListing(on, scope, (query) => {
    const isFirst = !query.has('starting_after');
    return { data: [movement(`txn_${isFirst}`, 'usd', 700, at(1))], hasMore: isFirst, at: at(isFirst ? 5 : 8) };
  });
  try {
    await processor.read(from, 360);
    const feeds = await on.admin('select read_from from refunds.ledger_feeds where account_id = $1', [scope.accountId]);
    expect(feeds).toEqual([{ read_from: from }]);
  } finally {
    processor.close();
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

import { afterAll, beforeAll, expect, it, vi } from 'vitest';
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
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + days * 86_400_000 });
    try {
      await keepBooks(on);
    } finally {
      vi.useRealTimers();
    }
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

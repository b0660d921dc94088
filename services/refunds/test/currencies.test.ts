import type { Scope } from '@eligo/postgres';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Fixture, openFixture } from './fixture.ts';
import { balances } from './ledger-fixture.ts';
import { movement, openListing } from './listing-processor.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());

const ago = (seconds: number) => new Date(Date.now() - seconds * 1_000);

// Newest first. The first page is of the other currency alone.
const listed = [
  ...Array.from({ length: 101 }, (_, n) => movement(`txn_cad${n}`, 'cad', 5_000, ago(600 + n))),
  movement('txn_usd', 'usd', 700, ago(900)),
];

it('posts no movement of a balance in another currency, and reads on behind a page of them [D14.152]', async () => {
  const scope: Scope = { accountId: 'facct_two_currencies', testMode: false };
  const asked: URLSearchParams[] = [];
  // All of them, whatever currency it is asked for.
  const processor = await openListing(on, scope, (query) => {
    asked.push(query);
    const after = query.get('starting_after');
    const at = after === null ? 0 : listed.findIndex(({ id }) => id === after) + 1;
    const data = listed.slice(at, at + Number(query.get('limit')));
    return { data, hasMore: at + data.length < listed.length };
  });
  try {
    await processor.read(ago(1_800));
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
    const day = ago(900).toISOString().slice(0, 10);
    const closing: bigint[] = [];
    for await (const { item } of on.refunds.reportReconciliation({ from: day, to: day }, on.as(scope)))
      if (item.case === 'day') closing.push(item.value.closingCents);
    expect(closing).toEqual([700n]);
  } finally {
    processor.close();
  }
});

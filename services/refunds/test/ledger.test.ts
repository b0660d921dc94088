import { type Scope, scoped, withTx } from '@eligo/postgres';
import { waitUntil } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ledgerLagSeconds, wakeFeeds } from '../src/store/ledger-feeds.ts';
import { books, type Fixture, openFixture, someScope, untilStatus } from './fixture.ts';
import { atProcessor, balances, journalOf, keepBooks, movementArrives, tell } from './ledger-fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());

async function paid(payments: Parameters<Fixture['paid']>[1]) {
  const scope = someScope();
  const session = await on.paid(scope, payments);
  const entries = journalOf(scope, on, session);
  await tell(scope, on, entries);
  return { scope, session, entries };
}

const rowsOf = (scope: { accountId: string }) =>
  on.admin<{ type: string; amount: number; fee: number; net: number; settled: boolean; transaction: string | null }>(
    `select type, amount_cents::int as amount, fee_cents::int as fee, net_cents::int as net, settled_cents = amount_cents as settled,
            processor_transaction_id as transaction
       from refunds.balance_transactions where account_id = $1 order by created_at, id`,
    [scope.accountId],
  );

const lockFeed = scoped(
  't.lock_feed',
  'select 1 from refunds.ledger_feeds where account_id = $1 and test_mode = $2 and processor_account = $3 for no key update',
);

/** Locks the feed of an account at the processor; answers how to release it. */
async function hold(scope: Scope, account: string): Promise<() => Promise<void>> {
  const held = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const ended = withTx(on.service.database, scope, async (tx) => {
    await tx.row(lockFeed, scope, [account]);
    held.resolve();
    await released.promise;
  });
  await held.promise;
  return () => {
    released.resolve();
    return ended;
  };
}

const untilWaiting = (count: number) =>
  waitUntil(
    async () =>
      (
        await on.admin(
          `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database() and query like '%ledger_feeds%'`,
        )
      ).length === count,
    { what: `${count} to wait for a feed` },
  );

describe('the ledger', () => {
  it('wakes the reads of several accounts in one order, whoever names them first [D14.150]', async () => {
    const scope = someScope();
    const feedOf = (account: string) => ({
      ...{ processorAccount: { processor: 'sandbox', account } as const, since: new Date() },
    });
    const wake = (...accounts: string[]) =>
      withTx(on.service.database, scope, (tx) => wakeFeeds(tx, scope, accounts.map(feedOf)));
    await wake('acct_a', 'acct_b');
    await on.admin('update refunds.ledger_feeds set quiet_reads = 1 where account_id = $1', [scope.accountId]);
    const release = await hold(scope, 'acct_b');
    const woken = wake('acct_b', 'acct_a');
    await untilWaiting(1);
    const others = wake('acct_a', 'acct_b');
    await untilWaiting(2);
    await release();
    await Promise.all([woken, others]);
    const quiet = 'select distinct quiet_reads from refunds.ledger_feeds where account_id = $1';
    expect(await on.admin(quiet, [scope.accountId])).toEqual([{ quiet_reads: 0 }]);
  });

  it('ties out with the balance at the processor: captures, refunds, a return and a dispute, with their fees [D14.150] [D14.151]', async () => {
    const { scope, session } = await paid({ hsa: 4_000, credit: 1_000, refund_fails: 700 });
    expect(await balances(on, scope)).toEqual({ receivable: 5_700, charges: -5_700 });
    const refund = await on.refunds.refundSession(
      { sessionId: session.id, instruction: { amountCents: 5_700n } },
      on.as(scope),
    );
    await untilStatus(on, scope, refund.refund?.refundId ?? '', 'succeeded');
    await on.sweep();
    await keepBooks(on);
    const processor = await atProcessor(on, scope);
    expect(await balances(on, scope)).toEqual({
      ...{ charges: -5_700, refunds: 5_000, fees: processor.fee, processor_balance: processor.net },
    });
    expect(processor).toMatchObject({ amount: 700, fee: 146 + 59 + 50, ids: { length: 7 } });
    const shown = await rowsOf(scope);
    expect(shown.every(({ settled, transaction }) => settled && processor.ids.includes(transaction ?? ''))).toBe(true);
    expect(shown.map(({ type, amount, fee, net }) => [type, amount, fee, net])).toEqual(
      expect.arrayContaining([
        ['charge', 4_000, 146, 3_854],
        ['refund', -4_000, 0, -4_000],
        ['refund', -1_000, 0, -1_000],
        ['refund', -700, 0, -700],
        ['refund_failure', 700, 0, 700],
      ]),
    );

    const other = await paid({ hsa: 2_000 });
    const chargeId = other.session.cards[0]?.chargeId ?? '';
    await on.refunds.createTestDispute({ chargeId, amountCents: 600n }, on.as(other.scope));
    await keepBooks(on);
    const disputed = await atProcessor(on, other.scope);
    expect(await balances(on, other.scope)).toEqual({
      ...{ charges: -2_000, disputes: 600, fees: disputed.fee, processor_balance: disputed.net },
    });
    expect(disputed.fee).toBe(88 + 1_500);
  });

  it('posts an entry and a movement once, however often and from how many processes they come [D14.150]', async () => {
    const { scope, session, entries } = await paid({ hsa: 1_500 });
    await Promise.all([tell(scope, on, entries), tell(scope, on, entries)]);
    const refunded = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
    await untilStatus(on, scope, refunded.refund?.refundId ?? '', 'succeeded');
    await keepBooks(on);
    const once = await balances(on, scope);
    // As after a crash before the note, and from another process.
    await on.admin(`update refunds.ledger_entries set post_at = now() - interval '1 second' where account_id = $1`, [
      scope.accountId,
    ]);
    await on.admin(
      `update refunds.processor_transactions set match_at = now() - interval '1 second' where account_id = $1`,
      [scope.accountId],
    );
    await on.admin(`update refunds.ledger_feeds set read_from = begins_at where account_id = $1`, [scope.accountId]);
    await on.restart();
    await tell(scope, on, entries);
    await Promise.all([keepBooks(on), keepBooks(on)]);
    expect(await balances(on, scope)).toEqual(once);
    expect(once).toMatchObject({ charges: -1_500, refunds: 1_500 });
    expect(once.receivable).toBeUndefined();
  });

  it('waits with a movement whose record is late, and posts it against suspense after an hour [D14.152]', async () => {
    const scope = someScope();
    const session = await on.paid(scope, { hsa: 900 });
    const entries = journalOf(scope, on, session);
    // Money of ours at the account has it read, before this charge's own entry is told.
    await tell(scope, on, journalOf(scope, on, await on.paid(scope, { credit: 100 })));
    await keepBooks(on);
    expect(await balances(on, scope)).toMatchObject({ charges: -100, processor_balance: 67 });
    await tell(scope, on, entries);
    await on.admin(
      `update refunds.processor_transactions set match_at = now() - interval '1 second' where match_at is not null`,
    );
    await keepBooks(on);
    expect(await balances(on, scope)).toEqual({ charges: -1_000, processor_balance: 911, fees: 89 });

    await on.paid(scope, { hsa: 2_000 });
    const fee = await movementArrives(on, scope, { type: 'stripe_fee', category: 'fee', amountCents: -25 });
    await movementArrives(on, scope, { type: 'something_new', category: 'other', amountCents: 5 });
    await movementArrives(on, scope, { type: 'payout', category: 'payout', amountCents: -500, sourceId: 'po_1' });
    await keepBooks(on);
    await on.admin(
      `update refunds.processor_transactions set read_at = now() - interval '2 hours', match_at = now() - interval '1 second' where match_at is not null`,
    );
    await keepBooks(on);
    expect(await balances(on, scope)).toEqual({
      ...{ charges: -1_000, suspense: -2_000 + 25 - 5, payouts: 500, fees: 177 },
      processor_balance: 911 + 1_912 - 25 + 5 - 500,
    });
    expect(await rowsOf(scope)).toContainEqual(
      expect.objectContaining({ type: 'stripe_fee', amount: -25, transaction: fee, settled: true }),
    );
  });

  it('carries over the entries of earlier releases, page by page and through a crash; their sums stay [D14.153]', async () => {
    const scope = someScope();
    const { processor, account } = on.port(scope).account;
    const old = (rest: string) => `insert into refunds.${rest}`;
    // In one transaction: a refund is the sum of its cards.
    await on.admin(`do $$ begin
      ${old(`refunds (account_id, test_mode, id, status, subject_session_id, instruction, amount_cents, payment_intent_id, created_at, balance_transaction_id)
        select '${scope.accountId}', true, 'fre_' || n, 'succeeded', 'fcs_1', '', 10, 'fpi_1', now(), 'fbtxn_' || n from generate_series(1, 450) n;`)}
      ${old(`refund_items (account_id, test_mode, refund_id, payment_intent_id, position, payment_method_id, charge_id, processor_intent_id, amount_cents,
          status, processor, processor_account)
        select '${scope.accountId}', true, 'fre_' || n, 'fpi_1', 0, 'fpm_1', 'fch_1', 'pi_1', 10, 'succeeded', '${processor}', '${account}'
          from generate_series(1, 450) n;`)}
      end $$`);
    const columns =
      'account_id, test_mode, transaction_id, kind, refund_id, payment_intent_id, created_at, ledger_account, amount_cents, credit_account';
    // One row with both sides, and for every third the two rows of the first release.
    await on.admin(
      old(`ledger_entries (${columns})
       select $1, true, 'fltx_' || kind || n, kind, 'fre_' || n, 'fpi_1', now(), debit, 10, case when n % 3 <> 0 then credit end
         from generate_series(1, 450) n, (values ('refund_pending', 'refunds', 'refunds_payable'),
           ('refund_succeeded', 'refunds_payable', 'processor_balance')) k (kind, debit, credit)
       union all
       select $1, true, 'fltx_' || kind || n, kind, 'fre_' || n, 'fpi_1', now(), credit, -10, null
         from generate_series(3, 450, 3) n, (values ('refund_pending', 'refunds_payable'), ('refund_succeeded', 'processor_balance')) k (kind, credit)`),
      [scope.accountId],
    );
    await on.admin(`update refunds.ledger_entries set post_at = '2020-01-01' where account_id = $1`, [scope.accountId]);
    const before = await books(on, scope);
    expect(before).toEqual({ refunds: 4_500, refunds_payable: 0, processor_balance: -4_500 });
    expect(await ledgerLagSeconds(on.service.database)).toBeLessThan(3_600);

    await on.service.jobs.runOnce('post-entries');
    const part = (await balances(on, scope)).refunds ?? 0;
    expect(part).toBeGreaterThan(0);
    expect(part).toBeLessThan(4_500);
    await on.restart();
    while ((await on.service.jobs.runOnce('post-entries')) === true);
    // What an early release called the processor's balance is receivable until the processor's movement shows it.
    expect(await balances(on, scope)).toEqual({ refunds: 4_500, receivable: -4_500 });
    expect(
      await on.admin('select 1 from refunds.ledger_entries where account_id = $1 and post_at is not null', [
        scope.accountId,
      ]),
    ).toEqual([]);
  });

  it('posts for accounts in turns, so that a backlog of one keeps no other waiting, and neither does a failure [D14.164]', async () => {
    const [busy, quiet] = [someScope(), someScope()];
    const { account } = on.port(busy).account;
    await keepBooks(on);
    const listed = (scope: Scope, count: number, at: string) =>
      on.admin(
        `insert into refunds.processor_transactions (account_id, test_mode, processor, processor_account, id, type, reporting_category, amount_cents,
           fee_cents, application_fee_cents, net_cents, available_on, created_at, match_at)
         select $1, true, 'sandbox', $2, 'txn_' || $1 || n, 'stripe_fee', 'fee', -1, 0, 0, -1, now(), now(), $3 from generate_series(1, $4::int) n`,
        [scope.accountId, account, at, count],
      );
    const posted = async (scope: Scope) => -((await balances(on, scope)).processor_balance ?? 0);
    await listed(busy, 700, '2020-01-01');
    await listed(quiet, 1, '2021-01-01');
    expect(await on.service.jobs.runOnce('post-movements')).toBe(true);
    expect([await posted(busy), await posted(quiet)]).toEqual([100, 1]);
    // One that cannot be posted is due forever.
    await on.admin(
      `create function refunds.fails() returns trigger language plpgsql as $$ begin raise exception 'no'; end $$;
       create trigger fails before insert on refunds.ledger_transactions for each row when (new.account_id = '${busy.accountId}') execute function refunds.fails()`,
    );
    try {
      const later = someScope();
      await listed(later, 1, '2021-01-01');
      // The others have had their turns; the failed one has its next one after a pause.
      expect(await on.service.jobs.runOnce('post-movements')).toEqual({ dueInMs: 10_000 });
      expect([await posted(busy), await posted(later)]).toEqual([100, 1]);
    } finally {
      await on.admin('drop trigger fails on refunds.ledger_transactions');
    }
    await keepBooks(on);
    expect(await posted(busy)).toBe(700);
  });

  it('shows for how long it lags', async () => {
    const { scope } = await paid({ hsa: 800 });
    await movementArrives(on, scope, { type: 'payout', category: 'payout', amountCents: -1 });
    await on.admin(
      `update refunds.processor_transactions set match_at = now() - interval '90 seconds' where account_id = $1`,
      [scope.accountId],
    );
    expect(await ledgerLagSeconds(on.service.database)).toBeGreaterThan(89);
    await keepBooks(on);
    expect(await ledgerLagSeconds(on.service.database)).toBeLessThan(1);
  });
});

describe('a balance transaction', () => {
  it('has fee and net once the processor has moved it, and is found by type, source and session [D14.154]', async () => {
    const { scope, session, entries } = await paid({ hsa: 3_000, credit: 1_000 });
    const list = (filter = {}) => on.refunds.listBalanceTransactions({ page: { limit: 10n }, ...filter }, on.as(scope));
    const id = entries[0]?.balanceTransactionId ?? '';
    const before = await on.refunds.getBalanceTransaction({ id }, on.as(scope));
    expect(before).toMatchObject({ type: 'charge', amountCents: 3_000n, status: 'pending' });
    expect([before.feeCents, before.netCents, before.availableOnMs]).toEqual([undefined, undefined, undefined]);
    await keepBooks(on);
    const after = await on.refunds.getBalanceTransaction({ id }, on.as(scope));
    expect(after).toMatchObject({ feeCents: 117n, netCents: 2_883n, sourceId: session.cards[0]?.chargeId });
    // The sandbox settles after two days.
    expect(after.status).toBe('pending');
    expect(Number(after.availableOnMs)).toBeGreaterThan(Date.now() + 86_400_000);
    await on.admin(`update refunds.balance_transactions set available_on = now() - interval '1 second' where id = $1`, [
      id,
    ]);
    expect((await on.refunds.getBalanceTransaction({ id }, on.as(scope))).status).toBe('available');

    const { refund } = await on.refunds.refundSession(
      { sessionId: session.id, instruction: { amountCents: 3_500n } },
      on.as(scope),
    );
    await untilStatus(on, scope, refund?.refundId ?? '', 'succeeded');
    const idsOf = async (filter = {}) =>
      (await list(filter)).balanceTransactions.map((one) => one.balanceTransactionId);
    expect(await idsOf()).toHaveLength(4);
    const parts = await idsOf({ sourceId: refund?.refundId });
    expect(await idsOf({ type: 'refund' })).toEqual(parts);
    expect(await idsOf({ checkoutSessionId: session.id, type: 'charge' })).toContain(id);
    // One refund of two cards is two movements at the processor: it names that of its first card.
    expect(parts).toHaveLength(2);
    expect(parts).toContain(refund?.balanceTransactionId);
    const one = { ids: [refund?.balanceTransactionId ?? '', 'fbtxn_none'] };
    const [pending] = (await on.refunds.batchGetBalanceTransactions(one, on.as(scope))).balanceTransactions;
    expect(pending?.feeCents).toBeUndefined();
    await keepBooks(on);
    const [settled] = (await on.refunds.batchGetBalanceTransactions(one, on.as(scope))).balanceTransactions;
    const [first] = refund?.items ?? [];
    const amountCents = -(first?.amountRefundedCents ?? 0n);
    expect(settled).toMatchObject({ amountCents, feeCents: 0n, netCents: amountCents });
    const both = (await list({ sourceId: refund?.refundId })).balanceTransactions;
    expect(both.reduce((sum, { netCents = 0n }) => sum + netCents, 0n)).toBe(-3_500n);
    const other = on.refunds.getBalanceTransaction({ id }, on.as(someScope()));
    await expect(other).rejects.toMatchObject({ code: 'balance_transaction_not_found' });
  });

  it('of a refund of an earlier release is one for all its cards, and is settled by all their movements [D14.154]', async () => {
    const { scope, session } = await paid({ hsa: 3_000, credit: 1_000 });
    const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
    await untilStatus(on, scope, refund?.refundId ?? '', 'succeeded');
    const [id, values] = [refund?.balanceTransactionId ?? '', [scope.accountId]];
    await on.admin('update refunds.refund_items set balance_transaction_id = null where account_id = $1', values);
    await on.admin(`delete from refunds.balance_transactions where type = 'refund' and account_id = $1 and id <> $2`, [
      ...values,
      id,
    ]);
    await on.admin('update refunds.balance_transactions set amount_cents = -4000 where id = $1', [id]);
    await keepBooks(on);
    const one = await on.refunds.getBalanceTransaction({ id }, on.as(scope));
    expect(one).toMatchObject({ amountCents: -4_000n, netCents: -4_000n });
  });
});

describe('the tables alone', () => {
  const transaction = (values: Record<string, string>) => {
    const row = {
      ...{ account_id: `'facct_g'`, test_mode: 'true', id: `'${newId('ledger_transaction')}'`, kind: `'other'` },
      ...{ processor: `'sandbox'`, processor_account: `'acct_g'`, processor_transaction_id: `'${newId('event')}'` },
      ...{ amount_cents: '10', fee_cents: '1', net_cents: '9', occurred_at: 'now()', ...values },
    };
    const text = `insert into refunds.ledger_transactions (${Object.keys(row).join(', ')}) values (${Object.values(row).join(', ')}) returning id`;
    return { id: row.id, text };
  };
  const posting = (id: string, account: string, amount: number) =>
    `insert into refunds.ledger_postings values ('facct_g', true, ${id}, '${account}', ${amount})`;
  // One statement is one transaction, at whose end the constraint is checked.
  const both = (one: { id: string; text: string }, ...postings: [string, number][]) =>
    on.admin(
      `do $$ begin ${one.text.replace(' returning id', '')}; ${postings.map(([account, amount]) => `${posting(one.id, account, amount)};`).join(' ')} end $$`,
    );

  it('refuse postings that do not sum to nothing, and that move another amount than the net, at commit [D14.151]', async () => {
    await both(transaction({}), ['processor_balance', 9], ['fees', 1], ['suspense', -10]);
    await expect(both(transaction({}), ['processor_balance', 9], ['suspense', -10])).rejects.toMatchObject({
      constraint: 'ledger_postings_sum_to_nothing',
    });
    await expect(both(transaction({}), ['processor_balance', 10], ['suspense', -10])).rejects.toMatchObject({
      constraint: 'ledger_moves_the_net',
    });
    await expect(both(transaction({}))).rejects.toMatchObject({ constraint: 'ledger_moves_the_net' });
    await expect(both(transaction({ entry_id: `'fltx_1'` }))).rejects.toMatchObject({
      constraint: 'posted_from_one_cause',
    });
    const again = transaction({
      processor_transaction_id: `'txn_twice'`,
      amount_cents: '0',
      fee_cents: '0',
      net_cents: '0',
    });
    await both(again);
    await expect(both({ ...again, text: again.text.replace(again.id, `'fltx_other'`) })).rejects.toMatchObject({
      constraint: 'movement_is_posted_once',
    });
  });

  it('refuse postings that come after their transaction, even if they sum to nothing [D14.151]', async () => {
    const posted = transaction({});
    await both(posted, ['processor_balance', 9], ['fees', 1], ['suspense', -10]);
    const later = `${posting(posted.id, 'receivable', 5)}, ('facct_g', true, ${posted.id}, 'charges', -5)`;
    await expect(on.admin(later)).rejects.toMatchObject({ constraint: 'posted_with_its_transaction' });
  });

  it.each([
    `update refunds.ledger_transactions set amount_cents = 0`,
    `update refunds.ledger_postings set amount_cents = 1`,
    `delete from refunds.ledger_postings`,
    `delete from refunds.ledger_transactions`,
    `update refunds.processor_transactions set net_cents = 0`,
  ])('refuse the service: %s [D14.151]', async (text) => {
    await expect(on.admin(`set local role eligo_refunds; ${text}`)).rejects.toMatchObject({ code: '42501' });
  });
});

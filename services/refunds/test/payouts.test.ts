import { type Scope, scoped, withTx } from '@eligo/postgres';
import { untilLockWait, waitUntil } from '@eligo/testkit';
import { cents, newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { lookAtPayout } from '../src/actions/look-at-payout.ts';
import { postMovements } from '../src/actions/post-movements.ts';
import { defaultBudgets } from '../src/budgets.ts';
import { insertPending, settleBalance } from '../src/store/balance-transactions.ts';
import { type Fixture, openFixture, someScope, untilStatus } from './fixture.ts';
import { balances, journalOf, keepBooks, movementArrives, tell } from './ledger-fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());

const page = { limit: 10n };

async function paid(payments: Parameters<Fixture['paid']>[1]) {
  const scope = someScope();
  const session = await on.paid(scope, payments);
  await tell(scope, on, journalOf(scope, on, session));
  return { scope, session };
}

const payoutsOf = async (scope: Scope) => (await on.refunds.listPayouts({ page }, on.as(scope))).payouts;
const takenBy = async (scope: Scope, payoutId: string) =>
  (await on.refunds.listBalanceTransactions({ page, payoutId }, on.as(scope))).balanceTransactions;

async function keepPayouts(): Promise<void> {
  await keepBooks(on);
  await on.admin(
    `update refunds.payouts set next_look_at = now() - interval '1 second' where next_look_at is not null`,
  );
  while ((await on.service.jobs.runOnce('look-at-payouts')) === true);
}

async function atProcessor(scope: Scope) {
  const made = await on.port(scope).testBank.payOut();
  if (made.kind !== 'found') throw new Error(`the sandbox paid nothing out: ${made.kind}`);
  return made;
}

const lockFirst = scoped<{ id: string }>(
  't.lock_first_balance_transaction',
  `select id from refunds.balance_transactions where account_id = $1 and test_mode = $2 and type = 'charge' order by id limit 1 for no key update`,
);

/** Locks the first balance transaction of an account; answers how to release it. */
async function holdFirst(scope: Scope): Promise<() => Promise<void>> {
  const held = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const ended = withTx(on.service.database, scope, async (tx) => {
    await tx.row(lockFirst, scope);
    held.resolve();
    await released.promise;
  });
  await held.promise;
  return () => {
    released.resolve();
    return ended;
  };
}

/** Waits until a statement with this text waits for a lock. */
const untilBlocked = (statement: string, what: string) => untilLockWait(on.admin, what, { pattern: statement });

/** A payout of which nothing is noted, and a look at it. */
async function unnotedPayout(scope: Scope) {
  await on.admin('update refunds.balance_transactions set payout_id = null where account_id = $1', [scope.accountId]);
  const [payout] = await on.admin<{ id: string; name: string }>(
    `update refunds.payouts set is_noted = false, noted_to = null, next_look_at = now() - interval '1 second' where account_id = $1
     returning id, processor_payout_id as name`,
    [scope.accountId],
  );
  if (payout === undefined) throw new Error('no payout is recorded');
  const context = {
    ...{ database: on.service.database, budgets: defaultBudgets },
    processors: { findAt: on.port },
  };
  return { payout, look: () => lookAtPayout(context, scope, payout.id) };
}

describe('payouts', () => {
  it('are recorded from the balance with all that they took, which sums to nothing [D14.156]', async () => {
    const { scope, session } = await paid({ hsa: 4_000, credit: 1_000 });
    const { refund } = await on.refunds.refundSession(
      { sessionId: session.id, instruction: { amountCents: 700n } },
      on.as(scope),
    );
    await untilStatus(on, scope, refund?.refundId ?? '', 'succeeded');
    const made = await atProcessor(scope);
    await keepPayouts();
    const [payout, ...more] = await payoutsOf(scope);
    expect(more).toEqual([]);
    expect(payout).toMatchObject({ amountCents: BigInt(made.amountCents), status: 'in_transit', currency: 'usd' });
    expect(payout?.arrivalDateMs).toBe(BigInt(made.arrivalDate) * 1_000n);
    const taken = await takenBy(scope, payout?.payoutId ?? '');
    expect(taken.map(({ type }) => type).sort()).toEqual(['charge', 'charge', 'payout', 'refund']);
    expect(taken.reduce((sum, { netCents = 1n }) => sum + netCents, 0n)).toBe(0n);
    const own = taken.find(({ type }) => type === 'payout');
    expect(own).toMatchObject({ sourceId: payout?.payoutId, balanceTransactionId: payout?.balanceTransactionId });
    expect(await balances(on, scope)).toMatchObject({ payouts: made.amountCents });
    expect(await balances(on, scope)).not.toHaveProperty('processor_balance');

    const other = someScope();
    expect([await payoutsOf(other), await takenBy(other, payout?.payoutId ?? '')]).toEqual([[], []]);
    await expect(on.refunds.getPayout({ id: payout?.payoutId ?? '' }, on.as(other))).rejects.toMatchObject({
      code: 'payout_not_found',
    });
  });

  it('take the parts of a refund of two cards one by one, and each sums to nothing [D14.156]', async () => {
    const { scope, session } = await paid({ hsa: 4_000, credit: 1_000 });
    await on.fault({ call: 'refunds.create', kind: 'drop_before' });
    const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
    await waitUntil(async () => (await on.atProcessor(session)).length === 1, { what: 'the refund of one card' });
    // A payout takes no more than there is.
    const more = await on.paid(scope, { hsa: 9_000 });
    await tell(scope, on, journalOf(scope, on, more));
    await atProcessor(scope);
    await keepPayouts();
    await on.sweep();
    await untilStatus(on, scope, refund?.refundId ?? '', 'succeeded');
    await tell(scope, on, journalOf(scope, on, await on.paid(scope, { hsa: 8_000 })));
    await atProcessor(scope);
    await keepPayouts();
    const payouts = await payoutsOf(scope);
    expect(payouts).toHaveLength(2);
    const parts: bigint[] = [];
    for (const { payoutId } of payouts) {
      const taken = await takenBy(scope, payoutId);
      expect(taken.reduce((sum, { netCents = 1n }) => sum + netCents, 0n)).toBe(0n);
      const refunded = taken.filter(({ type }) => type === 'refund');
      expect(refunded).toMatchObject([{ sourceId: refund?.refundId }]);
      parts.push(...refunded.map(({ amountCents }) => amountCents));
    }
    expect(parts.sort((a, b) => Number(a - b))).toEqual([-4_000n, -1_000n]);
  });

  it('are recorded once, and one that fails is looked at again [D14.156]', async () => {
    const { scope } = await paid({ hsa: 2_000 });
    const helped = await on.refunds.createTestPayout({}, on.as(scope));
    expect(helped).toMatchObject({ status: 'in_transit', amountCents: 1_912n });
    await expect(on.refunds.createTestPayout({}, on.as(scope))).rejects.toMatchObject({ code: 'conflict' });
    await keepPayouts();
    await Promise.all([keepPayouts(), keepPayouts()]);
    const [payout, ...more] = await payoutsOf(scope);
    expect([payout?.payoutId, more]).toEqual([helped.payoutId, []]);
    const names = await on.admin<{ name: string }>(
      'select processor_payout_id as name from refunds.payouts where account_id = $1',
      [scope.accountId],
    );
    await on.admin(`update refunds.payouts set status = 'paid', next_look_at = null where account_id = $1`, [
      scope.accountId,
    ]);
    expect(await on.port(scope).testBank.failPayout(names[0]?.name ?? '')).toMatchObject({ kind: 'found' });
    await keepPayouts();
    expect(await payoutsOf(scope)).toMatchObject([
      { payoutId: helped.payoutId, status: 'failed', failureCode: 'account_closed' },
    ]);
    const settled = await on.admin(`select next_look_at from refunds.payouts where account_id = $1`, [scope.accountId]);
    expect(settled).toEqual([{ next_look_at: null }]);
    const next = await atProcessor(scope);
    await keepPayouts();
    const [latest] = await payoutsOf(scope);
    expect(latest).toMatchObject({ amountCents: BigInt(next.amountCents) });
    const returned = await takenBy(scope, latest?.payoutId ?? '');
    expect(returned.map(({ type, sourceId }) => [type, sourceId]).sort()).toEqual([
      ['payout', latest?.payoutId],
      ['payout_failure', helped.payoutId],
    ]);
  });

  it('find the failure of each card settled by its own movement, also where the parts are equal [D14.154, D14.156]', async () => {
    const scope = someScope();
    const [one, other] = [await on.paid(scope, { refund_fails: 2_000 }), await on.paid(scope, { refund_fails: 2_000 })];
    const session = { id: newId('checkout_session'), cards: [...one.cards, ...other.cards] };
    on.checkout.paid(session);
    await tell(scope, on, journalOf(scope, on, session));
    const { refund } = await on.refunds.refundSession({ sessionId: session.id }, on.as(scope));
    await untilStatus(on, scope, refund?.refundId ?? '', 'succeeded');
    await on.sweep();
    await untilStatus(on, scope, refund?.refundId ?? '', 'failed');
    await keepBooks(on);
    const settled = await on.admin<{ transaction: string; settled: number }>(
      `select processor_transaction_id as transaction, settled_cents::int as settled from refunds.balance_transactions
        where account_id = $1 and type = 'refund_failure'`,
      [scope.accountId],
    );
    expect(settled.map((row) => row.settled)).toEqual([2_000, 2_000]);
    expect(new Set(settled.map(({ transaction }) => transaction)).size).toBe(2);
  });

  it('wait for a movement that is not posted, and go on from it [D14.156]', async () => {
    const { scope } = await paid({ hsa: 1_000 });
    // Its entry is late, so that its charge waits.
    const late = await on.paid(scope, { credit: 500 });
    await atProcessor(scope);
    await keepPayouts();
    const [payout] = await payoutsOf(scope);
    expect(payout?.status).toBe('in_transit');
    const isNoted = () => on.admin('select is_noted from refunds.payouts where account_id = $1', [scope.accountId]);
    expect(await isNoted()).toEqual([{ is_noted: false }]);
    await tell(scope, on, journalOf(scope, on, late));
    await on.admin(
      `update refunds.processor_transactions set match_at = now() - interval '1 second' where match_at is not null`,
    );
    await keepPayouts();
    await keepPayouts();
    expect(await isNoted()).toEqual([{ is_noted: true }]);
    expect(await takenBy(scope, payout?.payoutId ?? '')).toHaveLength(3);
  });

  it('note a movement that is posted while they note the others [D14.156]', async () => {
    const { scope } = await paid({ hsa: 1_000 });
    const late = await on.paid(scope, { credit: 500 });
    await atProcessor(scope);
    await keepPayouts();
    const { payout, look } = await unnotedPayout(scope);
    const release = await holdFirst(scope);
    const looked = look();
    await untilBlocked('set payout_id', 'the look to wait for the balance transaction');
    await tell(scope, on, journalOf(scope, on, late));
    await on.admin(
      `update refunds.processor_transactions set match_at = now() - interval '1 second' where match_at is not null`,
    );
    await postMovements({ database: on.service.database }, scope);
    await release();
    await looked;
    await keepPayouts();
    expect(await takenBy(scope, payout.id)).toHaveLength(3);
  });

  it('lock their rows in the order of the posting of movements [D14.156]', async () => {
    const { scope, session } = await paid({ hsa: 1_000, credit: 500 });
    const sessions = [session, await on.paid(scope, { hsa: 700, credit: 300 }), await on.paid(scope, { hsa: 600 })];
    for (const one of sessions.slice(1)) await tell(scope, on, journalOf(scope, on, one));
    await atProcessor(scope);
    await keepPayouts();
    const { payout, look } = await unnotedPayout(scope);
    // More movements of the same charges, late ones, and one of the payout.
    for (const { processorChargeId: sourceId } of sessions.flatMap(({ cards }) => cards)) {
      await movementArrives(on, scope, { type: 'charge', category: 'charge', amountCents: 100, sourceId });
    }
    await on.admin(
      `update refunds.processor_transactions set read_at = now() - interval '2 hours', match_at = now() - interval '1 second' where match_at is not null`,
    );
    const failure = { type: 'payout_failure', category: 'payout_reversal', amountCents: 3_000 };
    await movementArrives(on, scope, { ...failure, sourceId: payout.name });
    const release = await holdFirst(scope);
    const looked = look();
    await untilBlocked('set payout_id', 'the look to wait for the balance transaction');
    const posted = postMovements({ database: on.service.database }, scope);
    await untilBlocked('insert into refunds.payouts|set settled_cents', 'the posting to wait');
    await release();
    await Promise.all([looked, posted]);
    expect(await on.admin('select is_noted from refunds.payouts where account_id = $1', [scope.accountId])).toEqual([
      { is_noted: true },
    ]);
  });

  it('find balance transactions that are settled in the order of their ids, as a refund makes them available [D14.156]', async () => {
    const scope = someScope();
    const { account: processorAccount } = on.port(scope);
    const ids = Array.from({ length: 12 }, () => newId('balance_transaction')).sort();
    const rows = ids.map((balanceTransactionId, at) => ({
      ...{ balanceTransactionId, amountCents: cents(100), at: new Date(), sourceId: `fch_${at}` },
      ...{ type: 'charge', reportingCategory: 'charge', checkoutSessionId: null },
    }));
    const settlements = ids.map((balanceTransactionId, at) => ({
      ...{ balanceTransactionId, processorAccount, processorTransactionId: `txn_order${at}` },
      ...{ amountCents: cents(100), feeCents: cents(0), availableOn: new Date() },
    }));
    await withTx(on.service.database, scope, (tx) => insertPending(tx, scope, rows));
    const release = await holdFirst(scope);
    const settled = withTx(on.service.database, scope, (tx) => settleBalance(tx, scope, settlements));
    await untilBlocked('set settled_cents', 'the settlement to wait for the first balance transaction');
    // It has locked no other one.
    const free = await on.admin(
      'select id from refunds.balance_transactions where account_id = $1 for no key update skip locked',
      [scope.accountId],
    );
    await release();
    await settled;
    expect(free).toHaveLength(11);
  });

  it('that were made by hand name their own movement only [D14.156]', async () => {
    const { scope } = await paid({ hsa: 1_000 });
    const made = await atProcessor(scope);
    await keepBooks(on);
    await on.admin('update refunds.balance_transactions set payout_id = null where account_id = $1', [scope.accountId]);
    await on.admin(
      `update refunds.payouts set is_noted = false, noted_to = null, next_look_at = now() - interval '1 second' where account_id = $1`,
      [scope.accountId],
    );
    const port = {
      ...on.port(scope),
      retrievePayout: () => Promise.resolve({ ...made, automatic: false }),
      listPayoutTransactions: () => Promise.reject(new Error('the processor lists what automatic payouts took only')),
    };
    const budgets = { leaseMs: 30_000, processorMs: 6_000, checkoutMs: 5_000, marginMs: 2_000 };
    const context = { database: on.service.database, budgets, processors: { findAt: () => port } };
    const [payout] = await payoutsOf(scope);
    const payoutId = payout?.payoutId ?? '';
    await lookAtPayout(context, scope, payoutId);
    expect((await takenBy(scope, payoutId)).map(({ type }) => type)).toEqual(['payout']);
  });

  it('are kept by the database itself [D14.156]', async () => {
    const { scope } = await paid({ hsa: 1_000 });
    const { payoutId } = await on.refunds.createTestPayout({}, on.as(scope));
    const set = (change: string) =>
      on.admin(`update refunds.payouts set ${change} where account_id = $1 and id = $2`, [scope.accountId, payoutId]);
    await expect(set(`next_look_at = null`)).rejects.toThrow(/open_payout_is_looked_at/);
    await expect(set(`failure_code = 'x'`)).rejects.toThrow(/failure_has_a_failed_payout/);
    await expect(set(`processor = 'stripe'`)).rejects.toThrow(/test_payout_is_at_the_sandbox/);
    await expect(set(`status = 'other'`)).rejects.toThrow(/status/);
    await keepPayouts();
    const taken = `update refunds.balance_transactions set payout_id = 'fpo_none' where account_id = $1`;
    await expect(on.admin(taken, [scope.accountId])).rejects.toThrow(/balance_transactions_payout_fkey/);
  });
});

import { withTx } from '@eligo/postgres';
import { firstTurn } from '@eligo/service';
import { seededAccount, seededId, vacuumDeleted } from '@eligo/testkit';
import { expect } from 'vitest';
import { createTestPayout } from '../src/actions/create-test-payout.ts';
import { lookAtPayout } from '../src/actions/look-at-payout.ts';
import { postEntries } from '../src/actions/post-entries.ts';
import { postMovements } from '../src/actions/post-movements.ts';
import { readBalance } from '../src/actions/read-balance.ts';
import { findBalanceTransactions, listBalanceTransactions } from '../src/store/balance-transaction-list.ts';
import { dueDisputes } from '../src/store/disputes.ts';
import { dueEntries, nextEntryInMs, putOffPosting } from '../src/store/journal-entries.ts';
import * as feeds from '../src/store/ledger-feeds.ts';
import { findPayout, listPayouts } from '../src/store/payout-list.ts';
import * as payouts from '../src/store/payouts.ts';
import * as movements from '../src/store/processor-transactions.ts';
import { balancesBefore, payoutsOfDay, sumsOfDays, suspenseOfDay } from '../src/store/reconciliation.ts';
import type { Fixture } from './fixture.ts';
import { journalOf, movementArrives, tell } from './ledger-fixture.ts';

const scope = { accountId: seededAccount, testMode: true };

// Half of the seeded movements of this day are payouts, half are in suspense. A tenth of a second apart, 100,000 fit into it.
const seededDay = '2025-01-01';

/** Rows of the ledger's tables, for the same records as the other seeded ones. */
export function seededLedger(rows: string): string[] {
  const inDay = `'${seededDay}'::timestamptz + n * interval '100 milliseconds'`;
  const columns = 'account_id, test_mode';
  const place = `processor, processor_account`;
  const at = `'sandbox'::refunds.processor, 'acct_growth'`;
  return [
    `ledger_transactions (${columns}, id, kind, ${place}, entry_id, amount_cents, processor_charge_id, source_id, payment_intent_id, occurred_at)
     select account, true, 'fltx_p' || id, 'capture', ${at}, 'fltx_e' || id, 50, 'ch_' || id, 'fch_' || id, 'fpi_' || owner, at ${rows}`,
    `ledger_transactions (${columns}, id, kind, ${place}, processor_transaction_id, amount_cents, fee_cents, net_cents, occurred_at)
     select account, true, 'fltx_m' || id, 'charge', ${at}, 'txn_' || id, 50, 1, 49, at ${rows}`,
    `ledger_transactions (${columns}, id, kind, ${place}, processor_transaction_id, amount_cents, fee_cents, net_cents, occurred_at)
     select account, true, 'fltx_s' || id, case n % 2 when 0 then 'other' else 'payout' end, ${at}, 'txn_s' || id, -50, 0, -50, ${inDay} ${rows}`,
    `ledger_transactions (${columns}, id, kind, ${place}, entry_id, amount_cents, occurred_at)
     select account, true, 'fltx_v' || id, 'suspense_move', ${at}, 'fltx_v' || id, 1, ${inDay} ${rows} where n % 2 = 0`,
    `suspense_moves (${columns}, id, moved_transaction_id, ledger_account, amount_cents, reason, moved_by, created_at)
     select account, true, 'fltx_v' || id, 'fltx_s' || id, 'fees', 1, 'r', 'o', ${inDay} ${rows} where n % 2 = 0`,
    `ledger_postings (${columns}, transaction_id, ledger_account, amount_cents)
     select account, true, 'fltx_' || k || id, name, cents ${rows} cross join (values (1, 's', 'processor_balance', -50), (1, 's', 'payouts', 50),
       (0, 's', 'processor_balance', -50), (0, 's', 'suspense', 50), (0, 'v', 'suspense', -1), (0, 'v', 'fees', 1)) p (half, k, name, cents)
      where n % 2 = half`,
    `ledger_postings (${columns}, transaction_id, ledger_account, amount_cents)
     select account, true, 'fltx_' || k || id, name, cents ${rows} cross join (values ('p', 'receivable', 50), ('p', 'charges', -50),
       ('m', 'processor_balance', 49), ('m', 'fees', 1), ('m', 'receivable', -50)) p (k, name, cents)`,
    `payouts (${columns}, id, ${place}, processor_payout_id, amount_cents, status, balance_transaction_id, created_at, next_look_at, is_noted)
     select account, true, 'fpo_' || id, ${at}, 'po_' || id, 50, 'paid', 'fbtxn_' || id, at,
       case n % 10 when 0 then now() - n * interval '1 second' when 1 then now() + n * interval '1 second' end, true ${rows}`,
    // One payout of as many movements, of which the oldest alone are refunds.
    `balance_transactions (${columns}, id, type, amount_cents, status, available_on, source_id, reporting_category, created_at, payout_id)
     select account, true, 'fbtxn_p' || id, case when n <= 5 then 'refund' else 'charge' end, 50, 'pending', at, 'fch_' || id, 'charge', at,
       '${seededId('fpo', 1)}' ${rows} where account = '${seededAccount}'`,
    `processor_transactions (${columns}, ${place}, id, type, reporting_category, amount_cents, fee_cents, application_fee_cents, net_cents,
       available_on, source_id, created_at, match_at)
     select account, true, ${at}, 'txn_' || id, 'charge', 'charge', 50, 1, 0, 49, at, 'ch_' || id, at,
       case n % 10 when 0 then now() - n * interval '1 second' when 1 then now() + n * interval '1 second' end ${rows}`,
    `processor_transactions (${columns}, ${place}, id, type, reporting_category, amount_cents, fee_cents, application_fee_cents, net_cents,
       available_on, source_id, created_at, match_at)
     select account, true, ${at}, 'txn_s' || id, case n % 2 when 0 then 'stripe_fee' else 'payout' end, 'fee', -50, 0, 0, -50, at, null, ${inDay}, null ${rows}`,
    `ledger_feeds (${columns}, ${place}, begins_at, read_from, next_read_at)
     select account, true, 'sandbox'::refunds.processor, 'acct_' || id, at, at, now() + case when n % 2 = 0 then -1 else 1 end * n * interval '1 second' ${rows}`,
  ];
}

/** Runs every statement of the ledger, while a fifth of the seeded rows and more are due. */
export async function exerciseLedger(on: Fixture): Promise<void> {
  const { database } = on.service;
  const logger = { warn: () => undefined } as never;
  const budgets = { leaseMs: 30_000, processorMs: 6_000, checkoutMs: 5_000, marginMs: 2_000 };
  const context = { database, budgets, logger, processors: { of: on.port, findOf: on.port, findAt: on.port } as never };
  const session = await on.paid(scope, { hsa: 4_000 });
  await tell(scope, on, journalOf(scope, on, session));
  for (const list of [feeds.dueFeeds, payouts.duePayouts]) await list(database, 10);
  for (const turns of [dueEntries, movements.dueMovements]) await turns(database, firstTurn, 10);
  const nexts = [nextEntryInMs, movements.nextMovementInMs, feeds.nextFeedInMs, payouts.nextPayoutInMs];
  for (const next of nexts) await next(database);
  await feeds.ledgerLagSeconds(database);
  await listBalance(on);
  await postEntries(context, scope);
  await withTx(database, scope, (tx) => putOffPosting(tx, scope, [seededId('fltx', 900)], 1_000));
  const feed = { scope, processorAccount: on.port(scope).account };
  await on.admin(
    `update refunds.ledger_feeds set next_read_at = now() - interval '1 second' where processor_account = $1`,
    [feed.processorAccount.account],
  );
  await readBalance(context, feed);
  const sources = {
    charge: `ch_${seededId('fch', 4).slice(4)}`,
    refund: `re_${seededId('fre', 4).slice(4)}`,
    adjustment: `du_${seededId('fdp', 4).slice(4)}`,
  };
  for (const [type, sourceId] of Object.entries(sources)) {
    await movementArrives(on, scope, {
      type,
      category: type === 'adjustment' ? 'dispute' : type,
      amountCents: -50,
      sourceId,
    });
  }
  await on.admin(
    `update refunds.processor_transactions set match_at = now() - interval '1 year' where id like 'txn_%' and source_id = any($1)`,
    [Object.values(sources)],
  );
  await postMovements({ database }, scope);
  const made = await createTestPayout(context, scope);
  await lookAtPayout(context, scope, made.payoutId);
  const progress = { notedTo: 'txn_1', isNoted: false };
  await withTx(database, scope, (tx) => payouts.saveNoted(tx, scope, made.payoutId, progress, 1_000));
  await reportDays(database);
  await findWhileNothingIsDue(on);
}

// The day of what this run made, and some pages of the seeded one.
async function reportDays(database: Fixture['service']['database']): Promise<void> {
  const today = new Date().toISOString().slice(0, 10);
  await balancesBefore(database, scope, today);
  await sumsOfDays(database, scope, today, today);
  for (const named of [payoutsOfDay, suspenseOfDay]) {
    for await (const _ of named(database, scope, today));
    let read = 0;
    for await (const _ of named(database, scope, seededDay)) if (++read === 450) break;
    expect(read).toBe(450);
  }
}

// What is due later is not looked through, however much it is.
async function findWhileNothingIsDue(on: Fixture): Promise<void> {
  const { database } = on.service;
  const places = [
    ['ledger_feeds', 'next_read_at'],
    ['ledger_entries', 'post_at'],
    ['processor_transactions', 'match_at'],
    ['payouts', 'next_look_at'],
    ['disputes', 'next_check_at'],
  ];
  for (const [table, column] of places) {
    await on.admin(`update refunds.${table} set ${column} = now() + interval '1 day' where ${column} is not null`);
  }
  await vacuumDeleted(
    on,
    places.map(([table]) => `refunds.${table}`),
  );
  for (const list of [feeds.dueFeeds, payouts.duePayouts, dueDisputes]) expect(await list(database, 10)).toEqual([]);
  for (const turns of [dueEntries, movements.dueMovements]) {
    expect((await turns(database, firstTurn, 10)).due).toEqual([]);
  }
  await postEntries({ database, processors: { findOf: () => undefined } }, scope);
  await postMovements({ database }, scope);
}

// Each filter of the list, from both ends and from the middle.
async function listBalance({ service: { database } }: Fixture): Promise<void> {
  await findPayout(database, scope, seededId('fpo', 4));
  await findBalanceTransactions(database, scope, [seededId('fbtxn', 4)]);
  for (const side of [{}, { startingAfter: seededId('fpo', 104) }, { endingBefore: seededId('fpo', 104) }]) {
    await listPayouts(database, scope, { limit: 10, ...side });
  }
  for (const side of [{}, { startingAfter: seededId('fbtxn', 104) }, { endingBefore: seededId('fbtxn', 104) }]) {
    const filters = [{}, { type: 'refund' }, { sourceId: seededId('fre', 4) }];
    const sessions = [1, 999].map((number) => ({ checkoutSessionId: seededId('fcs', number) }));
    const both = { type: 'refund', checkoutSessionId: seededId('fcs', 1) };
    const payoutId = seededId('fpo', 1);
    for (const filter of [...filters, ...sessions, both, { payoutId }, { payoutId, type: 'refund' }]) {
      await listBalanceTransactions(database, scope, filter, { limit: 10, ...side });
    }
  }
}

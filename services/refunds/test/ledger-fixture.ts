import { randomBytes } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import { type Scope, withTx } from '@eligo/postgres';
import {
  EventSchema,
  JournalEntriesSchema,
  type JournalEntry,
  JournalEntrySchema,
} from '@eligo/proto/events/v1/events';
import { newId } from '@eligo/values';
import { ledger } from '../src/consumers/ledger.ts';
import type { PaidSession } from './fake-checkout.ts';
import type { Fixture } from './fixture.ts';

/** What checkout journals for the cards of a session that was paid. */
export function journalOf(scope: Scope, on: Fixture, { id, cards }: PaidSession): JournalEntry[] {
  const { processor, account } = on.port(scope).account;
  return cards.map((card) =>
    create(JournalEntrySchema, {
      ...{ kind: 'capture', processor, processorAccount: account, checkoutSessionId: id },
      entryId: newId('ledger_transaction'),
      amountCents: card.captured,
      paymentIntentId: card.paymentIntentId,
      sourceId: card.chargeId,
      chargeId: card.chargeId,
      processorChargeId: card.processorChargeId,
      balanceTransactionId: card.chargeId.replace('fch_', 'fbtxn_'),
      atMs: BigInt(Date.now()),
    }),
  );
}

/** The event with these entries arrives. */
export async function tell(scope: Scope, on: Fixture, entries: JournalEntry[]): Promise<void> {
  const value = create(JournalEntriesSchema, { entries });
  const event = create(EventSchema, { ...scope, object: { case: 'journalEntries', value } });
  await withTx(on.service.database, scope, (tx) => Promise.resolve(ledger.handle(tx, event)));
}

/** Posts and reads until nothing of the ledger is due. */
export async function keepBooks(on: Fixture): Promise<void> {
  await on.admin(`update refunds.ledger_feeds set next_read_at = now() - interval '1 second'`);
  for (const job of ['post-entries', 'read-balances', 'post-movements', 'look-at-payouts']) {
    while ((await on.service.jobs.runOnce(job)) === true);
  }
}

/** The balance of each account of the ledger, without those at zero. */
export async function balances(on: Fixture, scope: Scope): Promise<Record<string, number>> {
  const rows = await on.admin<{ ledger_account: string; balance: string }>(
    `select ledger_account, sum(amount_cents)::text as balance from refunds.ledger_postings where account_id = $1
      group by ledger_account having sum(amount_cents) <> 0`,
    [scope.accountId],
  );
  return Object.fromEntries(rows.map(({ ledger_account, balance }) => [ledger_account, Number(balance)]));
}

/** What the sandbox's own balance of an account sums to: amounts, fees and nets of all its movements. */
export async function atProcessor(on: Fixture, scope: Scope) {
  const sums = { amount: 0, fee: 0, net: 0, ids: [] as string[] };
  for (let after: string | undefined; ; ) {
    const page = await on.port(scope).listBalanceTransactions({ from: new Date(0), after });
    if (page.kind !== 'page') throw new Error(`the sandbox did not list its movements: ${page.kind}`);
    for (const one of page.transactions) {
      sums.amount += one.amountCents;
      sums.fee += one.feeCents;
      sums.net += one.netCents;
      sums.ids.push(one.balanceTransactionId);
    }
    after = page.transactions.at(-1)?.balanceTransactionId;
    if (!page.hasMore) return sums;
  }
}

/** A movement that the processor lists and this test invents. */
export async function movementArrives(
  on: Fixture,
  scope: Scope,
  movement: { type: string; category: string; amountCents: number; sourceId?: string },
): Promise<string> {
  const id = `txn_${randomBytes(12).toString('hex')}`;
  const { processor, account } = on.port(scope).account;
  await on.admin(
    `insert into refunds.processor_transactions (account_id, test_mode, processor, processor_account, id, type, reporting_category, amount_cents,
       fee_cents, application_fee_cents, net_cents, available_on, source_id, created_at)
     values ($1, true, $2::refunds.processor, $3, $4, $5, $6, $7::bigint, 0, 0, $7::bigint, now(), $8, now())`,
    [
      scope.accountId,
      processor,
      account,
      id,
      movement.type,
      movement.category,
      movement.amountCents,
      movement.sourceId ?? null,
    ],
  );
  return id;
}

import { type Db, leaseFromNow, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import type { PayoutFacts } from '@eligo/processor';
import { wakeJobAfterCommit } from '@eligo/service';
import { type Cents, newId, type ProcessorAccount, type ProcessorName } from '@eligo/values';
import { isSettledPayout, type PayoutAtProcessor } from '../domain/payout.ts';

/** The job that asks the processor for payouts. */
export const lookAtPayoutsJob = 'look-at-payouts';

/** A payout of which a movement on the balance tells. */
export interface FoundPayout extends PayoutAtProcessor {
  readonly amountCents: Cents;
  readonly at: Date;
}

/** A payout in the hands of this process. */
export interface ClaimedPayout extends PayoutAtProcessor {
  readonly payoutId: string;
  readonly looks: number;
  readonly notedTo: string | undefined;
  readonly isNoted: boolean;
}

/** Records payouts, each once, and has them looked at. Answers our identifiers by the processor's. */
export async function recordPayouts(
  tx: Tx,
  scope: Scope,
  found: readonly FoundPayout[],
): Promise<ReadonlyMap<string, string>> {
  const payouts = [...new Map(found.map((one) => [keyOfPayout(one), one])).values()];
  if (payouts.length === 0) return new Map();
  const rows = await tx.rows(record, scope, [
    payouts.map(() => newId('payout')),
    payouts.map(({ processorAccount }) => processorAccount.processor),
    payouts.map(({ processorAccount }) => processorAccount.account),
    payouts.map(({ processorPayoutId }) => processorPayoutId),
    payouts.map(({ amountCents }) => amountCents),
    payouts.map(({ at }) => at),
  ]);
  wakeJobAfterCommit(tx, lookAtPayoutsJob);
  const named = rows.map(({ id, processor, processor_account: account, processor_payout_id: processorPayoutId }) => {
    return [keyOfPayout({ processorAccount: { processor, account }, processorPayoutId }), id] as const;
  });
  return new Map(named);
}

/** By which `recordPayouts` names a payout. */
export function keyOfPayout({ processorAccount, processorPayoutId }: PayoutAtProcessor): string {
  return [processorAccount.processor, processorAccount.account, processorPayoutId].join(' ');
}

/** Payouts that are due, that due longest first. */
export async function duePayouts(db: Db, most: number): Promise<{ scope: Scope; payoutId: string }[]> {
  const rows = await db.rows(due, null, [most]);
  return rows.map((row) => ({ scope: { accountId: row.account_id, testMode: row.test_mode }, payoutId: row.id }));
}

/** How long until a payout is due, negative when one is; undefined when there is none. */
export async function nextPayoutInMs(db: Db): Promise<number | undefined> {
  return (await db.row(next, null))?.due_in_ms ?? undefined;
}

/** Takes a due payout for so long; undefined when another process has it. */
export async function claimPayout(
  tx: Tx,
  scope: Scope,
  payoutId: string,
  leaseMs: number,
): Promise<ClaimedPayout | undefined> {
  const row = await tx.row(claim, scope, [payoutId, leaseMs]);
  if (row === undefined) return undefined;
  return {
    payoutId,
    processorAccount: { processor: row.processor, account: row.processor_account },
    processorPayoutId: row.processor_payout_id,
    looks: row.looks,
    notedTo: row.noted_to ?? undefined,
    isNoted: row.is_noted,
  };
}

/** Stores what the processor says of a payout. Its movement is named once it is posted. */
export async function savePayout(tx: Tx, scope: Scope, payoutId: string, facts: PayoutFacts): Promise<void> {
  await tx.execute(save, scope, [
    payoutId,
    facts.amountCents,
    facts.currency,
    facts.status,
    new Date(facts.arrivalDate * 1_000),
    isFailed(facts) ? (facts.failureCode ?? null) : null,
    facts.createdAt,
    facts.balanceTransactionId ?? null,
  ]);
}

/** A movement that the processor lists for a payout. */
export interface TakenMovement {
  readonly processorTransactionId: string;
  readonly createdAt: Date;
}

/** How many of these movements are still to be posted. */
export async function countAwaited(
  tx: Tx,
  scope: Scope,
  { processor, account }: ProcessorAccount,
  movements: readonly TakenMovement[],
): Promise<number> {
  const ids = movements.map(({ processorTransactionId }) => processorTransactionId);
  const createdAt = movements.map((movement) => movement.createdAt);
  return (await tx.row(awaited, scope, [processor, account, ids, createdAt]))?.awaited ?? 0;
}

/** Notes that a payout took those of these movements that are posted. */
export async function noteTransactions(
  tx: Tx,
  scope: Scope,
  { payoutId, processorAccount: { processor, account } }: Pick<ClaimedPayout, 'payoutId' | 'processorAccount'>,
  movements: readonly TakenMovement[],
): Promise<void> {
  const ids = movements.map(({ processorTransactionId }) => processorTransactionId);
  await tx.execute(note, scope, [processor, account, ids, payoutId]);
}

/** Notes up to which movement all that a payout took is noted, and holds it for longer. */
export async function saveNoted(
  tx: Tx,
  scope: Scope,
  payoutId: string,
  { notedTo, isNoted }: Pick<ClaimedPayout, 'notedTo' | 'isNoted'>,
  leaseMs: number,
): Promise<void> {
  await tx.execute(noted, scope, [payoutId, notedTo ?? null, isNoted, leaseMs]);
}

/** Ends a look: the next one is in so long, or there is none if the payout is settled and noted. A movement that was recorded meanwhile has it looked at. */
export async function endLook(tx: Tx, scope: Scope, { payoutId, looks }: ClaimedPayout, inMs: number): Promise<void> {
  wakeJobAfterCommit(tx, lookAtPayoutsJob, inMs);
  await tx.execute(end, scope, [payoutId, looks, inMs]);
}

function isFailed({ status }: PayoutFacts): boolean {
  return isSettledPayout(status) && status !== 'paid';
}

interface PayoutKeyRow {
  id: string;
  processor: ProcessorName;
  processor_account: string;
  processor_payout_id: string;
}

const record = scoped<PayoutKeyRow>(
  'payouts.record',
  `insert into refunds.payouts as p (account_id, test_mode, id, processor, processor_account, processor_payout_id, amount_cents, created_at)
   select $1, $2, n.* from unnest($3::text[], $4::refunds.processor[], $5::text[], $6::text[], $7::bigint[], $8::timestamptz[])
     as n (id, processor, account, payout, amount, at) order by n.processor, n.account, n.payout
   on conflict (account_id, test_mode, processor, processor_account, processor_payout_id) do update
     set next_look_at = least(p.next_look_at, clock_timestamp()), looks = 0
   returning id, processor, processor_account, processor_payout_id`,
);
const due = unscoped<{ account_id: string; test_mode: boolean; id: string }>(
  'payouts.due',
  'select account_id, test_mode, id from refunds.due_payouts($1)',
);
const next = unscoped<{ due_in_ms: number | null }>(
  'payouts.next',
  'select extract(epoch from refunds.next_payout() - clock_timestamp())::float8 * 1000 as due_in_ms',
);
const key = 'account_id = $1 and test_mode = $2 and id = $3';
const claim = scoped<Omit<PayoutKeyRow, 'id'> & { looks: number; noted_to: string | null; is_noted: boolean }>(
  'payouts.claim',
  `update refunds.payouts set next_look_at = ${leaseFromNow('$4::bigint')}, looks = looks + 1 where ${key} and next_look_at <= clock_timestamp()
   returning processor, processor_account, processor_payout_id, looks, noted_to, is_noted`,
);
const save = scoped<never>(
  'payouts.save',
  `update refunds.payouts p
      set amount_cents = $4, currency = $5, status = $6, arrival_at = $7, failure_code = $8, created_at = $9,
          next_look_at = coalesce(p.next_look_at, clock_timestamp()),
          balance_transaction_id = coalesce(p.balance_transaction_id, (select t.balance_transaction_id from refunds.ledger_transactions t
            where t.account_id = $1 and t.test_mode = $2 and t.processor = p.processor and t.processor_account = p.processor_account
              and t.processor_transaction_id = $10))
    where ${key}`,
);
const note = scoped<never>(
  'payouts.note_transactions',
  `with taken as (
     select b.id from refunds.ledger_transactions t join refunds.balance_transactions b
         on b.account_id = t.account_id and b.test_mode = t.test_mode and b.id = t.balance_transaction_id
      where t.account_id = $1 and t.test_mode = $2 and t.processor = $3 and t.processor_account = $4 and t.processor_transaction_id = any($5::text[])
        and b.payout_id is distinct from $6 order by b.id for no key update of b)
   update refunds.balance_transactions b set payout_id = $6 from taken where b.account_id = $1 and b.test_mode = $2 and b.id = taken.id`,
);
// Not those from before Eligo's first money at this account, which are not read.
const awaited = scoped<{ awaited: number }>(
  'payouts.awaited_transactions',
  `select count(*)::int as awaited from unnest($5::text[], $6::timestamptz[]) as l (id, at)
    where not exists (select from refunds.ledger_transactions t where t.account_id = $1 and t.test_mode = $2 and t.processor = $3
        and t.processor_account = $4 and t.processor_transaction_id = l.id)
      and (l.at >= (select date_trunc('second', f.begins_at) from refunds.ledger_feeds f where f.account_id = $1 and f.test_mode = $2
             and f.processor = $3 and f.processor_account = $4)
        or exists (select from refunds.processor_transactions m where m.account_id = $1 and m.test_mode = $2 and m.processor = $3
             and m.processor_account = $4 and m.id = l.id offset 0))`,
);
const noted = scoped<never>(
  'payouts.save_noted',
  `update refunds.payouts set noted_to = $4, is_noted = $5, next_look_at = ${leaseFromNow('$6::bigint')} where ${key}`,
);
const end = scoped<never>(
  'payouts.end_look',
  `update refunds.payouts
      set next_look_at = case when looks <> $4 then clock_timestamp()
        when is_noted and status in ('paid', 'failed', 'canceled') then null else ${leaseFromNow('$5::bigint')} end
    where ${key}`,
);

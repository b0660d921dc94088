import { maxGroupSize, type Scope, scoped, type Tx } from '@eligo/postgres';
import type { Subscription } from '../domain/subscription.ts';
import { type SubscriptionStatus, subscriptionStates } from '../domain/subscription-states.ts';
import { saveItemsOfSeveral } from './subscription-items.ts';

/** A subscription as its row was read under its lock, and as billing changes it. */
export interface BilledSubscription {
  readonly before: Subscription;
  readonly after: Subscription;
}

/**
 * Locks these subscriptions, at most 16, until the transaction ends. Answers those that are as they were read, but for their holds, in no order: one that has changed, or
 * that another transaction holds, is missing.
 */
export async function lockUnchanged(
  tx: Tx,
  scope: Scope,
  subscriptions: readonly Subscription[],
): Promise<Subscription[]> {
  const rows = await tx.rows(lockVersions, scope, [subscriptions.map(({ id }) => id)]);
  const read = new Map(subscriptions.map((one) => [one.id, one]));
  return rows.flatMap(({ id, version, held_until: heldUntil }) => {
    const one = read.get(id);
    return one?.version === version ? { ...one, heldUntil } : [];
  });
}

/** What a payment of its latest invoice has to know of a subscription. */
export interface PayingSubscription {
  readonly id: string;
  readonly status: SubscriptionStatus;
  readonly latestInvoiceId: string | null;
  readonly testClockId: string | null;
}

/** These subscriptions, at most 16, locked until the transaction ends, in no order. One that another transaction holds is missing. */
export async function lockPaying(tx: Tx, scope: Scope, ids: readonly string[]): Promise<PayingSubscription[]> {
  return (await tx.rows(lockForPayment, scope, [ids])).map((row) => ({
    id: row.id,
    status: row.status,
    latestInvoiceId: row.latest_invoice_id,
    testClockId: row.test_clock_id,
  }));
}

/** Notes that these subscriptions, at most 16, which the caller has locked, owe nothing any more, and gives them back. Answers when something is due of each, by its id. */
export async function savePaid(
  tx: Tx,
  scope: Scope,
  ids: readonly string[],
): Promise<ReadonlyMap<string, Date | null>> {
  const rows = await tx.rows(updatePaid, scope, [ids]);
  if (rows.length !== ids.length) throw new Error('A subscription changed after it was read');
  return new Map(rows.map((row) => [row.id, row.due_at]));
}

/**
 * Writes what a renewal changes of subscriptions, at most 16, which the caller has locked: the period, what is owed and when, and the items, which
 * all stay.
 */
export async function saveBilledSubscriptions(
  tx: Tx,
  scope: Scope,
  billed: readonly BilledSubscription[],
): Promise<void> {
  const [written] = await Promise.all([
    tx.execute(update, scope, [JSON.stringify(billed.map(rowOf))]),
    saveItemsOfSeveral(tx, scope, billed),
  ]);
  if (written !== billed.length) throw new Error('A subscription changed after it was read');
}

// Under the names of the statement's columns.
function rowOf({ before, after }: BilledSubscription) {
  if (before.status !== after.status) subscriptionStates.assertMove(before.status, after.status);
  return {
    id: before.id,
    version: String(before.version),
    status_before: before.status,
    status: after.status,
    current_period_start: after.currentPeriodStart,
    current_period_end: after.currentPeriodEnd,
    latest_invoice_id: after.latestInvoiceId,
    discounts: after.discounts,
    payment_at: after.paymentAt,
    notice_at: after.noticeAt,
    held_until: after.heldUntil,
  };
}

const locked = (columns: string) =>
  `select ${columns} from subscriptions s where s.account_id = $1 and s.test_mode = $2 and s.id = any($3::text[]) order by s.id
   limit ${maxGroupSize} for update of s skip locked`;
const lockVersions = scoped<{ id: string; version: bigint; held_until: Date | null }>(
  'subscriptions.lock_versions',
  locked('s.id, s.version, s.held_until'),
);
const lockForPayment = scoped<{
  id: string;
  status: SubscriptionStatus;
  latest_invoice_id: string | null;
  test_clock_id: string | null;
}>('subscriptions.lock_for_payment', locked('s.id, s.status, s.latest_invoice_id, s.test_clock_id'));
const updatePaid = scoped<{ id: string; due_at: Date | null }>(
  'subscriptions.save_paid',
  `update subscriptions set payment_at = null, held_until = null, version = version + 1
   where account_id = $1 and test_mode = $2 and id = any($3::text[]) returning id, due_at`,
);
// The limit is that of a group: without it the planner expects a hundred rows of JSON.
const update = scoped(
  'subscriptions.save_billed',
  `with billed as materialized (
     select b.* from json_to_recordset($3::json) as b (
       id text, version bigint, status_before text, status text, current_period_start timestamptz, current_period_end timestamptz,
       latest_invoice_id text, discounts jsonb, payment_at timestamptz, notice_at timestamptz, held_until timestamptz)
     limit ${maxGroupSize}
   )
   update subscriptions s set status = b.status, current_period_start = b.current_period_start, current_period_end = b.current_period_end,
     latest_invoice_id = b.latest_invoice_id, discounts = b.discounts, payment_at = b.payment_at, notice_at = b.notice_at,
     held_until = b.held_until, version = s.version + 1
   from billed b
   where s.account_id = $1 and s.test_mode = $2 and s.id = b.id and s.version = b.version and s.status = b.status_before`,
);

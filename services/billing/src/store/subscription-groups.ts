import { maxGroupSize, type Scope, scoped, type Tx } from '@eligo/postgres';
import type { Subscription } from '../domain/subscription.ts';
import { subscriptionStates } from '../domain/subscription-states.ts';
import { saveItemsOfSeveral } from './subscription-items.ts';
import { type SubscriptionRow, subscriptionColumns, subscriptionOfRow } from './subscriptions.ts';

/** A subscription as its row was read under its lock, and as billing changes it. */
export interface BilledSubscription {
  readonly before: Subscription;
  readonly after: Subscription;
}

/** The subscriptions, at most 16, locked until the transaction ends, in no order. One that another transaction holds is missing. */
export async function lockSubscriptions(tx: Tx, scope: Scope, ids: readonly string[]): Promise<Subscription[]> {
  return (await tx.rows(selectForUpdate, scope, [ids])).map(subscriptionOfRow);
}

/**
 * Writes what a renewal or a payment changes of subscriptions, at most 16, which the caller has locked: the period, what is owed and when, and the items, which
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

const selectForUpdate = scoped<SubscriptionRow>(
  'subscriptions.lock_several',
  `select ${subscriptionColumns('s')} from subscriptions s where s.account_id = $1 and s.test_mode = $2 and s.id = any($3::text[]) order by s.id
   limit ${maxGroupSize} for update of s skip locked`,
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

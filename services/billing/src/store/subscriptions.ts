import { type Db, type Page, readPage, type Scope, scoped, sqlBuilder, type Tx } from '@eligo/postgres';
import type { Subscription } from '../domain/subscription.ts';
import { type SubscriptionStatus, subscriptionStates } from '../domain/subscription-states.ts';
import {
  type ItemJson,
  insertSubscriptionItems,
  itemOfJson,
  itemsOf,
  saveSubscriptionItems,
} from './subscription-items.ts';

/** The subscription with its items, or undefined. */
export async function findSubscription(db: Db, scope: Scope, id: string): Promise<Subscription | undefined> {
  const row = await db.row(selectOne, scope, [id]);
  return row && subscriptionOfRow(row);
}

/** The same, locked until the transaction ends. */
export async function lockSubscription(tx: Tx, scope: Scope, id: string): Promise<Subscription | undefined> {
  const row = await tx.row(selectForUpdate, scope, [id]);
  return row && subscriptionOfRow(row);
}

/** Those of the ids that are subscriptions, in no order. */
export async function findSubscriptions(db: Db, scope: Scope, ids: readonly string[]): Promise<Subscription[]> {
  return (await db.rows(selectMany, scope, [ids])).map(subscriptionOfRow);
}

/** A page, newest first. */
export async function listSubscriptions(
  db: Db,
  scope: Scope,
  page: Page,
  of: { customerId?: string | undefined; status?: string | undefined },
): Promise<{ subscriptions: Subscription[]; hasMore: boolean }> {
  const { rows, hasMore } = await readPage<SubscriptionRow>(
    db,
    scope,
    {
      table: 'subscriptions',
      id: 'id',
      columns: [...columns.map((column) => `subscriptions.${column}`), sqlBuilder.raw(itemsOf('subscriptions'))],
      filter: (query) => {
        if (of.customerId !== undefined) query.where('customer_id', of.customerId);
        if (of.status !== undefined) query.where('status', of.status);
      },
    },
    page,
  );
  return { subscriptions: rows.map(subscriptionOfRow), hasMore };
}

/** Writes a new subscription with its items; false when it was there, and then nothing is written. */
export async function insertSubscription(tx: Tx, scope: Scope, made: Subscription): Promise<boolean> {
  const written = await tx.execute(insert, scope, [
    made.id,
    made.customerId,
    made.checkoutSessionId,
    made.testClockId,
    made.status,
    made.anchor,
    made.interval,
    made.intervalCount,
    made.currentPeriodStart,
    made.currentPeriodEnd,
    made.trialStart,
    made.trialEnd,
    made.cancelAtPeriodEnd,
    made.cancelAt,
    made.latestInvoiceId,
    made.defaultPaymentMethodId,
    made.backupPaymentMethodId,
    made.prorationBehavior,
    made.missingPaymentMethod,
    JSON.stringify(made.discounts),
    made.metadata,
    made.createdAt,
    made.paymentAt,
    made.noticeAt,
    made.expiresAt,
    made.heldUntil,
  ]);
  if (written === 0) return false;
  await insertSubscriptionItems(tx, scope, made.id, made.items);
  return true;
}

/** Writes what changes of a subscription; throws for a move that is not in the state table, and when it was changed since it was read. */
export async function saveSubscription(
  tx: Tx,
  scope: Scope,
  before: Subscription,
  after: Subscription,
): Promise<Subscription> {
  if (before.status !== after.status) subscriptionStates.assertMove(before.status, after.status);
  const written = await tx.row(update, scope, [
    before.id,
    before.version,
    before.status,
    after.status,
    after.cancelAtPeriodEnd,
    after.cancelAt,
    after.canceledAt,
    after.anchor,
    after.currentPeriodStart,
    after.currentPeriodEnd,
    after.trialEnd,
    after.latestInvoiceId,
    after.defaultPaymentMethodId,
    after.backupPaymentMethodId,
    JSON.stringify(after.discounts),
    after.metadata,
    after.paymentAt,
    after.noticeAt,
    after.heldUntil,
    after.expiresAt,
    after.prorationBehavior,
    after.trialStart,
    after.interval,
    after.intervalCount,
    after.setUpRecordedAt,
    after.trialCutShort,
  ]);
  if (written === undefined) throw new Error('A subscription changed after it was read');
  await saveSubscriptionItems(tx, scope, before, after);
  return { ...after, remindAt: written.remind_at, version: before.version + 1n };
}

/** Says that the end of the present period was announced, and gives the subscription back. The caller holds the row. */
export async function clearReminder(tx: Tx, scope: Scope, id: string): Promise<void> {
  await tx.execute(clear, scope, [id]);
}

/** A row of `subscriptionColumns`. */
export interface SubscriptionRow {
  id: string;
  customer_id: string;
  checkout_session_id: string | null;
  test_clock_id: string | null;
  status: SubscriptionStatus;
  anchor: Date;
  interval: Subscription['interval'];
  interval_count: number;
  current_period_start: Date;
  current_period_end: Date;
  trial_start: Date | null;
  trial_end: Date | null;
  trial_cut_short: boolean;
  cancel_at_period_end: boolean;
  cancel_at: Date | null;
  canceled_at: Date | null;
  latest_invoice_id: string | null;
  default_payment_method_id: string | null;
  backup_payment_method_id: string | null;
  proration_behavior: string | null;
  missing_payment_method: string | null;
  discounts: unknown[];
  metadata: Record<string, string>;
  created_at: Date;
  payment_at: Date | null;
  notice_at: Date | null;
  remind_at: Date | null;
  held_until: Date | null;
  expires_at: Date | null;
  set_up_recorded_at: Date | null;
  version: bigint;
  items: ItemJson[];
}

export function subscriptionOfRow(row: SubscriptionRow): Subscription {
  return {
    id: row.id,
    customerId: row.customer_id,
    checkoutSessionId: row.checkout_session_id,
    testClockId: row.test_clock_id,
    status: row.status,
    anchor: row.anchor,
    interval: row.interval,
    intervalCount: row.interval_count,
    currentPeriodStart: row.current_period_start,
    currentPeriodEnd: row.current_period_end,
    trialStart: row.trial_start,
    trialEnd: row.trial_end,
    trialCutShort: row.trial_cut_short,
    cancelAtPeriodEnd: row.cancel_at_period_end,
    cancelAt: row.cancel_at,
    canceledAt: row.canceled_at,
    latestInvoiceId: row.latest_invoice_id,
    defaultPaymentMethodId: row.default_payment_method_id,
    backupPaymentMethodId: row.backup_payment_method_id,
    prorationBehavior: row.proration_behavior,
    missingPaymentMethod: row.missing_payment_method,
    discounts: row.discounts,
    metadata: row.metadata,
    paymentAt: row.payment_at,
    noticeAt: row.notice_at,
    remindAt: row.remind_at,
    heldUntil: row.held_until,
    expiresAt: row.expires_at,
    setUpRecordedAt: row.set_up_recorded_at,
    items: row.items.map(itemOfJson),
    createdAt: row.created_at,
    version: row.version,
  };
}

const columns = [
  'id',
  'customer_id',
  'checkout_session_id',
  'test_clock_id',
  'status',
  'anchor',
  'interval',
  'interval_count',
  'current_period_start',
  'current_period_end',
  'trial_start',
  'trial_end',
  'trial_cut_short',
  'cancel_at_period_end',
  'cancel_at',
  'canceled_at',
  'latest_invoice_id',
  'default_payment_method_id',
  'backup_payment_method_id',
  'proration_behavior',
  'missing_payment_method',
  'discounts',
  'metadata',
  'created_at',
  'payment_at',
  'notice_at',
  'remind_at',
  'held_until',
  'expires_at',
  'set_up_recorded_at',
  'version',
];

/** The columns of a subscription, and its items, for every statement that reads whole ones. */
export function subscriptionColumns(table: string): string {
  return `${columns.map((column) => `${table}.${column}`).join(', ')}, ${itemsOf(table)}`;
}

const selectOne = scoped<SubscriptionRow>(
  'subscriptions.find',
  `select ${subscriptionColumns('s')} from subscriptions s where s.account_id = $1 and s.test_mode = $2 and s.id = $3`,
);
const selectForUpdate = scoped<SubscriptionRow>(
  'subscriptions.lock',
  `select ${subscriptionColumns('s')} from subscriptions s where s.account_id = $1 and s.test_mode = $2 and s.id = $3 for update of s`,
);
const selectMany = scoped<SubscriptionRow>(
  'subscriptions.find_many',
  `select ${subscriptionColumns('s')} from subscriptions s where s.account_id = $1 and s.test_mode = $2 and s.id = any($3::text[])`,
);
const insert = scoped(
  'subscriptions.insert',
  `insert into subscriptions (account_id, test_mode, id, customer_id, checkout_session_id, test_clock_id, status, anchor, interval,
     interval_count, current_period_start, current_period_end, trial_start, trial_end, cancel_at_period_end, cancel_at,
     latest_invoice_id, default_payment_method_id, backup_payment_method_id, proration_behavior, missing_payment_method,
     discounts, metadata, created_at, payment_at, notice_at, expires_at, held_until)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28)
   on conflict (account_id, test_mode, id) do nothing`,
);
const update = scoped<{ remind_at: Date | null }>(
  'subscriptions.save',
  `update subscriptions set status = $6, cancel_at_period_end = $7, cancel_at = $8, canceled_at = $9, anchor = $10, current_period_start = $11,
     current_period_end = $12, trial_end = $13, latest_invoice_id = $14, default_payment_method_id = $15, backup_payment_method_id = $16,
     discounts = $17, metadata = $18, payment_at = $19, notice_at = $20, held_until = $21, expires_at = $22,
     proration_behavior = $23, trial_start = $24, interval = $25, interval_count = $26,
     set_up_recorded_at = $27, trial_cut_short = $28, version = version + 1
   where account_id = $1 and test_mode = $2 and id = $3 and version = $4 and status = $5
   returning remind_at`,
);
const clear = scoped(
  'subscriptions.clear_reminder',
  `update subscriptions set remind_at = null, held_until = null, version = version + 1
   where account_id = $1 and test_mode = $2 and id = $3`,
);

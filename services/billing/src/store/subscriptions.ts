import { type Db, type Page, readPage, type Scope, scoped, sqlBuilder, type Tx } from '@eligo/postgres';
import { centsFromInt64 } from '@eligo/values';
import type { Subscription, SubscriptionItem } from '../domain/subscription.ts';
import { type SubscriptionStatus, subscriptionStates } from '../domain/subscription-states.ts';

/** The subscription with its items, or undefined. */
export async function findSubscription(db: Db, scope: Scope, id: string): Promise<Subscription | undefined> {
  const row = await db.row(selectOne, scope, [id]);
  return row && fromRow(row);
}

/** The same, locked until the transaction ends. */
export async function lockSubscription(tx: Tx, scope: Scope, id: string): Promise<Subscription | undefined> {
  const row = await tx.row(selectForUpdate, scope, [id]);
  return row && fromRow(row);
}

/** Those of the ids that are subscriptions, in no order. */
export async function findSubscriptions(db: Db, scope: Scope, ids: readonly string[]): Promise<Subscription[]> {
  return (await db.rows(selectMany, scope, [ids])).map(fromRow);
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
  return { subscriptions: rows.map(fromRow), hasMore };
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
  ]);
  if (written === 0) return false;
  await tx.execute(insertItems, scope, [
    made.id,
    made.items.map((item) => item.id),
    made.items.map((item) => item.priceId),
    made.items.map((item) => item.quantity),
    made.items.map((item) => item.unitAmountCents),
    made.createdAt,
    made.items.map((item) => item.productId),
    made.items.map((item) => item.taxCents),
    made.items.map((item) => item.shippingCents),
    made.items.map((item) => item.soldByRule),
  ]);
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
  const written = await tx.execute(update, scope, [
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
  ]);
  if (written !== 1) throw new Error('A subscription changed after it was read');
  return { ...after, version: before.version + 1n };
}

interface SubscriptionRow {
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
  held_until: Date | null;
  version: bigint;
  items: {
    id: string;
    priceId: string;
    productId: string | null;
    quantity: string;
    unitAmountCents: string;
    taxCents: string;
    shippingCents: string;
    soldByRule: string | null;
    createdAt: number;
    updatedAt: number;
  }[];
}

function fromRow(row: SubscriptionRow): Subscription {
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
    heldUntil: row.held_until,
    items: row.items.map(itemOfRow),
    createdAt: row.created_at,
    version: row.version,
  };
}

function itemOfRow(item: SubscriptionRow['items'][number]): SubscriptionItem {
  return {
    id: item.id,
    priceId: item.priceId,
    productId: item.productId,
    quantity: Number(item.quantity),
    unitAmountCents: centsFromInt64(BigInt(item.unitAmountCents)),
    taxCents: centsFromInt64(BigInt(item.taxCents)),
    shippingCents: centsFromInt64(BigInt(item.shippingCents)),
    soldByRule: item.soldByRule,
    createdAt: new Date(item.createdAt),
    updatedAt: new Date(item.updatedAt),
  };
}

// int64 as text and times as milliseconds: numbers inside json lose what does not fit a double.
function itemsOf(table: string): string {
  return `(select coalesce(json_agg(json_build_object('id', i.id, 'priceId', i.price_id, 'quantity', i.quantity::text,
      'unitAmountCents', i.unit_amount_cents::text, 'productId', i.product_id, 'taxCents', i.tax_cents::text,
      'shippingCents', i.shipping_cents::text, 'soldByRule', i.sold_by_rule, 'createdAt', (extract(epoch from i.created_at) * 1000)::bigint,
      'updatedAt', (extract(epoch from i.updated_at) * 1000)::bigint) order by i.position), '[]')
    from subscription_items i where i.account_id = ${table}.account_id and i.test_mode = ${table}.test_mode
      and i.subscription_id = ${table}.id) as items`;
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
  'held_until',
  'version',
];

function columnsOf(table: string): string {
  return columns.map((column) => `${table}.${column}`).join(', ');
}

const selectOne = scoped<SubscriptionRow>(
  'subscriptions.find',
  `select ${columnsOf('s')}, ${itemsOf('s')} from subscriptions s where s.account_id = $1 and s.test_mode = $2 and s.id = $3`,
);
const selectForUpdate = scoped<SubscriptionRow>(
  'subscriptions.lock',
  `select ${columnsOf('s')}, ${itemsOf('s')} from subscriptions s where s.account_id = $1 and s.test_mode = $2 and s.id = $3 for update of s`,
);
const selectMany = scoped<SubscriptionRow>(
  'subscriptions.find_many',
  `select ${columnsOf('s')}, ${itemsOf('s')} from subscriptions s where s.account_id = $1 and s.test_mode = $2 and s.id = any($3::text[])`,
);
const insert = scoped(
  'subscriptions.insert',
  `insert into subscriptions (account_id, test_mode, id, customer_id, checkout_session_id, test_clock_id, status, anchor, interval,
     interval_count, current_period_start, current_period_end, trial_start, trial_end, cancel_at_period_end, cancel_at,
     latest_invoice_id, default_payment_method_id, backup_payment_method_id, proration_behavior, missing_payment_method,
     discounts, metadata, created_at, payment_at, notice_at)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26)
   on conflict (account_id, test_mode, id) do nothing`,
);
const insertItems = scoped(
  'subscriptions.insert_items',
  `insert into subscription_items (account_id, test_mode, subscription_id, id, position, price_id, quantity, unit_amount_cents,
     created_at, updated_at, product_id, tax_cents, shipping_cents, sold_by_rule)
   select $1, $2, $3, item.id, item.position - 1, item.price_id, item.quantity, item.amount, $8, $8, item.product_id, item.tax, item.shipping,
     item.rule
   from unnest($4::text[], $5::text[], $6::bigint[], $7::bigint[], $9::text[], $10::bigint[], $11::bigint[], $12::text[])
     with ordinality as item (id, price_id, quantity, amount, product_id, tax, shipping, rule, position)`,
);
const update = scoped(
  'subscriptions.save',
  `update subscriptions set status = $6, cancel_at_period_end = $7, cancel_at = $8, canceled_at = $9, anchor = $10, current_period_start = $11,
     current_period_end = $12, trial_end = $13, latest_invoice_id = $14, default_payment_method_id = $15, backup_payment_method_id = $16,
     discounts = $17, metadata = $18, payment_at = $19, notice_at = $20, held_until = $21, version = version + 1
   where account_id = $1 and test_mode = $2 and id = $3 and version = $4 and status = $5`,
);

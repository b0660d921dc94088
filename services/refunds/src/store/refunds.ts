import { type Db, type Page, type PageSource, readPage, type Scope, scoped, type Tx } from '@eligo/postgres';
import { centsFromInt64 } from '@eligo/values';
import type { Refund, RefundItem } from '../domain/refund.ts';
import type { RefundStatus } from '../domain/refund-states.ts';
import { itemsOf, joinedItem, joinedItemColumns } from './refund-items.ts';

/** The refund, or undefined when there is none that may be shown. */
export async function findRefund(db: Db, scope: Scope, refundId: string): Promise<Refund | undefined> {
  const rows = await db.rows(select, scope, [refundId]);
  return (
    rows[0] &&
    fromRow(
      rows[0],
      rows.flatMap((row) => joinedItem(row) ?? []),
    )
  );
}

/** The same, and nobody else moves it until the transaction ends. Every writer of a refund takes this lock first. */
export async function lockRefund(tx: Tx, scope: Scope, refundId: string): Promise<Refund | undefined> {
  const [row, items] = await Promise.all([tx.row(selectForUpdate, scope, [refundId]), itemsOf(tx, scope, [refundId])]);
  return row === undefined ? undefined : fromRow(row, items.get(refundId) ?? []);
}

/** What a list of refunds is narrowed to. */
export interface RefundFilter {
  readonly paymentIntentId?: string | undefined;
  readonly checkoutSessionId?: string | undefined;
}

/** A page of the account's refunds, newest first. */
export async function listRefunds(
  db: Db,
  scope: Scope,
  filter: RefundFilter,
  page: Page,
): Promise<{ refunds: Refund[]; hasMore: boolean }> {
  const source = { ...sourceOf(filter), columns: columns.map((column) => `refunds.${column}`) };
  const { rows, hasMore } = await readPage<RefundRow>(db, scope, source, page);
  const items = await itemsOf(
    db,
    scope,
    rows.map(({ id }) => id),
  );
  return { refunds: rows.map((row) => fromRow(row, items.get(row.id) ?? [])), hasMore };
}

const refunds = { table: 'refunds', id: 'id' };

// A payment's refunds are read from their parts, in the order of their ids, each then looked up: as a condition on refunds it would read the whole account
// for a payment that has few.
function sourceOf({ paymentIntentId, checkoutSessionId }: RefundFilter): Omit<PageSource, 'columns'> {
  const narrow: PageSource['filter'] = (query) => {
    query.whereRaw('refunds.amount_cents is not null');
    if (checkoutSessionId !== undefined) query.where('refunds.checkout_session_id', checkoutSessionId);
  };
  if (paymentIntentId === undefined) return { ...refunds, filter: narrow };
  return {
    ...{ table: 'refund_items', id: 'refund_id', records: refunds },
    filter: (query) => {
      query.where('refund_items.payment_intent_id', paymentIntentId).joinRaw(lookUpRefund);
      narrow(query);
    },
  };
}

const lookUpRefund = `cross join lateral (
  select * from refunds r where r.account_id = refund_items.account_id and r.test_mode = refund_items.test_mode
    and r.id = refund_items.refund_id offset 0) refunds`;

/** Stores how a refund has moved; the caller holds its lock. */
export async function saveRefund(tx: Tx, scope: Scope, before: Refund, after: Refund): Promise<void> {
  const written = await tx.execute(update, scope, [
    after.refundId,
    before.status,
    after.status,
    after.failedCents,
    after.reference.id,
    after.reference.type,
    after.reference.status,
    after.failureBalanceTransactionId,
    after.reason,
    JSON.stringify(after.metadata),
  ]);
  if (written !== 1) throw new Error('A locked refund changed');
}

interface RefundRow {
  id: string;
  status: RefundStatus;
  amount_cents: bigint;
  failed_cents: bigint;
  payment_intent_id: string;
  checkout_session_id: string | null;
  customer_id: string | null;
  subscription_id: string | null;
  invoice_id: string | null;
  reason: string | null;
  metadata: Record<string, string>;
  reference_id: string | null;
  reference_type: string | null;
  reference_status: string | null;
  balance_transaction_id: string;
  failure_balance_transaction_id: string | null;
  created_at: Date;
  test_mode: boolean;
}

const columns = [
  'id',
  'status',
  'amount_cents',
  'failed_cents',
  'payment_intent_id',
  'checkout_session_id',
  'customer_id',
  'subscription_id',
  'invoice_id',
  'reason',
  'metadata',
  'reference_id',
  'reference_type',
  'reference_status',
  'balance_transaction_id',
  'failure_balance_transaction_id',
  'created_at',
  'test_mode',
] as const;

const one = 'account_id = $1 and test_mode = $2 and id = $3';
const shown = `${one} and amount_cents is not null`;

// By one statement, so that it shows the refund and its parts as they are at one moment.
const select = scoped<RefundRow>(
  'refunds.get',
  `select ${columns.map((column) => `r.${column}`)}, ${joinedItemColumns()}
     from (select * from refunds.refunds where ${shown}) r
     left join refunds.refund_items i on i.account_id = $1 and i.test_mode = $2 and i.refund_id = $3
    order by i.position`,
);
const selectForUpdate = scoped<RefundRow>(
  'refunds.lock',
  `select ${columns} from refunds.refunds where ${shown} for no key update`,
);
const update = scoped(
  'refunds.save',
  `update refunds.refunds
      set status = $5, failed_cents = $6, reference_id = $7, reference_type = $8, reference_status = $9,
          failure_balance_transaction_id = $10, reason = $11, metadata = $12, version = version + 1
    where ${one} and status = $4`,
);

function fromRow(row: RefundRow, items: readonly RefundItem[]): Refund {
  return {
    refundId: row.id,
    status: row.status,
    amountCents: centsFromInt64(row.amount_cents),
    failedCents: centsFromInt64(row.failed_cents),
    paymentIntentId: row.payment_intent_id,
    checkoutSessionId: row.checkout_session_id,
    customerId: row.customer_id,
    subscriptionId: row.subscription_id,
    invoiceId: row.invoice_id,
    reason: row.reason,
    metadata: row.metadata,
    reference: { id: row.reference_id, type: row.reference_type, status: row.reference_status },
    balanceTransactionId: row.balance_transaction_id,
    failureBalanceTransactionId: row.failure_balance_transaction_id,
    createdAt: row.created_at,
    testMode: row.test_mode,
    items,
  };
}

import { type Db, leaseFromNow, leaseIsLive, type Scope, scoped, type Tx } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import { cents, centsFromInt64, type ProcessorAccountRow, processorAccountOfRow } from '@eligo/values';
import type { RefundedCapture, RefundItem, RefundReference } from '../domain/refund.ts';
import type { ItemStatus } from '../domain/refund-states.ts';
import { sweepRefundsJob } from './due-work.ts';

/** A card's failed part that checkout has yet to release. */
export interface ReleasingItem {
  readonly refundId: string;
  readonly paymentIntentId: string;
  readonly epoch: number;
  readonly checks: number;
}

/** The parts of these refunds, by refund. */
export async function itemsOf(
  db: Db,
  scope: Scope,
  refundIds: readonly string[],
): Promise<Map<string, readonly RefundItem[]>> {
  const rows = await db.rows(select, scope, [refundIds]);
  const byRefund = Map.groupBy(rows, ({ refund_id }) => refund_id);
  return new Map([...byRefund].map(([refundId, own]) => [refundId, own.map(fromRow)]));
}

/** What a statement that joins a refund's parts as `i` selects of each. */
export function joinedItemColumns(): string {
  return itemColumns.map((column) => `i.${column} as "item.${column}"`).join(', ');
}

/** The part that a row of such a statement has. One of a refund without parts has none. */
export function joinedItem(row: object): RefundItem | undefined {
  const own = Object.entries(row).flatMap(([name, value]) =>
    name.startsWith('item.') ? [[name.slice('item.'.length), value] as const] : [],
  );
  const item = Object.fromEntries(own) as unknown as ItemRow;
  return item.refund_id === null ? undefined : fromRow(item);
}

/** Moves a part that the processor has decided or let wait; false when it does not stand where it was thought to. */
export async function moveItem(
  tx: Tx,
  scope: Scope,
  refundId: string,
  item: RefundItem,
  to: {
    status: ItemStatus;
    endStatus?: 'failed' | 'canceled';
    failureCode?: string | undefined;
    reference?: RefundReference;
  },
): Promise<boolean> {
  const reference = to.reference ?? item.reference;
  const moved = await tx.execute(move, scope, [
    refundId,
    item.paymentIntentId,
    item.status,
    to.status,
    to.endStatus ?? item.endStatus,
    to.failureCode ?? null,
    reference.id,
    reference.type,
    reference.status,
  ]);
  return moved === 1;
}

/** Takes a releasing part whose lease has lapsed; undefined when there is nothing to be done or somebody does it. */
export async function claimReleasingItem(
  tx: Tx,
  scope: Scope,
  refundId: string,
  paymentIntentId: string,
  leaseMs: number,
): Promise<ReleasingItem | undefined> {
  const row = await tx.row(claim, scope, [refundId, paymentIntentId, leaseMs]);
  return row === undefined ? undefined : { refundId, paymentIntentId, epoch: row.epoch, checks: row.checks };
}

/** Puts a releasing part off. */
export async function postponeReleasingItem(tx: Tx, scope: Scope, item: ReleasingItem, pauseMs: number): Promise<void> {
  wakeJobAfterCommit(tx, sweepRefundsJob, pauseMs);
  await tx.execute(postpone, scope, [item.refundId, item.paymentIntentId, item.epoch, pauseMs]);
}

/** Ends a releasing part; false when it has ended already. */
export async function endReleasingItem(
  tx: Tx,
  scope: Scope,
  refundId: string,
  paymentIntentId: string,
): Promise<{ returned: boolean } | undefined> {
  return tx.row(end, scope, [refundId, paymentIntentId]);
}

interface ItemRow extends ProcessorAccountRow {
  refund_id: string;
  payment_intent_id: string;
  payment_method_id: string;
  charge_id: string;
  processor_intent_id: string;
  amount_cents: bigint;
  status: ItemStatus;
  end_status: 'failed' | 'canceled' | null;
  reference_id: string | null;
  reference_type: string | null;
  reference_status: string | null;
  balance_transaction_id: string | null;
  captures: readonly CaptureJson[];
}

/** An entry of `refund_items.captures`. */
export interface CaptureJson {
  readonly capture_id: string;
  readonly amount_cents: number;
}

export function capturesOfJson(captures: readonly CaptureJson[]): RefundedCapture[] {
  return captures.map(({ capture_id, amount_cents }) => ({ captureId: capture_id, amountCents: cents(amount_cents) }));
}

export function jsonOfCaptures(captures: readonly RefundedCapture[]): string {
  return JSON.stringify(
    captures.map(({ captureId, amountCents }): CaptureJson => ({ capture_id: captureId, amount_cents: amountCents })),
  );
}

const itemColumns = [
  ...['refund_id', 'payment_intent_id', 'payment_method_id', 'charge_id', 'processor_intent_id', 'amount_cents'],
  ...['status', 'end_status', 'reference_id', 'reference_type', 'reference_status', 'processor', 'processor_account'],
  ...['balance_transaction_id', 'captures'],
] as const;

const here = 'account_id = $1 and test_mode = $2';
const one = `${here} and refund_id = $3 and payment_intent_id = $4`;

const select = scoped<ItemRow>(
  'refund_items.of',
  `select ${itemColumns.join(', ')} from refunds.refund_items where ${here} and refund_id = any($3::text[]) order by refund_id, position`,
);
const move = scoped(
  'refund_items.move',
  `update refunds.refund_items
      set status = $6, end_status = $7, failure_code = coalesce($8, failure_code),
          returned = returned or ($5 = 'succeeded' and $6 = 'releasing'),
          reference_id = $9, reference_type = $10, reference_status = $11,
          next_check_at = case when $6 = 'releasing' then clock_timestamp() end, lease_until = null
    where ${one} and status = $5`,
);
const claim = scoped<{ epoch: number; checks: number }>(
  'refund_items.claim',
  `update refunds.refund_items set epoch = epoch + 1, lease_until = ${leaseFromNow('$5')}
    where ${one} and status = 'releasing' and (lease_until is null or not (${leaseIsLive()}))
    returning epoch, checks`,
);
const postpone = scoped(
  'refund_items.postpone',
  `update refunds.refund_items set checks = checks + 1, lease_until = null, next_check_at = ${leaseFromNow('$6')}
    where ${one} and status = 'releasing' and epoch = $5`,
);
const end = scoped<{ returned: boolean }>(
  'refund_items.end',
  `update refunds.refund_items set status = end_status, next_check_at = null, lease_until = null
    where ${one} and status = 'releasing' returning returned`,
);

function fromRow(row: ItemRow): RefundItem {
  return {
    paymentIntentId: row.payment_intent_id,
    paymentMethodId: row.payment_method_id,
    chargeId: row.charge_id,
    processorAccount: processorAccountOfRow(row),
    processorIntentId: row.processor_intent_id,
    amountCents: centsFromInt64(row.amount_cents),
    status: row.status,
    endStatus: row.end_status,
    reference: { id: row.reference_id, type: row.reference_type, status: row.reference_status },
    balanceTransactionId: row.balance_transaction_id,
    captures: capturesOfJson(row.captures),
  };
}

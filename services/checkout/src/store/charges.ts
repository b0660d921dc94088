import { type Db, type Page, readPage, type Scope, scoped } from '@eligo/postgres';
import { centsFromInt64 } from '@eligo/values';
import { balanceTransactionOf } from '../domain/balance-transaction.ts';
import type { Charge } from '../domain/payment-intent.ts';

/** A row of `chargeFields`. */
export interface ChargeRow {
  id: string;
  payment_intent_id: string;
  payment_method_id: string | null;
  status: Charge['status'];
  amount_cents: bigint;
  amount_captured_cents: bigint;
  amount_refunded_cents: bigint;
  failure_code: string | null;
  decline_code: string | null;
  balance_transaction_id: string | null;
  disputed: boolean;
  created_at: Date;
}

/** The columns of a charge, for every statement that reads whole ones. */
export const chargeFields = [
  'id',
  'payment_intent_id',
  'payment_method_id',
  'status',
  'amount_cents',
  'amount_captured_cents',
  'amount_refunded_cents',
  'failure_code',
  'decline_code',
  'balance_transaction_id',
  'disputed',
  'created_at',
] as const satisfies (keyof ChargeRow)[];

export function chargeOfRow(row: ChargeRow): Charge {
  return {
    id: row.id,
    paymentIntentId: row.payment_intent_id,
    paymentMethodId: row.payment_method_id,
    status: row.status,
    amountCents: centsFromInt64(row.amount_cents),
    amountCapturedCents: centsFromInt64(row.amount_captured_cents),
    amountRefundedCents: centsFromInt64(row.amount_refunded_cents),
    failureCode: row.failure_code,
    declineCode: row.decline_code,
    // A charge that an earlier release captured stored none.
    balanceTransactionId:
      row.balance_transaction_id ?? (row.amount_captured_cents > 0n ? balanceTransactionOf(row.id) : null),
    disputed: row.disputed,
    createdAt: row.created_at,
  };
}

const byId = scoped<ChargeRow>(
  'checkout.charge',
  `select ${chargeFields.join(', ')} from checkout.charges where account_id = $1 and test_mode = $2 and id = $3`,
);

/** The charge, or undefined. */
export async function findCharge(db: Db, scope: Scope, id: string): Promise<Charge | undefined> {
  const row = await db.row(byId, scope, [id]);
  return row && chargeOfRow(row);
}

/** A page of charges, newest first, of one payment intent if asked. */
export async function listCharges(
  db: Db,
  scope: Scope,
  page: Page,
  paymentIntentId: string | undefined,
): Promise<{ charges: Charge[]; hasMore: boolean }> {
  const { rows, hasMore } = await readPage<ChargeRow>(
    db,
    scope,
    {
      table: 'checkout.charges',
      id: 'id',
      columns: chargeFields,
      filter: (query) => {
        if (paymentIntentId !== undefined) query.where('payment_intent_id', paymentIntentId);
      },
    },
    page,
  );
  return { charges: rows.map(chargeOfRow), hasMore };
}

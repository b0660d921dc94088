import { type Db, type Scope, scoped } from '@eligo/postgres';
import { type Cents, centsFromInt64 } from '@eligo/values';

/** What a card got back of a line by one refund. */
export interface RefundedLine {
  readonly lineId: string;
  readonly paymentIntentId: string;
  readonly amountCents: Cents;
}

/** What stands of a refund, line by line: without the cards whose part failed and was given back to the session. */
export async function loadRefundedLines(db: Db, scope: Scope, refundId: string): Promise<RefundedLine[]> {
  const rows = await db.rows(select, scope, [refundId]);
  return rows.map((row) => ({
    lineId: row.line_id,
    paymentIntentId: row.payment_intent_id,
    amountCents: centsFromInt64(row.amount_cents),
  }));
}

const select = scoped<{ line_id: string; payment_intent_id: string; amount_cents: bigint }>(
  'checkout.refunded_lines',
  `select l.line_id, l.payment_intent_id, l.amount_cents
   from checkout.refund_reservation_lines l join checkout.refund_reservation_parts p
     on p.account_id = l.account_id and p.test_mode = l.test_mode and p.refund_id = l.refund_id and p.payment_intent_id = l.payment_intent_id
   where l.account_id = $1 and l.test_mode = $2 and l.refund_id = $3 and not p.released order by l.line_id, l.payment_intent_id`,
);

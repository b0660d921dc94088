import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import { centsFromInt64 } from '@eligo/values';
import type { LineShares, LineTender } from '../domain/line-tenders.ts';

const insert = scoped(
  'checkout.line_tenders_insert',
  `insert into checkout.line_tenders (account_id, test_mode, session_id, line_id, payment_intent_id, amount_cents)
   select $1, $2, $3, share.line_id, card.id, card.amount
   from unnest($6::text[], $7::bigint[], $8::bigint[]) share (line_id, health, other),
     lateral (values ($4::text, share.health), ($5::text, share.other)) card (id, amount)
   where card.amount > 0`,
);

/** Writes which card pays what of each line. Both cards are held. The constraints hold the sums at commit. */
export async function insertLineTenders(
  tx: Tx,
  scope: Scope,
  sessionId: string,
  { healthIntentId, otherIntentId }: { readonly healthIntentId: string; readonly otherIntentId: string },
  shares: readonly LineShares[],
): Promise<void> {
  await tx.execute(insert, scope, [
    ...[sessionId, healthIntentId, otherIntentId],
    shares.map(({ lineId }) => lineId),
    shares.map(({ healthCents }) => healthCents),
    shares.map(({ otherCents }) => otherCents),
  ]);
}

interface TenderRow {
  line_id: string;
  payment_intent_id: string;
  amount_cents: bigint;
  captured_cents: bigint;
  refunded_cents: bigint;
}

// The health card's first. A hold that was voided before anything was captured of it pays nothing.
const ofSession = scoped<TenderRow>(
  'checkout.line_tenders_of_session',
  `select t.line_id, t.payment_intent_id, t.amount_cents, t.captured_cents, t.refunded_cents
   from checkout.line_tenders t
   join checkout.payment_intents i on i.account_id = $1 and i.test_mode = $2 and i.id = t.payment_intent_id and i.status <> 'canceled'
   where t.account_id = $1 and t.test_mode = $2 and t.session_id = $3
   order by i.leg, t.line_id`,
);

/** Which card pays what of each line; none for a session each of whose lines is paid with one card. */
export async function loadLineTenders(db: Db, scope: Scope, sessionId: string): Promise<LineTender[]> {
  return (await db.rows(ofSession, scope, [sessionId])).map((row) => ({
    lineId: row.line_id,
    paymentIntentId: row.payment_intent_id,
    amountCents: centsFromInt64(row.amount_cents),
    capturedCents: centsFromInt64(row.captured_cents),
    refundedCents: centsFromInt64(row.refunded_cents),
  }));
}

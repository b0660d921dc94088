import { type Db, type Scope, scoped } from '@eligo/postgres';
import { centsFromInt64 } from '@eligo/values';
import type { EligibilityRecord, LineMovement, SubstantiatedPayment } from '../domain/substantiation.ts';
import { type ChargeRow, chargeFields, chargeOfRow } from './charges.ts';
import { findPaymentMethods } from './payment-methods.ts';

/** The record of a session's decision, as its latest version has it, or undefined. */
export async function findEligibilityRecord(
  db: Db,
  scope: Scope,
  sessionId: string,
): Promise<EligibilityRecord | undefined> {
  const row = await db.row(record, scope, [sessionId]);
  return row && { id: row.id, foodPolicyVersion: row.policy_version, createdAt: row.created_at };
}

/** The charges of a session that succeeded, with their cards. */
export async function chargedCards(db: Db, scope: Scope, sessionId: string): Promise<SubstantiatedPayment[]> {
  const rows = await db.rows(charged, scope, [sessionId]);
  const ids = rows.flatMap(({ payment_method_id: id }) => id ?? []);
  const methods = await findPaymentMethods(db, scope, ids);
  return rows.map((row) => ({
    leg: row.leg,
    charge: chargeOfRow(row),
    method: methods.find(({ id }) => id === row.payment_method_id),
  }));
}

/** What captures of holds took of each line of a session. */
export async function lineCaptures(db: Db, scope: Scope, sessionId: string): Promise<LineMovement[]> {
  return (await db.rows(captured, scope, [sessionId])).map(movementOfRow);
}

/** What these refunds give back of each line, the newest first; what a card did not take back is left out. */
export async function lineRefunds(
  db: Db,
  scope: Scope,
  refundIds: readonly string[],
  most: number,
): Promise<LineMovement[]> {
  return (await db.rows(refunded, scope, [refundIds, most])).map(movementOfRow);
}

interface MovementRow {
  readonly line_id: string;
  readonly source_id: string;
  readonly payment_intent_id: string;
  readonly amount_cents: bigint;
  readonly at: Date;
}

function movementOfRow(row: MovementRow): LineMovement {
  return {
    lineId: row.line_id,
    sourceId: row.source_id,
    paymentIntentId: row.payment_intent_id,
    amountCents: centsFromInt64(row.amount_cents),
    at: row.at,
  };
}

const record = scoped<{ id: string; policy_version: string | null; created_at: Date }>(
  'substantiation.record',
  `select case when v.id is null then r.id else v.id end as id, r.policy_version,
     case when v.id is null then r.created_at else v.created_at end as created_at
   from checkout.eligibility_records r
   left join lateral (
     select s.id, s.created_at from checkout.session_split_versions s
     where s.account_id = $1 and s.test_mode = $2 and s.session_id = $3 order by s.version desc limit 1
   ) v on true
   where r.account_id = $1 and r.test_mode = $2 and r.session_id = $3`,
);

const charged = scoped<ChargeRow & { readonly leg: SubstantiatedPayment['leg'] }>(
  'substantiation.charges',
  `select ${chargeFields.map((field) => `c.${field}`).join(', ')}, i.leg
   from checkout.payment_intents i
   join checkout.charges c on c.account_id = $1 and c.test_mode = $2 and c.payment_intent_id = i.id and c.status = 'succeeded'
   where i.account_id = $1 and i.test_mode = $2 and i.session_id = $3
   order by i.id`,
);

// What a card gave is captured, also where another card of the same capture was lost; such a capture has no record.
const captured = scoped<MovementRow>(
  'substantiation.captures',
  `select l.line_id, case when c.status = 'succeeded' then c.id else i.latest_charge_id end as source_id, l.payment_intent_id,
     l.amount_cents, c.created_at as at
   from checkout.captures c
   join checkout.capture_lines l on l.account_id = $1 and l.test_mode = $2 and l.capture_id = c.id
   join checkout.payment_intents i on i.account_id = $1 and i.test_mode = $2 and i.id = l.payment_intent_id
   where c.account_id = $1 and c.test_mode = $2 and c.session_id = $3 and exists (
     select from checkout.intent_operations o
     where o.account_id = $1 and o.test_mode = $2 and o.capture_id = c.id and o.payment_intent_id = l.payment_intent_id
       and o.status = 'done')
   order by c.id, l.line_id, l.payment_intent_id`,
);

const refunded = scoped<MovementRow>(
  'substantiation.refunds',
  `select l.line_id, l.refund_id as source_id, l.payment_intent_id, l.amount_cents, r.acting_at as at
   from checkout.refund_reservation_lines l
   join checkout.refund_reservations r on r.account_id = $1 and r.test_mode = $2 and r.refund_id = l.refund_id
   join checkout.refund_reservation_parts p on p.account_id = $1 and p.test_mode = $2 and p.refund_id = l.refund_id
     and p.payment_intent_id = l.payment_intent_id
   where l.account_id = $1 and l.test_mode = $2 and l.refund_id = any($3::text[]) and not p.released
   order by l.refund_id desc, l.line_id, l.payment_intent_id limit $4`,
);

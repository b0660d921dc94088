import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import { type ProcessorAccount, type ProcessorAccountRow, processorAccountOfRow } from '@eligo/values';
import type { PaidLines } from '../domain/paid-lines.ts';
import { isConfirmationToken } from '../domain/payment-method.ts';

// A line is paid by one card, whole: the two halves of a split never share one.
const capture = scoped(
  'checkout.session_lines_capture',
  `with lines as (
     update checkout.session_lines set amount_captured_cents = amount_total_cents, payment_intent_id = $4
     where account_id = $1 and test_mode = $2 and session_id = $3 and amount_captured_cents = 0 and amount_total_cents > 0
       and ($5 = 'all' or ($5 = 'eligible') = (amount_eligible_cents > 0))
     returning amount_tax_cents, amount_shipping_cents, amount_discount_cents
   ), sums as (
     select coalesce(sum(amount_tax_cents), 0) as tax, coalesce(sum(amount_shipping_cents), 0) as shipping,
       coalesce(sum(amount_discount_cents), 0) as discount from lines
   )
   update checkout.sessions s set captured_tax_cents = s.captured_tax_cents + sums.tax,
     captured_shipping_cents = s.captured_shipping_cents + sums.shipping,
     captured_discount_cents = s.captured_discount_cents + sums.discount
   from sums where s.account_id = $1 and s.test_mode = $2 and s.id = $3`,
);

/** Notes which lines a captured intent paid, and how much tax, shipping and discount went with them. */
export async function recordLinesCaptured(
  tx: Tx,
  scope: Scope,
  sessionId: string,
  intentId: string,
  lines: PaidLines,
): Promise<void> {
  await tx.execute(capture, scope, [sessionId, intentId, lines]);
}

const chargeRecord = scoped(
  'checkout.eligibility_record_charge',
  `update checkout.eligibility_records set charged_attempt_id = $4
   where account_id = $1 and test_mode = $2 and session_id = $3`,
);

/** Records which attempt charged or holds the eligible amount; null once a hold is voided. */
export async function recordEligibilityCharge(
  tx: Tx,
  scope: Scope,
  sessionId: string,
  attemptId: string | null,
): Promise<void> {
  await tx.execute(chargeRecord, scope, [sessionId, attemptId]);
}

interface FactsRow extends ProcessorAccountRow {
  session_id: string;
  record_id: string | null;
  food_policy: boolean | null;
  payment_method_id: string | null;
  payment_method_customer_id: string | null;
  processor_payment_method_id: string | null;
  processor_customer_id: string | null;
  off_session: boolean | null;
  hsa_fsa: boolean | null;
  customer_id: string | null;
  customer_deleted: boolean | null;
  has_live: boolean;
}

/** What a charge of a session depends on beside the session itself. */
export interface ChargeFacts {
  readonly eligibilityRecord: { readonly id: string; readonly foodPolicy: boolean } | undefined;
  readonly paymentMethod: ChargeableCard | undefined;
  readonly customer: { readonly id: string; readonly deleted: boolean } | undefined;
  /** Whether a charge of the session is live: `liveAttempts` has it. */
  readonly hasLiveAttempts: boolean;
}

/** A stored card as the processor knows it. */
export interface ChargeableCard {
  readonly id: string;
  readonly customerId: string | null;
  /** Where the card is; null for one of an earlier release: where new money goes. */
  readonly processorAccount: ProcessorAccount | null;
  readonly processorPaymentMethodId: string;
  readonly processorCustomerId: string | null;
  readonly offSession: boolean;
  readonly hsaFsa: boolean | null;
}

// `case`, not `coalesce`, which Postgres does not take for leakproof: under row-level security it is compared with every row of the account,
// once the policy has let it pass, and never with the index. With 200,000 customers that took 312 ms.
const factsOf = (
  wanted: string,
) => `select r.id as record_id, r.food_policy, m.id as payment_method_id, m.customer_id as payment_method_customer_id,
     m.processor, m.processor_account, m.processor_payment_method_id, m.processor_customer_id, m.off_session, m.hsa_fsa,
     c.id as customer_id, c.deleted_at is not null as customer_deleted, w.session_id,
     exists (
       select from checkout.charge_attempts a
       where a.account_id = $1 and a.test_mode = $2 and a.purpose = 'session' and a.subject_id = w.session_id
         and a.status in ('created', 'sending', 'unknown', 'succeeded') offset 0
     ) as has_live
   from ${wanted}
   left join checkout.sessions s on s.account_id = $1 and s.test_mode = $2 and s.id = w.session_id
   left join checkout.eligibility_records r on r.account_id = $1 and r.test_mode = $2 and r.session_id = w.session_id
   left join checkout.payment_methods m on m.account_id = $1 and m.test_mode = $2
     and m.id = case when w.payment_method_id is null then s.payment_method_id else w.payment_method_id end and m.detached_at is null
   left join checkout.customers c on c.account_id = $1 and c.test_mode = $2
     and c.id = case when s.customer_id is null then m.customer_id else s.customer_id end`;
const facts = scoped<FactsRow>(
  'checkout.charge_facts',
  factsOf('(select $3::text, $4::text) as w (session_id, payment_method_id)'),
);
const factsOfSeveral = scoped<FactsRow>(
  'checkout.charge_facts_several',
  factsOf('unnest($3::text[], $4::text[]) as w (session_id, payment_method_id)'),
);

/** Reads them in one go; `paymentMethodId` null means the one that the session was created with. */
export async function loadChargeFacts(
  db: Db,
  scope: Scope,
  sessionId: string,
  paymentMethodId: string | null,
): Promise<ChargeFacts> {
  return factsOfRow(await db.row(facts, scope, [sessionId, paymentMethodId]));
}

/** The same for charges of several sessions, by session. */
export async function loadChargeFactsOfSeveral(
  db: Db,
  scope: Scope,
  charges: readonly { readonly sessionId: string; readonly paymentMethodId: string | null }[],
): Promise<ReadonlyMap<string, ChargeFacts>> {
  const rows = await db.rows(factsOfSeveral, scope, [
    charges.map(({ sessionId }) => sessionId),
    charges.map(({ paymentMethodId }) => paymentMethodId),
  ]);
  return new Map(rows.map((row) => [row.session_id, factsOfRow(row)]));
}

function factsOfRow(row: FactsRow | undefined): ChargeFacts {
  return {
    eligibilityRecord: row?.record_id == null ? undefined : { id: row.record_id, foodPolicy: row.food_policy === true },
    paymentMethod: row && storedCardOf(row),
    customer: row?.customer_id == null ? undefined : { id: row.customer_id, deleted: row.customer_deleted === true },
    hasLiveAttempts: row?.has_live === true,
  };
}

// A card that is still a confirmation token pays once, by the page that it was typed on.
function storedCardOf(row: FactsRow): ChargeableCard | undefined {
  const card = cardOfRow(row);
  return card === undefined || isConfirmationToken(card.processorPaymentMethodId) ? undefined : card;
}

type CardRow = Pick<
  FactsRow,
  | 'payment_method_id'
  | 'payment_method_customer_id'
  | 'processor'
  | 'processor_account'
  | 'processor_payment_method_id'
  | 'processor_customer_id'
  | 'off_session'
  | 'hsa_fsa'
>;

function cardOfRow(row: CardRow): ChargeableCard | undefined {
  if (row.payment_method_id === null || row.processor_payment_method_id === null) return undefined;
  return {
    id: row.payment_method_id,
    customerId: row.payment_method_customer_id,
    processorAccount: processorAccountOfRow(row),
    processorPaymentMethodId: row.processor_payment_method_id,
    processorCustomerId: row.processor_customer_id,
    offSession: row.off_session === true,
    hsaFsa: row.hsa_fsa,
  };
}

const cards = scoped<CardRow>(
  'checkout.chargeable_cards',
  `select m.id as payment_method_id, m.customer_id as payment_method_customer_id, m.processor, m.processor_account, m.processor_payment_method_id,
     m.processor_customer_id, m.off_session, m.hsa_fsa
   from checkout.payment_methods m
   left join checkout.customers c on c.account_id = $1 and c.test_mode = $2 and c.id = m.customer_id
   where m.account_id = $1 and m.test_mode = $2 and m.id = any($3::text[]) and m.detached_at is null
     and c.deleted_at is null`,
);

/** The cards with these ids; one that does not exist, is detached or belongs to a deleted customer is left out. */
export async function findChargeableCards(db: Db, scope: Scope, ids: readonly string[]): Promise<ChargeableCard[]> {
  return (await db.rows(cards, scope, [ids])).flatMap((row) => cardOfRow(row) ?? []);
}

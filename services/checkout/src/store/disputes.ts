import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import { type Cents, centsFromInt64 } from '@eligo/values';

/** A dispute as refunds tells of it. */
export interface ToldDispute {
  readonly disputeId: string;
  readonly amountCents: Cents;
  /** What it holds: its amount while it is open or lost. */
  readonly heldCents: Cents;
  /** Which look at the processor said so; a later one has a higher number. */
  readonly seq: bigint;
}

/** A charge, by the names that the processor knows it under. */
export interface ChargeAtProcessor {
  readonly paymentIntentId: string;
  readonly chargeId: string;
  readonly sessionId: string | null;
  readonly customerId: string | null;
  readonly processorIntentId: string;
  readonly processorChargeId: string | null;
}

/** The charge that this intent of the processor made, or undefined. */
export async function findDisputedCharge(
  db: Db,
  scope: Scope,
  processorIntentId: string,
): Promise<ChargeAtProcessor | undefined> {
  const row = await db.row(byIntent, scope, [processorIntentId]);
  return row && chargeOfRow(row);
}

/** The same by our own id. */
export async function findChargeAtProcessor(
  db: Db,
  scope: Scope,
  chargeId: string,
): Promise<ChargeAtProcessor | undefined> {
  const row = await db.row(byCharge, scope, [chargeId]);
  return row && chargeOfRow(row);
}

/** Stores what a dispute holds; false when a later look has been stored. The caller holds the lock of its session, or of its intent. */
export async function storeDispute(
  tx: Tx,
  scope: Scope,
  charge: ChargeAtProcessor,
  { disputeId, amountCents, heldCents, seq }: ToldDispute,
): Promise<boolean> {
  const { paymentIntentId, chargeId, sessionId } = charge;
  const values = [disputeId, paymentIntentId, chargeId, sessionId, amountCents, heldCents, seq];
  return (await tx.execute(upsert, scope, values)) === 1;
}

/** Makes the amounts of an intent and its charge follow its disputes. Answers whether they hold what was refunded, too. */
export async function followDisputes(tx: Tx, scope: Scope, charge: ChargeAtProcessor): Promise<boolean> {
  const row = await tx.row(follow, scope, [charge.paymentIntentId, charge.chargeId]);
  return row?.beyond ?? false;
}

/** What the disputes of a session hold. */
export async function heldOfSession(tx: Tx, scope: Scope, sessionId: string): Promise<Cents> {
  return centsFromInt64((await tx.row(held, scope, [sessionId]))?.held_cents ?? 0n);
}

interface ChargeRow {
  payment_intent_id: string;
  charge_id: string;
  session_id: string | null;
  customer_id: string | null;
  processor_intent_id: string;
  processor_charge_id: string | null;
}

const columns = `i.id as payment_intent_id, c.id as charge_id, i.session_id, i.customer_id, a.processor_intent_id, c.processor_charge_id`;
const byIntent = scoped<ChargeRow>(
  'disputes.charge_by_processor_intent',
  `select ${columns} from checkout.charge_attempts a
     join checkout.payment_intents i on i.account_id = $1 and i.test_mode = $2 and i.id = a.payment_intent_id
     join checkout.charges c on c.account_id = $1 and c.test_mode = $2 and c.id = i.latest_charge_id
    where a.account_id = $1 and a.test_mode = $2 and a.processor_intent_id = $3`,
);
const byCharge = scoped<ChargeRow>(
  'disputes.charge_at_processor',
  `select ${columns.replace('a.processor_intent_id', "coalesce(i.processor_intent_id, '') as processor_intent_id")} from checkout.charges c
     join checkout.payment_intents i on i.account_id = $1 and i.test_mode = $2 and i.id = c.payment_intent_id
    where c.account_id = $1 and c.test_mode = $2 and c.id = $3`,
);
const upsert = scoped<never>(
  'disputes.store',
  `insert into checkout.disputes as d (account_id, test_mode, id, payment_intent_id, charge_id, session_id, amount_cents, held_cents, seq)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
   on conflict (account_id, test_mode, id) do update
     set amount_cents = excluded.amount_cents, held_cents = excluded.held_cents, seq = excluded.seq
     where d.seq < excluded.seq`,
);
const follow = scoped<{ beyond: boolean }>(
  'disputes.follow',
  `with disputed as (
     update checkout.charges set disputed = true where account_id = $1 and test_mode = $2 and id = $4 and not disputed
   )
   update checkout.payment_intents i set amount_disputed_cents = (
       select coalesce(sum(d.held_cents), 0) from checkout.disputes d
        where d.account_id = $1 and d.test_mode = $2 and d.payment_intent_id = $3)
    where i.account_id = $1 and i.test_mode = $2 and i.id = $3
   returning amount_refunded_cents + amount_disputed_cents > amount_received_cents as beyond`,
);
const held = scoped<{ held_cents: bigint }>(
  'disputes.held_of_session',
  `select coalesce(sum(d.held_cents), 0)::bigint as held_cents from checkout.disputes d
    where d.account_id = $1 and d.test_mode = $2 and d.session_id = $3`,
);

function chargeOfRow(row: ChargeRow): ChargeAtProcessor {
  return {
    paymentIntentId: row.payment_intent_id,
    chargeId: row.charge_id,
    sessionId: row.session_id,
    customerId: row.customer_id,
    processorIntentId: row.processor_intent_id,
    processorChargeId: row.processor_charge_id,
  };
}

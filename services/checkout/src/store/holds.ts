import { type Db, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import { type TurnPlace, type TurnRow, type Turns, turnsOf } from '@eligo/service';
import type { Cents } from '@eligo/values';
import type { HoldTime } from '../domain/hold.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import { type IntentRow, intentColumns, intentOfRow } from './payment-intents.ts';

/** The job that follows holds. */
export const followHoldsJob = 'follow-holds';

const turns = unscoped<TurnRow>(
  'holds.turns',
  'select account_id, test_mode, is_due from checkout.hold_turns($1, $2, $3, $4)',
);

/** The accounts after a place that have a hold to look at, at most `most`. */
export async function holdTurns(db: Db, at: Date, after: TurnPlace, most: number): Promise<Turns> {
  return turnsOf(await db.rows(turns, null, [at, after.accountId, after.testMode, most]), most);
}

const next = unscoped<{ at: Date | null }>('holds.next', 'select checkout.next_hold() as at');

/** How long from `now` until a hold is to be looked at, negative when one is; undefined when nothing is held. */
export async function nextHoldInMs(db: Db, now: Date): Promise<number | undefined> {
  const at = (await db.row(next, null))?.at ?? null;
  return at === null ? undefined : at.getTime() - now.getTime();
}

const due = scoped<{ id: string }>(
  'holds.due',
  `select id from checkout.payment_intents
   where account_id = $1 and test_mode = $2 and status = 'requires_capture' and hold_check_at <= $3
   order by hold_check_at limit $4`,
);

/** The holds of an account that have been due for longest. */
export async function dueHolds(db: Db, scope: Scope, at: Date, most: number): Promise<string[]> {
  return (await db.rows(due, scope, [at, most])).map(({ id }) => id);
}

const claim = scoped<IntentRow>(
  'holds.claim',
  `update checkout.payment_intents i set hold_check_at = $5
   where i.account_id = $1 and i.test_mode = $2 and i.id = $3 and i.status = 'requires_capture' and i.hold_check_at <= $4
   returning ${intentColumns}`,
);

/** Takes up a hold that is due at `at`, and puts the next look off until `again`; undefined when another process did, or nothing is held any more. */
export async function claimHold(
  tx: Tx,
  scope: Scope,
  intentId: string,
  { at, again }: { readonly at: Date; readonly again: Date },
): Promise<PaymentIntent | undefined> {
  const row = await tx.row(claim, scope, [intentId, at, again]);
  return row && intentOfRow(row);
}

const record = scoped(
  'holds.record_capture_before',
  `update checkout.payment_intents set capture_before = $4, hold_check_at = $5, captured_elsewhere_cents = null
   where account_id = $1 and test_mode = $2 and id = $3 and status = 'requires_capture'`,
);

/** Stores until when the processor holds an intent, and when to look at it next. */
export async function recordCaptureBefore(
  tx: Tx,
  scope: Scope,
  intentId: string,
  { captureBefore, checkAt }: HoldTime,
): Promise<void> {
  await tx.execute(record, scope, [intentId, captureBefore, checkAt]);
}

const announce = scoped(
  'holds.announce_lapse',
  `update checkout.payment_intents set lapse_announced_at = $4
   where account_id = $1 and test_mode = $2 and id = $3 and status = 'requires_capture' and lapse_announced_at is null`,
);

/** Records that the shop is told that a hold is about to lapse. False when it was told before, or nothing is held any more. */
export async function markLapseAnnounced(tx: Tx, scope: Scope, intentId: string, at: Date): Promise<boolean> {
  return (await tx.execute(announce, scope, [intentId, at])) === 1;
}

const end = scoped(
  'holds.record_end',
  'update checkout.payment_intents set hold_end = $4 where account_id = $1 and test_mode = $2 and id = $3',
);

/** Stores why a hold ended without the shop, or was not renewed, for the timeline of its session. */
export async function recordHoldEnd(
  tx: Tx,
  scope: Scope,
  intentId: string,
  why: 'lapsed' | 'lost' | 'not_renewed',
): Promise<void> {
  await tx.execute(end, scope, [intentId, why]);
}

const elsewhere = scoped<{ is_new: boolean }>(
  'holds.record_captured_elsewhere',
  `with before as (
     select i.captured_elsewhere_cents as cents from checkout.payment_intents i
     where i.account_id = $1 and i.test_mode = $2 and i.id = $3 for update
   )
   update checkout.payment_intents i set captured_elsewhere_cents = $4, hold_check_at = $5 from before
   where i.account_id = $1 and i.test_mode = $2 and i.id = $3 and i.status = 'requires_capture' and not exists (
     select from checkout.intent_operations o
     where o.account_id = $1 and o.test_mode = $2 and o.payment_intent_id = $3 and o.status = 'pending')
   returning before.cents is distinct from $4 as is_new`,
);

/**
 * Stores what somebody captured of a hold at the processor, and when to look again. True where that was not known. Nothing is stored while
 * Eligo itself captures or voids the hold: what it did is recorded then.
 */
export async function recordCapturedElsewhere(
  tx: Tx,
  scope: Scope,
  intentId: string,
  { amountCents, again }: { readonly amountCents: Cents; readonly again: Date },
): Promise<boolean> {
  return (await tx.row(elsewhere, scope, [intentId, amountCents, again]))?.is_new ?? false;
}

const countElsewhere = unscoped<{ holds: bigint }>(
  'holds.count_captured_elsewhere',
  'select checkout.count_captured_elsewhere() as holds',
);

/** How many holds somebody captured at the processor, over all accounts, counted up to a thousand. For a metric. */
export async function countCapturedElsewhere(db: Db): Promise<number> {
  return Number((await db.row(countElsewhere, null))?.holds ?? 0n);
}

const checkNow = scoped(
  'holds.check_now',
  `update checkout.payment_intents i set hold_check_at = $4
   from checkout.charge_attempts a
   where a.account_id = $1 and a.test_mode = $2 and a.processor_intent_id = $3 and a.status = 'succeeded'
     and i.account_id = a.account_id and i.test_mode = a.test_mode and i.id = a.payment_intent_id and i.status = 'requires_capture'
     and i.hold_check_at > $4`,
);

/** Has the hold of an intent of the processor looked at now; false when there is none. */
export async function checkHoldNow(tx: Tx, scope: Scope, processorIntentId: string, at: Date): Promise<boolean> {
  return (await tx.execute(checkNow, scope, [processorIntentId, at])) === 1;
}

const release = scoped(
  'checkout.charge_attempt_release',
  `update checkout.charge_attempts set status = 'released'
   where account_id = $1 and test_mode = $2 and id = $3 and status = 'succeeded' and capture_method = 'manual'`,
);

/** A hold that was voided at the processor: its leg is free again. */
export async function markReleased(tx: Tx, scope: Scope, id: string): Promise<void> {
  await tx.execute(release, scope, [id]);
}

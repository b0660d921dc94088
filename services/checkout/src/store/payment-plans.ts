import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import { type Cents, centsFromInt64, type ProcessorName } from '@eligo/values';
import type { ReleaseCause } from '../domain/payment-plan.ts';
import { wakeSweepAfterCommit } from './charge-work.ts';

export type PlanState = 'running' | 'awaiting_second_card' | 'awaiting_capture' | 'releasing' | 'done' | 'failed';

/** What a plan is found by: its session leads its key. */
type PlanKey = Pick<PaymentPlan, 'id' | 'sessionId'>;

/** What a shopper's cards are to pay for a session, and which attempts do it. */
export interface PaymentPlan {
  readonly id: string;
  readonly sessionId: string;
  readonly state: PlanState;
  readonly healthCents: Cents;
  readonly otherCents: Cents;
  readonly healthPaymentMethodId: string | null;
  readonly otherPaymentMethodId: string | null;
  readonly healthAttemptId: string | null;
  readonly otherAttemptId: string | null;
  readonly holdsOnly: boolean;
  /** The health card may be approved for a part. */
  readonly acceptsPart: boolean;
  /** Of a confirm: its cards pay what is eligible, and nothing else. */
  readonly eligibleOnly: boolean;
  /** What the health card was asked for, where it was approved for a part. */
  readonly askedCents: Cents | null;
  readonly releaseAt: Date | null;
  /** Why its cards are not charged any more, where that is not told by what became of a card. */
  readonly releaseCause: ReleaseCause | null;
  /** The request that gave its cards was answered, or died, before the outcome was known: an event tells it. */
  readonly isLate: boolean;
  readonly epoch: number;
  readonly actingAt: Date;
  /** How long, from the row's reading on, its cards may still be charged; not positive once that is over. By database time. */
  readonly confirmLeftMs: number;
}

interface PlanRow {
  id: string;
  session_id: string;
  state: PlanState;
  health_cents: bigint;
  other_cents: bigint;
  health_payment_method_id: string | null;
  other_payment_method_id: string | null;
  health_attempt_id: string | null;
  other_attempt_id: string | null;
  holds_only: boolean;
  accepts_part: boolean;
  eligible_only: boolean;
  asked_cents: bigint | null;
  release_at: Date | null;
  release_cause: ReleaseCause | null;
  is_late: boolean;
  epoch: number;
  acting_at: Date;
  confirm_left_ms: number;
}

/**
 * The SQL part `plan`, which changes the plans that this process works on: `from` names the part with `session_id`, `plan_id` and `plan_epoch` as `c`. A plan that
 * another process has taken over has no row in it.
 */
export function ownPlanText(set: string, from: string): string {
  return `plan as (
     update checkout.payment_plans p set ${set}, next_check_at = now()
     from ${from}
     where p.account_id = $1 and p.test_mode = $2 and p.session_id = c.session_id and p.id = c.plan_id and p.epoch = c.plan_epoch
       and p.state = 'running'
     returning p.id
   )`;
}

/** The same for plans that are done. */
export function donePlanText(from: string): string {
  return ownPlanText("state = 'done', lease_until = now()", from);
}

const columns = `p.id, p.session_id, p.state, p.health_cents, p.other_cents, p.health_payment_method_id, p.other_payment_method_id,
  p.health_attempt_id, p.other_attempt_id, p.holds_only, p.accepts_part, p.eligible_only, p.asked_cents, p.release_at, p.release_cause, p.is_late, p.epoch, p.acting_at,
  extract(epoch from p.confirm_until - clock_timestamp())::double precision * 1000 as confirm_left_ms`;

function fromRow(row: PlanRow): PaymentPlan {
  return {
    id: row.id,
    sessionId: row.session_id,
    state: row.state,
    healthCents: centsFromInt64(row.health_cents),
    otherCents: centsFromInt64(row.other_cents),
    healthPaymentMethodId: row.health_payment_method_id,
    otherPaymentMethodId: row.other_payment_method_id,
    healthAttemptId: row.health_attempt_id,
    otherAttemptId: row.other_attempt_id,
    holdsOnly: row.holds_only,
    acceptsPart: row.accepts_part,
    eligibleOnly: row.eligible_only,
    askedCents: row.asked_cents === null ? null : centsFromInt64(row.asked_cents),
    releaseAt: row.release_at,
    releaseCause: row.release_cause,
    isLate: row.is_late,
    epoch: row.epoch,
    actingAt: row.acting_at,
    confirmLeftMs: row.confirm_left_ms,
  };
}

const insert = scoped(
  'checkout.payment_plan_insert',
  `insert into checkout.payment_plans (account_id, test_mode, id, session_id, state, health_cents, other_cents,
     health_payment_method_id, other_payment_method_id, holds_only, release_at, lease_until, acting_at, confirm_until, accepts_part, eligible_only)
   values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, clock_timestamp() + $12 * interval '1 millisecond', $13,
     clock_timestamp() + $14 * interval '1 millisecond', $15, $16)`,
);

/** Writes a new plan under a lease. The unique index refuses a second live one of a session. */
export async function insertPlan(
  tx: Tx,
  scope: Scope,
  plan: Omit<PaymentPlan, 'epoch' | 'healthAttemptId' | 'otherAttemptId' | 'askedCents' | 'isLate' | 'releaseCause'>,
  leaseMs: number,
): Promise<void> {
  await tx.execute(insert, scope, [
    plan.id,
    plan.sessionId,
    plan.state,
    plan.healthCents,
    plan.otherCents,
    plan.healthPaymentMethodId,
    plan.otherPaymentMethodId,
    plan.holdsOnly,
    plan.releaseAt,
    leaseMs,
    plan.actingAt,
    plan.confirmLeftMs,
    plan.acceptsPart,
    plan.eligibleOnly,
  ]);
}

const live = scoped<PlanRow & { lease_live: boolean; has_lapsed: boolean | null }>(
  'checkout.payment_plan_live',
  `select ${columns}, p.lease_until > clock_timestamp() as lease_live, p.release_at <= clock_timestamp() as has_lapsed from checkout.payment_plans p
   where p.account_id = $1 and p.test_mode = $2 and p.session_id = $3 and p.state not in ('done', 'failed') for update`,
);

/** The session's live plan, locked, whether somebody is working on it, and whether it has waited for its second card for long enough. */
export async function lockLivePlan(
  tx: Tx,
  scope: Scope,
  sessionId: string,
): Promise<{ plan: PaymentPlan; leaseLive: boolean; hasLapsed: boolean } | undefined> {
  const row = await tx.row(live, scope, [sessionId]);
  return row && { plan: fromRow(row), leaseLive: row.lease_live, hasLapsed: row.has_lapsed === true };
}

const hasLive = scoped<{ has_live: boolean }>(
  'checkout.payment_plan_has_live',
  `select exists (
     select from checkout.payment_plans p
     where p.account_id = $1 and p.test_mode = $2 and p.session_id = $3 and p.state not in ('done', 'failed')
   ) as has_live`,
);

/** Whether a session has a live plan. */
export async function hasLivePlan(db: Db, scope: Scope, sessionId: string): Promise<boolean> {
  return (await db.row(hasLive, scope, [sessionId]))?.has_live === true;
}

const held = scoped<{ was_held: boolean }>(
  'checkout.payment_plan_was_held',
  `select exists (
     select from checkout.payment_plans p
     join checkout.charge_attempts a on a.account_id = $1 and a.test_mode = $2 and a.id = p.health_attempt_id and a.status in ('succeeded', 'released')
     where p.account_id = $1 and p.test_mode = $2 and p.session_id = $3 and not p.eligible_only
   ) as was_held`,
);

/** Whether a card held its part of the whole session, also if the hold is released by now. */
export async function wasWholeHeld(db: Db, scope: Scope, sessionId: string): Promise<boolean> {
  return (await db.row(held, scope, [sessionId]))?.was_held === true;
}

const one = scoped<PlanRow>(
  'checkout.payment_plan_lock',
  `select ${columns} from checkout.payment_plans p
   where p.account_id = $1 and p.test_mode = $2 and p.session_id = $3 and p.id = $4 for update`,
);

/** A plan of a session, whatever its state, locked. */
export async function lockPlan(tx: Tx, scope: Scope, { id, sessionId }: PlanKey): Promise<PaymentPlan | undefined> {
  const row = await tx.row(one, scope, [sessionId, id]);
  return row && fromRow(row);
}

const claim = scoped<PlanRow>(
  'checkout.payment_plan_claim',
  `update checkout.payment_plans p set epoch = epoch + 1, is_late = true, lease_until = clock_timestamp() + $4 * interval '1 millisecond'
   where p.account_id = $1 and p.test_mode = $2 and p.session_id = $3 and p.state in ('running', 'releasing')
     and p.lease_until < clock_timestamp()
   returning ${columns}`,
);

/** Takes a plan over after its lease expired or was given back: whoever had it has been answered without the outcome, or has died. */
export async function claimPlan(
  tx: Tx,
  scope: Scope,
  sessionId: string,
  leaseMs: number,
): Promise<PaymentPlan | undefined> {
  const row = await tx.row(claim, scope, [sessionId, leaseMs]);
  return row && fromRow(row);
}

const save = scoped<PlanRow>(
  'checkout.payment_plan_save',
  `update checkout.payment_plans p set state = $5, other_payment_method_id = $6, health_attempt_id = $7, other_attempt_id = $8,
     release_at = $9, acting_at = $10, holds_only = $11, is_late = $15, release_cause = $16, next_check_at = now(),
     lease_until = case when $12::integer = 0 then now() else clock_timestamp() + $12 * interval '1 millisecond' end,
     confirm_until = coalesce(clock_timestamp() + $13::double precision * interval '1 millisecond', p.confirm_until)
   where p.account_id = $1 and p.test_mode = $2 and p.session_id = $14 and p.id = $3 and p.epoch = $4
   returning ${columns}`,
);

/**
 * Saves a plan for the holder of its epoch; `leaseMs` 0 gives the lease back. `confirmMs` begins the time to confirm anew, as for a shopper who has
 * just given another card. Throws when another process has taken over.
 */
export async function savePlan(
  tx: Tx,
  scope: Scope,
  plan: PaymentPlan,
  leaseMs: number,
  confirmMs: number | null = null,
): Promise<PaymentPlan> {
  const row = await tx.row(save, scope, [
    plan.id,
    plan.epoch,
    plan.state,
    plan.otherPaymentMethodId,
    plan.healthAttemptId,
    plan.otherAttemptId,
    plan.releaseAt,
    plan.actingAt,
    plan.holdsOnly,
    leaseMs,
    confirmMs,
    plan.sessionId,
    plan.isLate,
    plan.releaseCause,
  ]);
  if (row === undefined) throw new PlanTakenOver(plan.id);
  return fromRow(row);
}

/** Another process works on the plan now; what it does next is its own. */
export class PlanTakenOver extends Error {
  constructor(id: string) {
    super(`Another process took over payment plan ${id}`);
    this.name = 'PlanTakenOver';
  }
}

const postpone = scoped(
  'checkout.payment_plan_postpone',
  `update checkout.payment_plans p set lease_until = now(), tries = tries + 1,
     next_check_at = now() + least($5::integer * power(2, least(p.tries, 20)), $6) * interval '1 millisecond'
   where p.account_id = $1 and p.test_mode = $2 and p.session_id = $7 and p.id = $3 and p.epoch = $4
     and p.state in ('running', 'releasing')`,
);

/** Releases the lease; the sweeper checks again with increasing backoff, until something of the plan settles. */
export async function postponePlan(
  tx: Tx,
  scope: Scope,
  plan: Pick<PaymentPlan, 'id' | 'sessionId' | 'epoch'>,
  delay: { readonly firstMs: number; readonly mostMs: number },
): Promise<void> {
  wakeSweepAfterCommit(tx, delay.firstMs);
  await tx.execute(postpone, scope, [plan.id, plan.epoch, delay.firstMs, delay.mostMs, plan.sessionId]);
}

const wake = scoped(
  'checkout.payment_plan_wake',
  `update checkout.payment_plans p set tries = 0, next_check_at = now()
   where p.account_id = $1 and p.test_mode = $2 and p.session_id = $3 and p.state in ('running', 'releasing')`,
);

/** Something of the session's plan was settled: it can go on at once. The caller holds the session's row. */
export async function wakePlan(tx: Tx, scope: Scope, sessionId: string): Promise<void> {
  wakeSweepAfterCommit(tx);
  await tx.execute(wake, scope, [sessionId]);
}

const endHeld = scoped(
  'checkout.payment_plan_end_held',
  `update checkout.payment_plans p set state = $4, epoch = epoch + 1
   where p.account_id = $1 and p.test_mode = $2 and p.session_id = $3 and p.state = 'awaiting_capture'`,
);

/** The holds that a plan waits to have captured have been captured, or are lost. Returns false when the session has no such plan. */
export async function endHeldPlan(tx: Tx, scope: Scope, sessionId: string, state: 'done' | 'failed'): Promise<boolean> {
  return (await tx.execute(endHeld, scope, [sessionId, state])) === 1;
}

const releaseRunning = scoped(
  'checkout.payment_plan_release_running',
  `update checkout.payment_plans p set state = 'releasing', epoch = epoch + 1, tries = 0, next_check_at = now(), lease_until = now()
   where p.account_id = $1 and p.test_mode = $2 and p.session_id = $3 and p.state = 'running'`,
);

/** The session of a plan has ended: the plan's holds are voided, and what it received is refunded. The caller holds the session's row. */
export async function releaseRunningPlan(tx: Tx, scope: Scope, sessionId: string): Promise<void> {
  wakeSweepAfterCommit(tx);
  await tx.execute(releaseRunning, scope, [sessionId]);
}

const end = scoped(
  'checkout.payment_plan_end',
  `update checkout.payment_plans set state = 'failed', epoch = epoch + 1
   where account_id = $1 and test_mode = $2 and session_id = $4 and id = $3 and state not in ('done', 'failed')`,
);

/** Ends a plan that no process works on; a process that still believes it does is fenced off. */
export async function endPlan(tx: Tx, scope: Scope, plan: PlanKey): Promise<void> {
  await tx.execute(end, scope, [plan.id, plan.sessionId]);
}

const parts = scoped<{
  health_status: string | null;
  health_capture: string | null;
  health_card_kind: string | null;
  other_status: string | null;
  other_capture: string | null;
  health_operation: string | null;
  health_operation_status: string | null;
  other_operation: string | null;
  other_operation_status: string | null;
  other_failure_code: string | null;
  other_decline_code: string | null;
  health_failure_code: string | null;
  health_decline_code: string | null;
  time_over: boolean;
  health_cents: bigint;
  other_cents: bigint;
  asked_cents: bigint | null;
  other_payment_method_id: string | null;
  processor: ProcessorName | null;
  processor_account: string | null;
}>(
  'checkout.payment_plan_parts',
  `select h.status as health_status, h.capture_method as health_capture, h.card_kind as health_card_kind, o.status as other_status, o.capture_method as other_capture,
     ho.kind as health_operation, ho.status as health_operation_status, oo.kind as other_operation,
     oo.status as other_operation_status, o.failure_code as other_failure_code, o.decline_code as other_decline_code,
     h.failure_code as health_failure_code, h.decline_code as health_decline_code,
     p.confirm_until <= clock_timestamp() as time_over, p.health_cents, p.other_cents, p.asked_cents, p.other_payment_method_id,
     case when h.id is null then o.processor else h.processor end as processor,
     case when h.id is null then o.processor_account else h.processor_account end as processor_account
   from checkout.payment_plans p
   left join checkout.charge_attempts h on h.account_id = p.account_id and h.test_mode = p.test_mode and h.id = p.health_attempt_id
   left join checkout.charge_attempts o on o.account_id = p.account_id and o.test_mode = p.test_mode and o.id = p.other_attempt_id
   left join checkout.intent_operations ho on ho.account_id = h.account_id and ho.test_mode = h.test_mode
     and ho.payment_intent_id = h.payment_intent_id and ho.status in ('pending', 'done') and ho.ends_hold
   left join checkout.intent_operations oo on oo.account_id = o.account_id and oo.test_mode = o.test_mode
     and oo.payment_intent_id = o.payment_intent_id and oo.status in ('pending', 'done') and oo.ends_hold
   where p.account_id = $1 and p.test_mode = $2 and p.session_id = $4 and p.id = $3`,
);

/** The statuses of a plan's attempts and of what is to be done to their holds. */
export type PlanParts = NonNullable<Awaited<ReturnType<typeof loadPlanParts>>>;

export async function loadPlanParts(db: Db, scope: Scope, plan: PlanKey) {
  return db.row(parts, scope, [plan.id, plan.sessionId]);
}

/** The plan with what has come of its health card since it was read: an approval of a part changes what each card pays. */
export function planNow(plan: PaymentPlan, row: PlanParts): PaymentPlan {
  return {
    ...plan,
    healthCents: centsFromInt64(row.health_cents),
    otherCents: centsFromInt64(row.other_cents),
    askedCents: row.asked_cents === null ? null : centsFromInt64(row.asked_cents),
    otherPaymentMethodId: row.other_payment_method_id,
  };
}

import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import { expireLettersJob } from './letters.ts';

/** Which hold an intent takes the place of. */
export interface Renewal {
  readonly renews: string | null;
  /** How often the card was authorized again before, or with, this intent. */
  readonly renewals: number;
  /** Its shopper agreed that the card may be authorized again for this payment. */
  readonly keepsCard: boolean;
}

const ofIntent = scoped<{ renews: string | null; renewals: number; keeps_card: boolean }>(
  'hold_renewals.of_intent',
  `select i.renews, i.renewals, i.keeps_card from checkout.payment_intents i where i.account_id = $1 and i.test_mode = $2 and i.id = $3`,
);

export async function findRenewal(db: Db, scope: Scope, intentId: string): Promise<Renewal> {
  const row = await db.row(ofIntent, scope, [intentId]);
  if (row === undefined) throw new Error(`Payment intent ${intentId} not found`);
  const { renews, renewals, keeps_card: keepsCard } = row;
  return { renews, renewals, keepsCard };
}

const record = scoped(
  'hold_renewals.record',
  `update checkout.payment_intents set renews = $4, renewals = $5, keeps_card = $6 where account_id = $1 and test_mode = $2 and id = $3`,
);

/** Stores which hold a new intent takes the place of. */
export async function recordRenewal(
  tx: Tx,
  scope: Scope,
  intentId: string,
  { renews, renewals, keepsCard }: Renewal,
): Promise<void> {
  await tx.execute(record, scope, [intentId, renews, renewals, keepsCard]);
}

const keep = scoped(
  'hold_renewals.keep_card',
  `update checkout.payment_intents set keeps_card = true where account_id = $1 and test_mode = $2 and id = $3`,
);

/** Stores that the card of a new intent may be authorized again for its payment. */
export async function recordKeptCard(tx: Tx, scope: Scope, intentId: string): Promise<void> {
  await tx.execute(keep, scope, [intentId]);
}

const retire = scoped(
  'hold_renewals.retire',
  `update checkout.charge_attempts set purpose = 'renewed', eligibility_record_id = null
   where account_id = $1 and test_mode = $2 and id = $3 and purpose = 'session' and status = 'succeeded'`,
);

const promote = scoped(
  'hold_renewals.promote',
  `update checkout.charge_attempts set purpose = 'session', eligibility_record_id = $4
   where account_id = $1 and test_mode = $2 and id = $3 and purpose = 'renewal' and status = 'succeeded'`,
);

const follow = scoped(
  'hold_renewals.follow_plan',
  `update checkout.payment_plans set
     health_attempt_id = case when health_attempt_id = $4 then $5 else health_attempt_id end,
     other_attempt_id = case when other_attempt_id = $4 then $5 else other_attempt_id end
   where account_id = $1 and test_mode = $2 and session_id = $3 and state not in ('done', 'failed')`,
);

const moveTenders = scoped(
  'hold_renewals.move_tenders',
  `update checkout.line_tenders set payment_intent_id = $5
   where account_id = $1 and test_mode = $2 and session_id = $3 and payment_intent_id = $4`,
);

/**
 * Makes a renewal the attempt of its session's leg, in place of the one that held before. The constraints refuse it where that hold is captured. The caller
 * holds the session's row.
 */
export async function replaceHold(tx: Tx, scope: Scope, before: ChargeAttempt, renewal: ChargeAttempt): Promise<void> {
  // The unique index of a leg's live attempt has room for one of them at each moment.
  const retired = await tx.execute(retire, scope, [before.id]);
  const promoted = await tx.execute(promote, scope, [renewal.id, before.eligibilityRecordId]);
  if (retired !== 1 || promoted !== 1) throw new Error(`Charge attempt ${renewal.id} renews no hold`);
  await tx.execute(follow, scope, [before.subjectId, before.id, renewal.id]);
  await tx.execute(moveTenders, scope, [before.subjectId, before.paymentIntentId, renewal.paymentIntentId]);
}

const shorten = scoped(
  'hold_renewals.shorten_reviews',
  `update checkout.letters set review_until = least(review_until, $4)
   where account_id = $1 and test_mode = $2 and session_id = $3 and status = 'in_review'`,
);

/** Ends the reviews of a session at `until` at the latest. The caller holds the session's row. */
export async function shortenReviews(tx: Tx, scope: Scope, sessionId: string, until: Date): Promise<void> {
  wakeJobAfterCommit(tx, expireLettersJob);
  await tx.execute(shorten, scope, [sessionId, until]);
}

const reviewUntil = scoped<{ until: Date | null }>(
  'hold_renewals.review_until',
  `select max(l.review_until) as until from checkout.letters l
   where l.account_id = $1 and l.test_mode = $2 and l.session_id = $3 and l.status = 'in_review'`,
);

/** When the last review of a session ends; undefined when none is in review. */
export async function findReviewEnd(db: Db, scope: Scope, sessionId: string): Promise<Date | undefined> {
  return (await db.row(reviewUntil, scope, [sessionId]))?.until ?? undefined;
}

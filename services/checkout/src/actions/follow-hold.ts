import { type Scope, withTx } from '@eligo/postgres';
import type { IntentOutcome } from '@eligo/processor';
import { cents } from '@eligo/values';
import type { Context } from '../context.ts';
import { capturedElsewhereCheckMs, endWithHold, type HoldTime, holdTimeOf, lookAgainMs } from '../domain/hold.ts';
import { outlivesHold, renewalTimeOf } from '../domain/hold-renewal.ts';
import { awaitsLetters } from '../domain/letter.ts';
import type { PaymentIntent } from '../domain/payment-intent.ts';
import { findReviewEnd } from '../store/hold-renewals.ts';
import { claimHold, recordCaptureBefore, recordCapturedElsewhere } from '../store/holds.ts';
import { loadSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { announceLapse } from './announce-lapse.ts';
import { endSessionOfHold } from './end-session-of-hold.ts';
import { renewHold } from './renew-hold.ts';
import { voidHolds } from './void-holds.ts';

/**
 * Looks at a hold that is due, at the processor. One that lasts is looked at again a day before it lapses: the shop is told then. One that a review of its session
 * outlives is renewed. One that is about to lapse, or is gone, ends its session. Whatever is not certain is looked at again some minutes later. The caller holds no transaction.
 */
export async function followHold(context: Context, scope: Scope, intentId: string): Promise<void> {
  const { database, clock } = context;
  const now = clock.now();
  const again = new Date(now.getTime() + lookAgainMs);
  const intent = await withTx(database, scope, (tx) => claimHold(tx, scope, intentId, { at: now, again }));
  if (intent === undefined) return;
  await context.failpoint('follow_hold.claimed');
  const answer = await ask(context, scope, intent);
  await context.failpoint('follow_hold.processor_answered');
  const standing = answer && (await settledElsewhere(context, scope, intent, answer, standingOf(intent, answer)));
  if (standing === 'elsewhere') return tellCapturedElsewhere(context, scope, intent, answer, now);
  if (standing === undefined) return;
  if (standing === 'held') {
    const hold = holdTimeNow(intent, answer, now);
    if (endWithHold(hold.captureBefore) > now) return keepHold(context, scope, intent, hold, now);
  }
  const ended = await withTx(database, scope, async (tx) => {
    const session = await endSessionOfHold(context, tx, scope, intent, standing);
    await context.failpoint('follow_hold.before_end_commit');
    return session;
  });
  await context.failpoint('follow_hold.ended');
  if (ended === undefined) return;
  context.logger.warn(
    { sessionId: ended.id, paymentIntentId: intent.id, status: ended.status, code: standing },
    'A hold lapsed before it was captured; its session has ended',
  );
  await voidHolds(context, scope, ended);
}

async function keepHold(
  context: Context,
  scope: Scope,
  intent: PaymentIntent,
  hold: HoldTime,
  now: Date,
): Promise<void> {
  const renewAt = (await isOutlived(context, scope, intent, hold, now)) ? renewalTimeOf(hold.captureBefore) : undefined;
  if (renewAt !== undefined && renewAt <= now) return renewHold(context, scope, intent);
  const checkAt = renewAt ?? hold.checkAt;
  if (checkAt > now) {
    return withTx(context.database, scope, (tx) => recordCaptureBefore(tx, scope, intent.id, { ...hold, checkAt }));
  }
  await withTx(context.database, scope, async (tx) => {
    await announceLapse(context, tx, scope, intent, hold);
    await context.failpoint('follow_hold.before_announce_commit');
  });
  await context.failpoint('follow_hold.announced');
}

// Once for each amount: a metric says that it is so, and nothing changes it but a person.
async function tellCapturedElsewhere(
  { database, logger }: Context,
  scope: Scope,
  intent: PaymentIntent,
  answer: IntentOutcome | undefined,
  now: Date,
): Promise<void> {
  const amountCents = answer !== undefined && 'amountReceivedCents' in answer ? answer.amountReceivedCents : cents(0);
  const again = new Date(now.getTime() + capturedElsewhereCheckMs);
  const isNew = await withTx(database, scope, (tx) =>
    recordCapturedElsewhere(tx, scope, intent.id, { amountCents, again }),
  );
  if (!isNew) return;
  logger.error(
    { accountId: scope.accountId, testMode: scope.testMode, paymentIntentId: intent.id, amountCents },
    remedyFor(intent, answer),
  );
}

function remedyFor(intent: PaymentIntent, answer: IntentOutcome | undefined): string {
  if (intent.amountReceivedCents > 0) {
    return answer?.kind === 'succeeded'
      ? 'A hold was captured outside Eligo after Eligo captured a part; refund the amount that Eligo did not capture at the processor, and Eligo will end the hold'
      : 'A hold was captured outside Eligo after Eligo captured a part; cancel the remainder and refund the amount that Eligo did not capture at the processor, and Eligo will end the hold';
  }
  return answer?.kind === 'succeeded'
    ? 'A hold was captured outside Eligo; refund it at the processor, and Eligo will end it as a lost hold'
    : 'A hold was captured outside Eligo in part; cancel the remainder and refund the part at the processor, and Eligo will end it as a lost hold';
}

// Whether a review of its session lasts for longer than the hold.
async function isOutlived(
  { database, clock }: Context,
  scope: Scope,
  { sessionId }: PaymentIntent,
  { captureBefore }: HoldTime,
  now: Date,
): Promise<boolean> {
  const session = sessionId === null ? undefined : await loadSession(database, scope, sessionId);
  if (session === undefined || !awaitsLetters(session)) return false;
  const until = await findReviewEnd(database, scope, session.id);
  const at = await timeOnClock(database, scope, clock, session.testClockId);
  return until !== undefined && outlivesHold(until.getTime() - at.getTime(), captureBefore.getTime() - now.getTime());
}

// What somebody captured and refunded at the processor is gone, as if it had lapsed. Where Eligo captured a part, a refund does not say whose part it gives back:
// the hold ends once no more is left there than Eligo has captured and not refunded.
async function settledElsewhere(
  { processors, budgets }: Context,
  scope: Scope,
  intent: PaymentIntent,
  answer: IntentOutcome,
  standing: Standing,
): Promise<Standing> {
  if (standing !== 'elsewhere' || answer.kind !== 'succeeded') return standing;
  const processor = processors.findAt(scope, intent.processorAccount);
  const charge = await processor?.retrieveCharge(answer.chargeId, { timeoutMs: budgets.callMs });
  const ownCents = intent.amountReceivedCents - intent.amountRefundedCents;
  const isRefunded = charge?.kind === 'found' && answer.amountReceivedCents - charge.amountRefundedCents <= ownCents;
  return isRefunded ? 'gone' : standing;
}

// Undefined while the processor that has the hold gives no answer, or is not configured: the log and a metric say so.
async function ask(context: Context, scope: Scope, intent: PaymentIntent): Promise<IntentOutcome | undefined> {
  const processor = context.processors.findAt(scope, intent.processorAccount);
  if (processor === undefined || processor.isDown() || intent.processorIntentId === null) return undefined;
  return processor.retrieveIntent(intent.processorIntentId, { timeoutMs: context.budgets.callMs });
}

/** `elsewhere`: what was captured of it is not what Eligo captured. Undefined: not certain. */
type Standing = 'held' | 'gone' | 'elsewhere' | undefined;

function standingOf(intent: PaymentIntent, answer: IntentOutcome): Standing {
  if (answer.kind === 'canceled') return intent.amountReceivedCents === 0 ? 'gone' : 'elsewhere';
  if (answer.kind !== 'requires_capture' && answer.kind !== 'succeeded') return undefined;
  if (answer.amountReceivedCents !== intent.amountReceivedCents) return 'elsewhere';
  return answer.kind === 'requires_capture' ? 'held' : 'gone';
}

function holdTimeNow({ captureBefore }: PaymentIntent, answer: IntentOutcome | undefined, now: Date): HoldTime {
  const told = answer?.kind === 'requires_capture' ? answer.captureBefore : undefined;
  // The shortest time: of a hold of an earlier release it is not known whether its shopper was there.
  return holdTimeOf(told ?? captureBefore ?? undefined, now, true);
}

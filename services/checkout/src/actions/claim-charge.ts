import { Failure } from '@eligo/failures';
import {
  claimKey,
  finishKey,
  type KeyUse,
  keyInUse,
  linkAttempt,
  type Scope,
  type Tx,
  type UsableClaim,
  usableOrThrow,
} from '@eligo/postgres';
import { isId, minimumChargeCents, newId, type ProcessorAccount } from '@eligo/values';
import type { Context } from '../context.ts';
import { accountToCharge } from '../domain/card-account.ts';
import { kindOfCard } from '../domain/card-kind.ts';
import type { ChargeAttempt } from '../domain/charge-attempt.ts';
import { refusalByStatus, refusalToConfirm } from '../domain/confirm-rules.ts';
import { isChargedWhole, type Session } from '../domain/session.ts';
import { findAttempt, liveAttempts, type NewAttempt } from '../store/charge-attempts.ts';
import { takePaymentLocks } from '../store/payment-locks.ts';
import { wasWholeHeld } from '../store/payment-plans.ts';
import { type ChargeableCard, type ChargeFacts, loadChargeFacts } from '../store/session-payments.ts';
import { lockSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { abandonAttempt } from './abandon-attempt.ts';
import { attemptAsCreated, beginLockedAttempt, confirmTimeMs, healthcareOf } from './begin-attempt.ts';
import {
  type ChargeClaim,
  type Claimed,
  type ClaimedCharge,
  type ConfirmRequest,
  contended,
  NeedsPlan,
} from './charge-claim.ts';
import { confirmAnswer, refusalAnswer } from './confirm-answer.ts';
import { finishPaidSession } from './pay-session.ts';
import { NotItsTurn, type PaymentParties, type PaymentTurn } from './payment-turn.ts';
import { takeOverAttempt } from './take-over-attempt.ts';

/** What claims work with. */
export type Claiming = Pick<Context, 'clock' | 'budgets' | 'failpoint'>;

/**
 * Claims the key, the session, the card and the customer for a charge and writes its attempt, whatever the key and earlier attempts are. Refusals
 * that are final are stored under the key; for any other it throws, and nothing is left behind.
 */
export async function claimCharge(
  claiming: Claiming,
  tx: Tx,
  scope: Scope,
  { request, use, turn, ofNewMoney }: ChargeClaim,
): Promise<Claimed> {
  // Sent together: one round trip for the session, the key and all that the decision depends on. The session first, as whoever settles or gives up
  // a charge takes it before the key.
  const attemptId = newId('charge_attempt');
  const [session, found, facts] = await Promise.all([
    lockSession(tx, scope, request.sessionId),
    claimKey(tx, scope, use, claiming.budgets.leaseMs, attemptId),
    loadChargeFacts(tx, scope, request.sessionId, request.paymentMethodId),
  ]);
  await claiming.failpoint('confirm.key_claimed');
  const key = usableOrThrow(found);
  if (key.outcome === 'finished') return { kind: 'answer', answer: key.answer, replayed: true };
  if (key.attemptId !== undefined && isId('payment_plan', key.attemptId)) throw new NeedsPlan();
  const live = facts.hasLiveAttempts ? await liveAttempts(tx, scope, 'session', request.sessionId) : [];
  const at =
    session === undefined ? claiming.clock.now() : await timeOnClock(tx, scope, claiming.clock, session.testClockId);
  const ended = session && refusalByStatus(session, at);
  const abandoned = await abandonUnsent(tx, scope, live, ended);
  // Abandoning the key's own unsent attempt freed the key, which raised its epoch.
  const epoch = key.attemptId !== undefined && abandoned.includes(key.attemptId) ? key.epoch + 1 : key.epoch;
  const resumed = await resume(claiming, tx, scope, key, turn);
  if (resumed !== undefined) return resumed;

  if (session !== undefined && awaitsSecondCard(session, live)) throw new NeedsPlan();
  const wasReleased = session !== undefined && isChargedWhole(session) && (await wasWholeHeld(tx, scope, session.id));
  const refusal = refusalToConfirm({ session, facts, live, at, features: request.features, wasReleased });
  if (refusal !== undefined || session === undefined) {
    const answer = refusalAnswer(refusal ?? new Failure('checkout_session_not_found'));
    await finishKey(tx, scope, use, answer);
    return { kind: 'answer', answer, replayed: false };
  }
  // Not stored under the key: the operator may enable health cards, or take the account back to the card's processor, at any time.
  if (facts.paymentMethod !== undefined) accountToCharge(facts.paymentMethod, ofNewMoney);
  if (request.refusesHealthCards) throw new Failure('health_cards_not_enabled');
  // Also before a session is completed uncharged: the page may be claiming its other card at this moment.
  for (const attempt of live) {
    if (attempt.status !== 'created' || !attempt.leaseDead) throw contended();
    await abandonAttempt(tx, scope, attempt.id);
  }
  if (session.amountEligibleCents < minimumChargeCents) return completeUncharged(tx, scope, request, use, session, at);
  const charge = plannedCharge({ attemptId, session, facts, expand: request.expand, at, ofNewMoney });
  const { attempt, claimed } = await reserve(claiming, tx, scope, turn, charge);
  if (!key.isNew) await linkAttempt(tx, scope, use, attempt.id);
  await claiming.failpoint('confirm.before_claim_commit');
  return { kind: 'attempt', attempt, epoch, claimed };
}

// A session that has no page, and is charged by a plan: nothing but a confirm can name its second card.
function awaitsSecondCard({ mode, status }: Session, live: readonly ChargeAttempt[]): boolean {
  return mode === 'off_session' && status === 'open' && live.some(({ driver }) => driver === 'page');
}

// The same key after a crash or a lost response: resumes the existing attempt.
async function resume(
  claiming: Claiming,
  tx: Tx,
  scope: Scope,
  key: Extract<UsableClaim, { outcome: 'claimed' }>,
  turn: PaymentTurn,
): Promise<Claimed | undefined> {
  if (key.attemptId === undefined) return undefined;
  const { leaseMs } = claiming.budgets;
  const claimed = await takeOverAttempt(claiming, tx, scope, key.attemptId);
  if (claimed !== undefined) {
    // Its locks have expired with its lease. A sent attempt is settled whichever process holds them now; an unsent one waits for its turn again.
    if (claimed.status === 'created' && !(await takeTurn(tx, scope, claimed, leaseMs, turn))) {
      throw new NotItsTurn(partiesOf(claimed));
    }
    return { kind: 'attempt', attempt: claimed, epoch: key.epoch };
  }
  const attempt = await findAttempt(tx, scope, key.attemptId);
  if (attempt === undefined || attempt.status === 'abandoned') return undefined;
  // The sweeper holds it at this moment. One that is settled has finished the key in the same transaction, and is not resumed.
  throw keyInUse();
}

// Abandons unsent attempts of a session that no longer accepts payments, and those whose time to confirm is over.
async function abandonUnsent(
  tx: Tx,
  scope: Scope,
  live: readonly ChargeAttempt[],
  ended: Failure | undefined,
): Promise<string[]> {
  const abandoned: string[] = [];
  for (const { id, status, leaseDead, confirmOver } of live) {
    const isUnsent = status === 'created' && leaseDead && (ended !== undefined || confirmOver);
    if (isUnsent && (await abandonAttempt(tx, scope, id, { ended }))) abandoned.push(id);
  }
  return abandoned;
}

async function takeTurn(
  tx: Tx,
  scope: Scope,
  attempt: Pick<ChargeAttempt, 'id' | 'customerId' | 'paymentMethodId'>,
  leaseMs: number,
  turn: PaymentTurn,
): Promise<boolean> {
  const wanted = partiesOf(attempt);
  return turn.isNext(wanted) && takePaymentLocks(tx, scope, { attemptId: attempt.id, ...wanted, leaseMs });
}

// Nothing, or less than the processor takes, is eligible: a normal outcome (interface, confirm rule 2). Takes no lock.
async function completeUncharged(
  tx: Tx,
  scope: Scope,
  request: ConfirmRequest,
  use: KeyUse,
  session: Session,
  at: Date,
): Promise<Claimed> {
  const after: Session = { ...session, status: 'complete', completedAt: at, nextAction: null };
  const saved = await finishPaidSession(tx, scope, { session, after, intent: undefined, at });
  const answer = await confirmAnswer(tx, scope, saved, undefined, request.expand);
  await finishKey(tx, scope, use, answer);
  return { kind: 'answer', answer, replayed: false };
}

async function reserve(
  claiming: Claiming,
  tx: Tx,
  scope: Scope,
  turn: PaymentTurn,
  charge: PlannedCharge,
): Promise<{ attempt: ChargeAttempt; claimed: ClaimedCharge }> {
  const attempt = confirmAttempt(claiming, charge);
  const wanted = partiesOf(attempt);
  const owners = ownersOf(charge.session);
  const intent = turn.isNext(wanted) ? await beginLockedAttempt(tx, scope, attempt, owners) : undefined;
  // Rolls everything back: nothing is left behind, and the key is free for the retry.
  if (intent === undefined) throw new NotItsTurn(wanted);
  return { attempt: attemptAsCreated(attempt), claimed: { session: charge.session, intent } };
}

/** A charge that nothing refuses. */
export interface PlannedCharge {
  readonly attemptId: string;
  readonly session: Session;
  readonly card: ChargeableCard;
  readonly customerId: string | null;
  readonly recordId: string;
  readonly expand: readonly string[];
  readonly at: Date;
  readonly ofNewMoney: ProcessorAccount;
}

/** The charge of a session that may be confirmed now. */
export function plannedCharge({
  facts,
  ...charge
}: Omit<PlannedCharge, 'card' | 'customerId' | 'recordId'> & { readonly facts: ChargeFacts }): PlannedCharge {
  const { paymentMethod: card, eligibilityRecord, customer } = facts;
  if (card === undefined || eligibilityRecord === undefined)
    throw new Error('A refusal must be thrown before the charge');
  return { ...charge, card, customerId: customer?.id ?? null, recordId: eligibilityRecord.id };
}

/** The attempt of a confirm. */
export function confirmAttempt(
  { budgets }: Pick<Claiming, 'budgets'>,
  { attemptId, session, card, customerId, recordId, expand, at, ofNewMoney }: PlannedCharge,
): NewAttempt {
  return {
    id: attemptId,
    purpose: 'session',
    subjectId: session.id,
    leg: 'health',
    driver: 'confirm',
    eligibilityRecordId: recordId,
    paymentIntentId: newId('payment_intent'),
    customerId,
    paymentMethodId: card.id,
    processorAccount: accountToCharge(card, ofNewMoney),
    processorPaymentMethodId: card.processorPaymentMethodId,
    processorCustomerId: card.processorCustomerId,
    offSession: true,
    threeDSecure: null,
    // A letter is needed before its lines' money is captured (decisions 13).
    captureMethod: session.letterRequired ? 'manual' : 'automatic',
    amountCents: session.amountEligibleCents,
    healthcare: healthcareOf(session),
    cardKind: kindOfCard(card.hsaFsa, undefined),
    expand,
    actingAt: at,
    leaseMs: budgets.leaseMs,
    confirmMs: confirmTimeMs(budgets, session, at),
    operationId: null,
  };
}

/** The owners of the intent of a session's charge. */
export function ownersOf(session: Session) {
  return { sessionId: session.id, invoiceId: null, subscriptionId: null };
}

/** Whom an attempt needs for itself. */
export function partiesOf({
  customerId,
  paymentMethodId,
}: Pick<ChargeAttempt, 'customerId' | 'paymentMethodId'>): PaymentParties {
  return { customerId, paymentMethodId };
}

import { Failure } from '@eligo/failures';
import {
  claimOrThrow,
  findKey,
  type KeyUse,
  keyInUse,
  linkAttempt,
  releaseKey,
  type Scope,
  type StoredAnswer,
  type Tx,
  usableOrThrow,
  withTx,
} from '@eligo/postgres';
import type { CheckoutSession, PaymentIntent } from '@eligo/proto/checkout/v1/checkout';
import { given, newId, type ProcessorAccount } from '@eligo/values';
import type { Context } from '../context.ts';
import type { CaptureInstruction } from '../domain/capture-allocation.ts';
import { refusalToCapture } from '../domain/capture-rules.ts';
import type { Session } from '../domain/session.ts';
import { findCapture } from '../store/capture-records.ts';
import type { HeldCard } from '../store/captures.ts';
import { claimOperationOfCapture, type IntentOperation } from '../store/intent-operations.ts';
import { findIntent, findIntents } from '../store/payment-intents.ts';
import { loadSession, lockSession } from '../store/sessions.ts';
import { timeOnClock } from '../store/test-clocks.ts';
import { captureAnswer, intentOfAnswer, sessionOfAnswer } from './capture-answer.ts';
import type { ClaimedCapture } from './capture-claim.ts';
import { carryOutCapture } from './carry-out-capture.ts';
import { finishHold } from './finish-hold.ts';
import { type CaptureRequest, planCapture, writeCapture } from './request-capture.ts';
import { requireSeveralCaptures } from './require-several-captures.ts';
import { settleRelease } from './settle-capture.ts';
import { settleCaptured } from './settle-captured.ts';

/** A partner's request for a capture. */
export interface CaptureOrder {
  readonly instruction: CaptureInstruction;
  readonly metadata: Readonly<Record<string, string>>;
  readonly key: { readonly key: string; readonly requestHash: Buffer } | undefined;
}

/**
 * Captures what the cards of a session hold, in whole or part, once for each key. Claim and request in one transaction, call the processor with none
 * open, settle in one transaction, which also stores the answer under the key. What this process does not finish, the sweeper does. A refusal
 * before the capture is requested leaves the key free: the same request may be sent again once the session can be captured.
 */
export async function captureSession(
  context: Context,
  scope: Scope,
  sessionId: string,
  order: CaptureOrder,
): Promise<CheckoutSession> {
  const use = keyUse(`POST /v1/checkout/sessions/${sessionId}/capture`, order, 'refuse');
  return sessionOfAnswer(await capture(context, scope, { sessionId, cause: 'session', use, ...order }));
}

/** Captures the hold of one payment intent, and voids what it does not capture of it. */
export async function capturePaymentIntent(
  context: Context,
  scope: Scope,
  intentId: string,
  order: CaptureOrder,
): Promise<PaymentIntent> {
  const intent = await findIntent(context.database, scope, intentId);
  if (intent === undefined) throw new Failure('payment_intent_not_found');
  const use = keyUse(`POST /v1/payment_intents/${intentId}/capture`, order, 'run_as_new');
  const { sessionId } = intent;
  if (sessionId === null) throw new Failure('checkout_session_not_capturable');
  return intentOfAnswer(await capture(context, scope, { sessionId, intentId, cause: 'payment_intent', use, ...order }));
}

function keyUse(
  endpoint: string,
  { key }: Pick<CaptureOrder, 'key'>,
  otherRequest: KeyUse['otherRequest'],
): KeyUse | undefined {
  return key && { endpoint, ...key, otherRequest };
}

interface Capturing extends CaptureOrder {
  readonly sessionId: string;
  readonly intentId?: string;
  readonly cause: 'session' | 'payment_intent';
  readonly use: KeyUse | undefined;
}

type Claimed =
  | { readonly kind: 'answer'; readonly answer: StoredAnswer }
  /** `epoch`: the key's, to give its lease back. */
  | { readonly kind: 'capture'; readonly id: string; readonly first: IntentOperation; readonly epoch: number };

async function capture(context: Context, scope: Scope, order: Capturing): Promise<StoredAnswer> {
  const deadlineMs = performance.now() + context.budgets.callMs;
  await context.failpoint('capture.before_claim');
  const claimedPlain = await orFailure(claimPlain(context, scope, order));
  if (claimedPlain.result !== undefined) {
    return carryOutPlain(context, scope, order, claimedPlain.result, deadlineMs);
  }
  // A replay must work while the processor is down, and while another request holds the session.
  const known = order.use && (await answerOfKey(context, scope, order.use));
  if (known !== undefined) return known;
  if (claimedPlain.failure !== undefined) throw claimedPlain.failure;
  await requireProcessor(context, scope, order.sessionId);
  const claimed = await claim(context, scope, order, deadlineMs);
  if (claimed.kind === 'answer') return claimed.answer;
  await context.failpoint('capture.claimed');
  try {
    await carryOutCapture(context, scope, claimed.first, deadlineMs);
  } catch (error) {
    logUnfinished(context, claimed.id, error);
  }
  return answerOf(context, scope, order, claimed);
}

async function orFailure<Result>(work: Promise<Result>): Promise<{ result?: Result; failure?: Failure }> {
  try {
    return { result: await work };
  } catch (error) {
    if (error instanceof Failure) return { failure: error };
    throw error;
  }
}

// Where one card holds everything and nothing is left of it. Captures that come at the same time share the claim, and what settles them.
async function claimPlain(
  context: Context,
  scope: Scope,
  { cause, sessionId, instruction, metadata, use }: Capturing,
): Promise<ClaimedCapture | undefined> {
  if (cause !== 'session' || use === undefined) return undefined;
  const isDown = (account: ProcessorAccount | null) => context.processors.findAt(scope, account)?.isDown() !== false;
  return context.groups.captures.submit(scope, { sessionId, instruction, metadata, use, isDown });
}

async function carryOutPlain(
  context: Context,
  scope: Scope,
  order: Capturing,
  claimed: ClaimedCapture,
  deadlineMs: number,
): Promise<StoredAnswer> {
  const { capture: wanted, operation, held } = claimed;
  await context.failpoint('capture.claimed');
  let answer: StoredAnswer | undefined;
  const settle = async () => {
    answer = await settleCaptured(context, scope, claimed);
    return answer !== undefined;
  };
  try {
    const { processorAccount } = held.intent;
    const timeoutMs = Math.max(deadlineMs - performance.now(), 0);
    const settlements = context.groups.capturesDone;
    await finishHold(context, scope, operation, timeoutMs, { processorAccount, settlements, settle });
  } catch (error) {
    logUnfinished(context, wanted.id, error);
  }
  return answer ?? answerOf(context, scope, order, { id: wanted.id, epoch: 1 });
}

function logUnfinished({ logger }: Context, captureId: string, error: unknown): void {
  logger.warn({ err: error, captureId }, 'Failed to carry out a capture; the sweeper will retry');
}

async function answerOfKey(context: Context, scope: Scope, use: KeyUse): Promise<StoredAnswer | undefined> {
  const known = await findKey(context.database, scope, use);
  const usable = known && usableOrThrow(known);
  return usable?.outcome === 'finished' ? usable.answer : undefined;
}

// The processor that has the holds, whichever new money goes to. A session that does not exist is refused by the claim.
async function requireProcessor(context: Context, scope: Scope, sessionId: string): Promise<void> {
  const session = await loadSession(context.database, scope, sessionId);
  const intents = session === undefined ? [] : await findIntents(context.database, scope, session.paymentIntentIds);
  for (const { status, processorAccount } of intents) {
    if (status !== 'requires_capture') continue;
    if (context.processors.at(scope, processorAccount).isDown()) {
      throw new Failure('lock_timeout', { retryAfterSeconds: 5 });
    }
  }
}

// A capture after which a card stays held needs a look at the processor first, with nothing written and no transaction open.
async function claim(context: Context, scope: Scope, order: Capturing, deadlineMs: number): Promise<Claimed> {
  const run = (verified: ReadonlySet<string>) =>
    withTx(context.database, scope, (tx) => claimOnce(context, tx, scope, order, verified), {
      lockTimeoutMs: context.budgets.lockMs,
    });
  try {
    return await run(new Set());
  } catch (error) {
    if (!(error instanceof SeveralCapturesUnproved)) throw error;
    const { cards } = error;
    await requireSeveralCaptures(context, scope, cards, deadlineMs);
    try {
      return await run(new Set(cards.map(({ intent }) => intent.id)));
    } catch (again) {
      // Another request has changed what remains since.
      if (again instanceof SeveralCapturesUnproved) throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
      throw again;
    }
  }
}

/** Thrown to take a claim back whose cards may not be captured several times as far as is known. */
class SeveralCapturesUnproved extends Error {
  readonly cards: readonly HeldCard[];

  constructor(cards: readonly HeldCard[]) {
    super('It is not known whether the cards can be captured several times');
    this.name = 'SeveralCapturesUnproved';
    this.cards = cards;
  }
}

async function claimOnce(
  context: Context,
  tx: Tx,
  scope: Scope,
  order: Capturing,
  verified: ReadonlySet<string>,
): Promise<Claimed> {
  const { use } = order;
  const { leaseMs } = context.budgets;
  const id = newId('capture');
  // The session first, as whoever settles a capture takes it before the key.
  const session = await lockSession(tx, scope, order.sessionId);
  if (session === undefined) throw new Failure('checkout_session_not_found');
  const key = use && (await claimOrThrow(tx, scope, use, leaseMs, id));
  await context.failpoint('capture.key_claimed');
  if (key?.outcome === 'finished') return { kind: 'answer', answer: key.answer };
  if (key?.attemptId !== undefined) return resume(tx, scope, key.attemptId, key.epoch, leaseMs);
  const claimed = await request(context, tx, scope, order, { session, id, verified });
  if (use !== undefined && key?.isNew === false) await linkAttempt(tx, scope, use, id);
  await context.failpoint('capture.before_claim_commit');
  return claimed.kind === 'capture' ? { ...claimed, epoch: key?.epoch ?? 0 } : claimed;
}

// The same key after a crash or a lost response: goes on with the capture that it began. One that has ended has finished the key.
async function resume(tx: Tx, scope: Scope, id: string, epoch: number, leaseMs: number): Promise<Claimed> {
  const first = await claimOperationOfCapture(tx, scope, id, leaseMs);
  // The sweeper works on it at this moment.
  if (first === undefined) throw keyInUse();
  return { kind: 'capture', id, first, epoch };
}

async function request(
  context: Context,
  tx: Tx,
  scope: Scope,
  { cause, instruction, intentId, metadata }: Capturing,
  { session, id, verified }: { session: Session; id: string; verified: ReadonlySet<string> },
): Promise<Claimed> {
  const refusal = refusalToCapture(session);
  if (refusal !== undefined) throw refusal;
  const at = await timeOnClock(tx, scope, context.clock, session.testClockId);
  const asked: CaptureRequest = { session, cause, instruction, metadata, at, ...given({ intentId }) };
  const { allocation, cards } = await planCapture(tx, scope, asked);
  const kept = new Set(allocation.cards.filter(({ endsHold }) => !endsHold).map(({ intent }) => intent.id));
  if ([...kept].some((intent) => !verified.has(intent))) {
    throw new SeveralCapturesUnproved(cards.filter(({ intent }) => kept.has(intent.id)));
  }
  const first = await writeCapture(tx, scope, asked, allocation, { id, leaseMs: context.budgets.leaseMs });
  if (first !== undefined) return { kind: 'capture', id, first, epoch: 0 };
  const released = await settleRelease(tx, scope, session, id, at);
  const answer = await captureAnswer(tx, scope, { id, cause, status: 'succeeded', failureCode: null }, released);
  return { kind: 'answer', answer };
}

// What is settled has its answer; for the rest the sweeper goes on, and the same key gives the answer later.
async function answerOf(
  context: Context,
  scope: Scope,
  { sessionId, use }: Capturing,
  { id, epoch }: Pick<Extract<Claimed, { kind: 'capture' }>, 'id' | 'epoch'>,
): Promise<StoredAnswer> {
  if (use !== undefined) {
    const known = await findKey(context.database, scope, use);
    if (known?.outcome === 'finished') return known.answer;
    await withTx(context.database, scope, (tx) => releaseKey(tx, scope, use, epoch));
    await context.failpoint('capture.key_released');
    throw keyInUse();
  }
  const [ended, session] = await Promise.all([
    findCapture(context.database, scope, id),
    loadSession(context.database, scope, sessionId),
  ]);
  if (ended === undefined || session === undefined) throw new Error(`Capture ${id} not found`);
  if (ended.status === 'pending') throw new Failure('lock_timeout', { retryAfterSeconds: 1 });
  return captureAnswer(context.database, scope, ended, session);
}

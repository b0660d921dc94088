import type Stripe from 'stripe';
import type { CircuitBreaker } from './circuit-breaker.ts';
import { outcomeOfError, unknown } from './error-outcome.ts';
import type { Declined, NotNow, Rejected, Unknown } from './outcomes.ts';
import type { CallOptions } from './port.ts';

export interface CallObservation {
  readonly processor: 'sandbox' | 'stripe';
  /** `payment_intents.confirm`, … */
  readonly call: string;
  /** The outcome's kind; of an unknown one with its reason (`unknown:timeout`), of a 404 as `rejected:missing`. */
  readonly outcome: string;
  readonly durationMs: number;
}

export interface CallerParts {
  readonly processor: 'sandbox' | 'stripe';
  readonly breaker: CircuitBreaker;
  readonly processorAccount: string | undefined;
  readonly timeoutMs: number;
  /** Throws when a call may not be made here: inside a database transaction. */
  readonly beforeCall: () => void;
  readonly onCall: (observation: CallObservation) => void;
}

/** The outcome of a call that names an object of ours which the processor does not have. */
export const missingObject = 'rejected:missing';

const leastTellingTimeoutMs = 1_000;

/** Makes one call on the SDK and turns whatever happens into an outcome. */
export type Caller = <Answer, Outcome extends { kind: string }>(
  name: string,
  options: CallOptions | undefined,
  send: (request: Stripe.RequestOptions) => Promise<Answer>,
  read: (answer: Answer) => Outcome,
  /** May say better than the error alone what it means. */
  readError?: (error: unknown) => Outcome | undefined,
) => Promise<Outcome | Declined | Rejected | NotNow | Unknown>;

export function createCaller(parts: CallerParts): Caller {
  return async (name, options, send, read, readError) => {
    parts.beforeCall();
    const startedMs = performance.now();
    const outcome = await attempt(parts, options, send, read, readError);
    parts.onCall({
      processor: parts.processor,
      call: name,
      outcome: labelOf(outcome),
      durationMs: performance.now() - startedMs,
    });
    return outcome;
  };
}

function labelOf(outcome: { kind: string }): string {
  if (outcome.kind === 'unknown' && 'reason' in outcome) return `unknown:${String(outcome.reason)}`;
  return outcome.kind === 'rejected' && 'status' in outcome && outcome.status === 404 ? missingObject : outcome.kind;
}

async function attempt<Answer, Outcome extends { kind: string }>(
  parts: CallerParts,
  options: CallOptions | undefined,
  send: (request: Stripe.RequestOptions) => Promise<Answer>,
  read: (answer: Answer) => Outcome,
  readError: ((error: unknown) => Outcome | undefined) | undefined,
): Promise<Outcome | Declined | Rejected | NotNow | Unknown> {
  if (parts.breaker.isOpen()) return unknown('breaker_open', false);
  if (options?.signal?.aborted) return unknown('aborted', false);
  const timeoutMs = Math.floor(options?.timeoutMs ?? parts.timeoutMs);
  if (timeoutMs <= 0) return unknown('timeout', false);
  const request: Stripe.RequestOptions = { timeout: timeoutMs };
  if (parts.processorAccount !== undefined) request.stripeAccount = parts.processorAccount;
  if (options?.idempotencyKey !== undefined) request.idempotencyKey = options.idempotencyKey;
  const note = options?.countsForBreaker === false ? () => undefined : parts.breaker.note;
  const answered = answerOf(
    note,
    timeoutMs,
    withoutStack(() => send(request)),
    read,
    readError,
  );
  return options?.signal === undefined ? answered : untilAborted(answered, options.signal);
}

/**
 * The SDK notes the stack of each call for the text of an error, which stays behind here. That is a fifth of the processor time of a call, and
 * more behind many awaits. V8 prepares an empty stack as well, unless the limit is not a number.
 */
function withoutStack<Result>(call: () => Result): Result {
  const { stackTraceLimit } = Error;
  Reflect.set(Error, 'stackTraceLimit', undefined);
  try {
    return call();
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

async function answerOf<Answer, Outcome extends { kind: string }>(
  note: CircuitBreaker['note'],
  timeoutMs: number,
  sent: Promise<Answer>,
  read: (answer: Answer) => Outcome,
  readError: ((error: unknown) => Outcome | undefined) | undefined,
): Promise<Outcome | Declined | Rejected | NotNow | Unknown> {
  let answer: Answer;
  try {
    answer = await sent;
  } catch (error) {
    const outcome = outcomeOfError(error);
    const sign = signOf(outcome);
    // A call that was given next to no time says little about the processor.
    if (sign !== 'failed' || timeoutMs >= leastTellingTimeoutMs) note(sign);
    if (outcome.kind === 'unknown' || outcome.kind === 'not_now') return outcome;
    return orUnreadable(() => readError?.(error) ?? outcome);
  }
  note('alive');
  return orUnreadable(() => read(answer));
}

/** An answer that is not what it should be says nothing about the money. */
function orUnreadable<Outcome>(read: () => Outcome): Outcome | Unknown {
  try {
    return read();
  } catch {
    return unknown('unreadable', true);
  }
}

function signOf(outcome: Declined | Rejected | NotNow | Unknown): 'alive' | 'failed' | 'unreachable' {
  if (outcome.kind !== 'unknown' || outcome.reason === 'in_progress' || outcome.reason === 'rate_limited')
    return 'alive';
  return outcome.reason === 'connection' && !outcome.mayHaveHappened ? 'unreachable' : 'failed';
}

async function untilAborted<Outcome>(answered: Promise<Outcome>, signal: AbortSignal): Promise<Outcome | Unknown> {
  let abort: (() => void) | undefined;
  const aborted = new Promise<Unknown>((resolve) => {
    abort = () => resolve(unknown('aborted', true));
    signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([answered, aborted]);
  } finally {
    if (abort !== undefined) signal.removeEventListener('abort', abort);
  }
}

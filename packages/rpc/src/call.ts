import type { CallerContext } from '@eligo/proto/caller/v1/caller';
import type { Cancellation } from './cancellation.ts';

/** Every call has a deadline: this one when the caller names none. */
export const defaultTimeoutMs = 5_000;
/** No call waits longer, whatever its caller asks for: a lost peer must not hold work for minutes. */
export const maxTimeoutMs = 30_000;

/** The account and the mode that a call works in. */
export interface CallScope {
  readonly accountId: string;
  readonly testMode: boolean;
}

/** What a handler knows about the call that it serves. */
export interface Call {
  /** Account '' for the methods that work outside any account; row-level security matches nothing for it. */
  readonly scope: CallScope;
  readonly caller: CallerContext;
  /** The component that made this call, proved by its credential. */
  readonly from: string;
  readonly requestId: string;
  /** W3C trace context of the caller, if any. */
  readonly traceparent?: string | undefined;
  /** Aborted at the deadline and when the caller goes away. */
  readonly signal: AbortSignal;
  /** Milliseconds left until the deadline; never negative. */
  timeoutMs(): number;
}

/** What a caller gives with a call. A received `Call` fits: its caller, request id, trace and the rest of its time travel on. */
export interface CallOptions {
  readonly caller?: CallerContext | undefined;
  readonly requestId?: string | undefined;
  readonly traceparent?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number | (() => number) | undefined;
}

const itsCancellation = Symbol('the cancellation behind a call');

/** The call that a handler receives. Copied by `{ ...call, timeoutMs: 500 }` it still ends when the received one does. */
export class ReceivedCall implements Call {
  readonly scope: CallScope;
  readonly caller: CallerContext;
  readonly from: string;
  readonly requestId: string;
  readonly traceparent: string | undefined;
  readonly timeoutMs: () => number;
  readonly [itsCancellation]: Cancellation;

  constructor(
    caller: CallerContext,
    from: string,
    requestId: string,
    traceparent: string | undefined,
    cancellation: Cancellation,
  ) {
    this.scope = { accountId: caller.accountId, testMode: caller.testMode };
    this.caller = caller;
    this.from = from;
    this.requestId = requestId;
    this.traceparent = traceparent;
    this.timeoutMs = () => cancellation.remainingMs();
    this[itsCancellation] = cancellation;
  }

  // Made for those who ask: most handlers pass the call on and need none.
  get signal(): AbortSignal {
    return this[itsCancellation].signal;
  }
}

/** The cancellation behind a received call or a copy of one, which is cheaper to follow than its signal. */
export function cancellationOf(options: CallOptions): Cancellation | undefined {
  return (options as Partial<ReceivedCall>)[itsCancellation];
}

/** The time that a call may take: what was asked for, within the maximum. */
export function timeoutOf(options: CallOptions): number {
  const asked = typeof options.timeoutMs === 'function' ? options.timeoutMs() : options.timeoutMs;
  return asked === undefined ? defaultTimeoutMs : Math.min(asked, maxTimeoutMs);
}

import type { DescMethod } from '@bufbuild/protobuf';
import { type Code, ConnectError } from '@connectrpc/connect';
import { Failure } from '@eligo/failures';
import type { Admission } from './admission.ts';
import { type Call, type CallScope, ReceivedCall } from './call.ts';
import type { Cancellation } from './cancellation.ts';
import { isUnexpected, toWireError } from './error-mapping.ts';
import type { CallMetadata } from './metadata.ts';
import { isCurrentRequest, isRequestId, newRequestId, withRequestContext } from './request-context.ts';
import { endCallSpan, type OpenSpan, startCallSpan, type Tracer, underSpan } from './tracing.ts';

/** What a server tells about the calls that it serves. */
export interface ServerObserver {
  started?(method: DescMethod): void;
  finished?(method: DescMethod, call: FinishedCall): void;
  /** An unexpected error; it left the component without its text. */
  unexpected?(error: unknown, call: ObservedCall): void;
  /** A refusal because the database or something else was away; it left the component without its cause. */
  unavailable?(error: Failure, call: ObservedCall): void;
}

/** Runs a step of a call. */
export type Around = <Result>(call: Call, step: () => Result) => Result;

/** What a server has each of its calls do. */
export interface ServedCallOptions {
  readonly observer: ServerObserver | undefined;
  readonly around: Around | undefined;
  /** Told once, at its end. */
  readonly ended: () => void;
}

/** A call as an observer is told of it. */
export interface ObservedCall {
  readonly method: DescMethod;
  readonly requestId: string;
  readonly from: string;
}

/** A call at its end. Who called and for whom is unknown of one that was not admitted. */
export interface FinishedCall {
  readonly from: string;
  readonly requestId: string | undefined;
  readonly scope: CallScope | undefined;
  /** Undefined when the call was answered. */
  readonly code: Code | undefined;
  /** The refusal, where the call failed with one. */
  readonly refusal: string | undefined;
  readonly durationMs: number;
}

/** One call from its arrival to its one end: its account, its span and the context that its handler runs in. */
export class ServedCall {
  readonly #startedAt = performance.now();
  readonly #method: DescMethod;
  readonly #cancellation: Cancellation;
  readonly #observer: ServerObserver | undefined;
  readonly #around: Around | undefined;
  readonly #ended: () => void;
  #call: Call | undefined;
  #span: OpenSpan | undefined;
  #closed = false;

  constructor(method: DescMethod, cancellation: Cancellation, { observer, around, ended }: ServedCallOptions) {
    this.#method = method;
    this.#cancellation = cancellation;
    this.#observer = observer;
    this.#around = around;
    this.#ended = ended;
    observer?.started?.(method);
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** Makes the call that the handler receives. */
  open({ from, caller }: Admission, metadata: CallMetadata, tracer: Tracer | undefined): void {
    const requestId = metadata['eligo-request-id'];
    let { traceparent } = metadata;
    if (tracer !== undefined) {
      this.#span = startCallSpan(tracer, 'server', this.#method, traceparent);
      traceparent = this.#span.traceparent;
    }
    const id = requestId !== undefined && isRequestId(requestId) ? requestId : newRequestId();
    this.#call = new ReceivedCall(caller, from, id, traceparent, this.#cancellation);
  }

  /** Runs a step of the handler under the call's request id and span. */
  run<Result>(step: (call: Call) => Result): Result {
    const call = this.#call;
    if (call === undefined) throw new Error('The call is closed');
    const span = this.#span;
    // In one process the caller's work mostly runs under the same request already.
    if (span === undefined && isCurrentRequest(call)) return this.#runAround(call, step);
    const work = () => this.#runAround(call, step);
    return withRequestContext(call, span === undefined ? work : () => underSpan(span, work));
  }

  #runAround<Result>(call: Call, step: (call: Call) => Result): Result {
    return this.#around === undefined ? step(call) : this.#around(call, () => step(call));
  }

  /** The call was answered. */
  succeed(): void {
    if (!this.#closed) this.#close();
  }

  /** The call failed: returns the error that may leave the component. A failure after the end is reported and changes nothing. */
  fail(error: unknown): ConnectError {
    const wire = this.#call === undefined && error instanceof ConnectError ? error : toWireError(error);
    if (isUnexpected(error) && wire !== error && !this.#isItsOwnAbort(error)) {
      this.#observer?.unexpected?.(error, this.#observed());
    } else if (error instanceof Failure && error.code === 'service_unavailable' && error.cause !== undefined) {
      this.#observer?.unavailable?.(error, this.#observed());
    }
    if (!this.#closed) this.#close(wire.code, error instanceof Failure ? error.code : undefined);
    return wire;
  }

  #observed(): ObservedCall {
    return { method: this.#method, requestId: this.#call?.requestId ?? '', from: this.#call?.from ?? '' };
  }

  // A handler that passed its signal on fails with an AbortError once the call is cancelled: nothing went wrong.
  #isItsOwnAbort(error: unknown): boolean {
    return this.#cancellation.reason !== undefined && error instanceof Error && error.name === 'AbortError';
  }

  #close(code?: Code, refusal?: string): void {
    this.#closed = true;
    this.#cancellation.finish();
    if (this.#span !== undefined) endCallSpan(this.#span, code);
    const call = this.#call;
    this.#observer?.finished?.(this.#method, {
      from: call?.from ?? '',
      requestId: call?.requestId,
      scope: call?.scope,
      code,
      refusal,
      durationMs: performance.now() - this.#startedAt,
    });
    this.#ended();
  }
}

import { Code, ConnectError } from '@connectrpc/connect';

type Listener = (reason: ConnectError) => void;

/**
 * The end of a call before its answer: its deadline, or its caller going away. An AbortSignal costs more than the rest of an in-process hop,
 * so one is made only for those who ask for it.
 */
export class Cancellation {
  readonly deadlineAt: number;
  #reason: ConnectError | undefined;
  #finished = false;
  #listeners: Listener[] = [];
  #controller: AbortController | undefined;
  #timer: NodeJS.Timeout;
  #parents: (() => void)[] | undefined;

  /** Starts the clock: `timeoutMs` from now the call is cancelled with DeadlineExceeded. */
  constructor(timeoutMs: number) {
    this.deadlineAt = performance.now() + timeoutMs;
    this.#timer = setTimeout(expire, Math.max(1, Math.ceil(timeoutMs)), this);
  }

  /** Why the call was cancelled, or undefined while it was not. */
  get reason(): ConnectError | undefined {
    return this.#reason;
  }

  /** Milliseconds left until the deadline; never negative. */
  remainingMs(): number {
    return Math.max(0, this.deadlineAt - performance.now());
  }

  /** Whether nothing can cancel the call any more: it was cancelled, or it has its answer. */
  get settled(): boolean {
    return this.#finished || this.#reason !== undefined;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  cancel(reason: ConnectError): void {
    if (this.settled) return;
    this.#reason = reason;
    this.#release();
    const listeners = this.#listeners;
    this.#listeners = [];
    for (const listener of listeners) listener(reason);
    this.#controller?.abort(reason);
  }

  /** Calls `listener` when the call is cancelled, at once if it already was. Returns how to stop listening. */
  onCancel(listener: Listener): () => void {
    if (this.#reason !== undefined) {
      listener(this.#reason);
      return nothing;
    }
    this.#listeners.push(listener);
    return () => {
      const at = this.#listeners.indexOf(listener);
      if (at >= 0) this.#listeners.splice(at, 1);
    };
  }

  /** Ends this call when the one that it works for ends. */
  follow(parent: Cancellation | AbortSignal): void {
    const stop = whenCancelled(parent, (reason) => this.cancel(reason));
    if (this.#reason !== undefined) return;
    this.#parents ??= [];
    this.#parents.push(stop);
  }

  /** The call has its answer: no timer and no listener is left behind. */
  finish(): void {
    this.#finished = true;
    this.#release();
    this.#listeners = [];
  }

  #release(): void {
    clearTimeout(this.#timer);
    if (this.#parents === undefined) return;
    for (const stop of this.#parents) stop();
    this.#parents = undefined;
  }
}

/** Calls `listener` when `parent` is cancelled, at once if it already was. Returns how to stop listening. */
export function whenCancelled(parent: Cancellation | AbortSignal, listener: Listener): () => void {
  if (parent instanceof Cancellation) return parent.onCancel(listener);
  const abort = () => listener(canceledBy(parent));
  if (parent.aborted) {
    abort();
    return nothing;
  }
  parent.addEventListener('abort', abort, { once: true });
  return () => parent.removeEventListener('abort', abort);
}

function expire(cancellation: Cancellation): void {
  cancellation.cancel(deadlineExceeded());
}

function nothing(): undefined {
  return undefined;
}

export function deadlineExceeded(): ConnectError {
  return new ConnectError('The call did not finish before its deadline', Code.DeadlineExceeded);
}

/** The end of a call whose caller has aborted it. */
export function canceledBy(signal: AbortSignal): ConnectError {
  return signal.reason instanceof ConnectError ? signal.reason : callerDisconnected();
}

export function callerDisconnected(): ConnectError {
  return new ConnectError('The caller disconnected', Code.Canceled);
}

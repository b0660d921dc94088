import { create, type DescMethod, type Message } from '@bufbuild/protobuf';
import type { ConnectError } from '@connectrpc/connect';
import type { Cancellation } from './cancellation.ts';
import type { StreamHandler } from './implement.ts';
import type { ServedCall } from './served-call.ts';

/** Turns an answer into what its transport carries. */
export type Deliver<Out> = (answer: Message) => Out;

/**
 * The answers of one server stream. A message is made only when the transport asks for it, which is all the back-pressure there is; a
 * cancelled call rejects the message that is awaited and lets the handler clean up.
 */
export class ServedStream<Out> implements AsyncIterator<Out, undefined> {
  readonly #method: DescMethod;
  readonly #request: Message;
  readonly #served: ServedCall;
  readonly #open: () => StreamHandler;
  readonly #deliver: Deliver<Out>;
  #answers: AsyncIterator<unknown> | undefined;
  #failure: ConnectError | undefined;
  #rejectAwaited: ((error: ConnectError) => void) | undefined;

  constructor(
    method: DescMethod,
    request: Message,
    cancellation: Cancellation,
    served: ServedCall,
    open: () => StreamHandler,
    deliver: Deliver<Out>,
  ) {
    this.#method = method;
    this.#request = request;
    this.#served = served;
    this.#open = open;
    this.#deliver = deliver;
    cancellation.onCancel((reason) => this.#fail(reason));
  }

  next(): Promise<IteratorResult<Out, undefined>> {
    if (this.#failure !== undefined) return Promise.reject(this.#failure);
    if (this.#served.closed) return Promise.resolve({ done: true, value: undefined });
    return new Promise((resolve, reject) => {
      this.#rejectAwaited = reject;
      try {
        this.#answers ??= this.#start();
        const answers = this.#answers;
        this.#served
          .run(() => answers.next())
          .then(
            (step) => resolve(this.#pass(step)),
            (error) => this.#fail(error),
          )
          // An answer that is no message of its type.
          .catch((error) => this.#fail(error));
      } catch (error) {
        this.#fail(error);
      }
    });
  }

  async return(): Promise<IteratorResult<Out, undefined>> {
    this.#served.succeed();
    await this.#cleanUp();
    return { done: true, value: undefined };
  }

  #start(): AsyncIterator<unknown> {
    const handler = this.#open();
    return this.#served.run((call) => handler(this.#request, call)[Symbol.asyncIterator]());
  }

  #pass(step: IteratorResult<unknown, unknown>): IteratorResult<Out, undefined> {
    if (step.done === true) {
      this.#served.succeed();
      return { done: true, value: undefined };
    }
    return { done: false, value: this.#deliver(create(this.#method.output, step.value as Message)) };
  }

  #fail(error: unknown): void {
    const wire = this.#served.fail(error);
    this.#failure ??= wire;
    this.#rejectAwaited?.(this.#failure);
    void this.#cleanUp();
  }

  // A generator that still awaits something runs its `finally` only after that, so only `return` waits for it here.
  async #cleanUp(): Promise<void> {
    const answers = this.#answers;
    this.#answers = undefined;
    try {
      await answers?.return?.();
    } catch (error) {
      this.#served.fail(error);
    }
  }
}

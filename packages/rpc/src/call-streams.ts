import { AsyncLocalStorage } from 'node:async_hooks';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { Code, type ConnectError } from '@connectrpc/connect';
import {
  type AnswerBatch,
  AnswerBatchSchema,
  CallBatchSchema,
  type CarriedAnswer,
  type CarriedCall,
  CarriedCallSchema,
} from '@eligo/proto/calls/v1/calls';
import { type Client, connectivityState, Metadata, status as Status, type StatusObject } from '@grpc/grpc-js';
import { type Cancellation, deadlineExceeded, whenCancelled } from './cancellation.ts';
import { mostBytesTogether } from './codec.ts';
import { errorFromStatus, hasNotBegun } from './error-from-status.ts';
import { errorFromWire } from './failure-bytes.ts';
import { bufferOf, carryPath } from './grpc-names.ts';
import type { CallMetadata } from './metadata.ts';
import { type TellWorked, tellUs } from './tell-worked.ts';

/** A unary call, encoded. */
export interface EncodedCall {
  /** As in gRPC: /package.Service/Method */
  readonly path: string;
  readonly metadata: CallMetadata;
  readonly request: Uint8Array;
  readonly timeoutMs: number;
  /** What ends the call before its answer. */
  readonly parent: Cancellation | AbortSignal | undefined;
  readonly tellWorked: TellWorked | undefined;
}

/** Sends a call by itself. */
export type SendAlone = (call: EncodedCall) => Promise<Uint8Array>;

/**
 * Unary calls to a peer, in streams that they share: calls that begin in one turn of the event loop travel in one message of each stream. A stream takes new calls for half
 * a second only, so that the calls of many streams reach all instances of the peer, and none waits for an instance that has left. To a peer that does not know
 * such streams, each call goes alone. A call that never reached the peer is sent once more.
 */
export class CallStreams {
  readonly #channel: Channel;
  readonly #sendAlone: SendAlone;
  readonly #bridgedMs: number;
  readonly #open: (CallStream | undefined)[] = Array.from({ length: streamsAtOnce });
  #next = 0;
  #aloneUntilMs = 0;
  #unreachedSinceMs: number | undefined;

  constructor(channel: Channel, sendAlone: SendAlone, bridgedMs = bridgedBreakMs) {
    this.#channel = channel;
    this.#sendAlone = sendAlone;
    this.#bridgedMs = bridgedMs;
  }

  /** Resolves with the encoded answer. Rejects with a ConnectError. */
  async send(call: EncodedCall): Promise<Uint8Array> {
    const deadlineAt = performance.now() + call.timeoutMs;
    try {
      return await this.#sendOnce(call);
    } catch (error) {
      if (!(error instanceof NotSeen)) throw error;
      return this.#sendAgain(call, deadlineAt, error);
    }
  }

  /** Ends the streams that take calls; calls in them fail. */
  close(): void {
    for (const stream of this.#open) stream?.cut();
  }

  // Any word of the peer ends an outage, also a refusal: the next break is bridged again.
  readonly #onReached = (): void => {
    this.#unreachedSinceMs = undefined;
  };

  async #sendOnce(call: EncodedCall): Promise<Uint8Array> {
    // A long message would hold up the others of its stream.
    if (call.request.length > longestCarried || performance.now() < this.#aloneUntilMs) {
      const answer = await this.#sendAlone(call);
      this.#onReached();
      return answer;
    }
    this.#next = (this.#next + 1) % streamsAtOnce;
    let stream = this.#open[this.#next];
    if (stream === undefined || stream.isRetired) {
      stream = outsideOfCalls(() => new CallStream(this.#channel, this.#onReached));
      this.#open[this.#next] = stream;
    }
    return stream.send(call);
  }

  // In the first half second of an outage calls wait for the connection: it may only have been broken, or the peer be about to listen. Later they fail at once, so that a
  // caller with several peers is not held up by the one that is down.
  async #sendAgain(call: EncodedCall, deadlineAt: number, { status }: NotSeen): Promise<Uint8Array> {
    const now = performance.now();
    // A peer of a version before this one. It is asked again after a while, because it may have been replaced.
    if (status.code === Status.UNIMPLEMENTED) this.#aloneUntilMs = now + aloneMs;
    this.#unreachedSinceMs ??= now;
    const waitMs = Math.min(this.#unreachedSinceMs + this.#bridgedMs, deadlineAt) - now;
    if (!(await becomesReady(this.#channel, waitMs))) throw errorOfStream(status);
    const timeoutMs = deadlineAt - performance.now();
    if (timeoutMs <= 0) throw deadlineExceeded();
    try {
      return await this.#sendOnce({ ...call, timeoutMs });
    } catch (error) {
      throw error instanceof NotSeen ? errorOfStream(error.status) : error;
    }
  }
}

type Channel = ReturnType<Client['getChannel']>;

/** The call never reached the peer. */
class NotSeen extends Error {
  readonly status: StatusObject;

  constructor(status: StatusObject) {
    super(status.details);
    this.status = status;
  }
}

/** Whether calls find a connection, now or within that time. */
function becomesReady(channel: Channel, withinMs: number): Promise<boolean> {
  const until = performance.now() + withinMs;
  return new Promise((resolve) => {
    const look = () => {
      const state = channel.getConnectivityState(false);
      const leftMs = until - performance.now();
      if (state === connectivityState.IDLE) channel.getConnectivityState(true);
      if (state === connectivityState.READY) resolve(true);
      else if (state === connectivityState.SHUTDOWN || leftMs <= 0) resolve(false);
      else channel.watchConnectivityState(state, Date.now() + Math.ceil(leftMs), look);
    };
    look();
  });
}

// A stream belongs to none of the requests whose calls it carries.
const outsideOfCalls = AsyncLocalStorage.snapshot();
/** With two instances of a peer, each has one. */
const streamsAtOnce = 2;
const takesCallsForMs = 500;
const longestCarried = 64 * 1024;
const aloneMs = 10_000;
/** The pause before a connection is tried again is 360 ms at most. */
const bridgedBreakMs = 500;

interface Waiting {
  readonly resolve: (answer: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
  readonly tellWorked: TellWorked | undefined;
}

class CallStream {
  isRetired = false;
  readonly #call: ReturnType<Channel['createCall']>;
  readonly #onReached: () => void;
  readonly #waiting = new Map<number, Waiting>();
  /** Abandoned calls whose handlers still run, with who is told of their work. A stream takes calls for half a second, so there are few. */
  readonly #abandoned = new Map<number, TellWorked>();
  #lastId = 0;
  #calls: CarriedCall[] = [];
  #canceledIds: number[] = [];
  #isSending = false;
  #isHalfClosed = false;

  constructor(channel: Channel, onReached: () => void) {
    this.#onReached = onReached;
    this.#call = channel.createCall(carryPath, Number.POSITIVE_INFINITY, null, null, undefined);
    this.#call.start(new Metadata(), {
      onReceiveMetadata: () => undefined,
      onReceiveMessage: (message: Buffer) => this.#read(message),
      onReceiveStatus: (status) => this.#ended(status),
    });
    this.#call.startRead();
    setTimeout(() => this.#retire(), takesCallsForMs).unref();
  }

  send(call: EncodedCall): Promise<Uint8Array> {
    const { path, metadata, request, timeoutMs, parent, tellWorked } = call;
    this.#lastId += 1;
    const id = this.#lastId;
    return new Promise((resolve, reject) => {
      const abandon = (reason: ConnectError) => {
        if (!this.#waiting.delete(id)) return;
        const unsent = this.#calls.findIndex((queued) => queued.id === id);
        if (unsent >= 0) {
          this.#calls.splice(unsent, 1);
        } else {
          this.#canceledIds.push(id);
          if (tellWorked !== undefined) this.#abandoned.set(id, tellWorked);
        }
        this.#sendSoon();
        finish();
        reject(reason);
      };
      const late = setTimeout(() => abandon(deadlineExceeded()), Math.max(1, Math.ceil(timeoutMs)));
      let stopListening: (() => void) | undefined;
      const finish = () => {
        clearTimeout(late);
        stopListening?.();
      };
      this.#waiting.set(id, {
        tellWorked,
        resolve: (answer) => {
          finish();
          resolve(answer);
        },
        reject: (error) => {
          finish();
          reject(error);
        },
      });
      this.#calls.push(
        create(CarriedCallSchema, {
          ...{ id, path, request, timeoutMs: Math.max(1, Math.ceil(timeoutMs)), isMeasured: tellWorked !== undefined },
          credential: metadata['eligo-credential'],
          caller: metadata['eligo-caller'],
          requestId: metadata['eligo-request-id'],
          traceparent: metadata.traceparent,
        }),
      );
      this.#sendSoon();
      stopListening = parent && whenCancelled(parent, abandon);
    });
  }

  cut(): void {
    this.isRetired = true;
    this.#call.cancelWithStatus(Status.CANCELLED, 'cancelled');
  }

  // What begins in the same turn of the event loop travels together, and so does what begins while a message is being sent.
  #sendSoon(): void {
    if (this.#isSending) return;
    this.#isSending = true;
    setImmediate(() => this.#sendNext());
  }

  // Before its inner call exists, grpc-js keeps the last message alone.
  #sendNext(): void {
    this.#isSending = this.#calls.length + this.#canceledIds.length > 0 && !this.#isHalfClosed;
    if (!this.#isSending) {
      this.#halfCloseWhenDone();
      return;
    }
    const batch = create(CallBatchSchema, { calls: this.#takeCalls(), canceledIds: this.#canceledIds });
    this.#canceledIds = [];
    this.#call.sendMessageWithContext({ callback: () => this.#sendNext() }, bufferOf(toBinary(CallBatchSchema, batch)));
  }

  #takeCalls(): CarriedCall[] {
    let bytes = 0;
    const most = this.#calls.findIndex(({ request }) => {
      bytes += request.length;
      return bytes > mostBytesTogether;
    });
    return this.#calls.splice(0, most === -1 ? this.#calls.length : most);
  }

  #read(message: Buffer): void {
    this.#onReached();
    try {
      this.#take(fromBinary(AnswerBatchSchema, message));
    } catch {
      this.#call.cancelWithStatus(Status.INTERNAL, 'The answers cannot be decoded');
    }
  }

  #take({ answers, isClosing }: AnswerBatch): void {
    for (const { id, outcome, workedUs } of answers) {
      const waiting = this.#waiting.get(id);
      if (waiting === undefined) {
        tellUs(this.#abandoned.get(id), workedUs);
        this.#abandoned.delete(id);
      } else {
        this.#waiting.delete(id);
        tellUs(waiting.tellWorked, workedUs);
        settleBy(waiting, outcome);
      }
    }
    if (isClosing) this.#retire();
    else this.#halfCloseWhenDone();
    this.#call.startRead();
  }

  #retire(): void {
    this.isRetired = true;
    this.#halfCloseWhenDone();
  }

  #halfCloseWhenDone(): void {
    if (!this.isRetired || this.#isHalfClosed || this.#isSending || this.#waiting.size > 0) return;
    this.#isHalfClosed = true;
    this.#call.halfClose();
  }

  #ended(status: StatusObject): void {
    this.isRetired = true;
    this.#isHalfClosed = true;
    const unsent = new Set(hasNotBegun(status) ? this.#waiting.keys() : this.#calls.map(({ id }) => id));
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    this.#abandoned.clear();
    this.#calls = [];
    for (const [id, { reject }] of waiting) reject(unsent.has(id) ? new NotSeen(status) : errorOfStream(status));
  }
}

function settleBy({ resolve, reject }: Waiting, outcome: CarriedAnswer['outcome']): void {
  if (outcome.case === 'answer') {
    resolve(outcome.value);
  } else {
    const { code = Code.Internal, message = '', failure } = outcome.value ?? {};
    reject(errorFromWire(message, code, failure));
  }
}

// A stream that ends well with calls in it was ended by a peer that does not keep to the protocol: what became of them is not known.
function errorOfStream(status: StatusObject): unknown {
  if (status.code !== Status.OK) return errorFromStatus(status);
  return errorFromStatus({ ...status, code: Status.UNAVAILABLE, details: 'The peer ended the stream of the call' });
}

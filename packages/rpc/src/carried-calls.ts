import { create, type DescMethod, fromBinary, type Message, type MessageInitShape, toBinary } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import {
  AnswerBatchSchema,
  type CallBatch,
  CallBatchSchema,
  type CallError,
  CallErrorSchema,
  type CarriedAnswer,
  CarriedAnswerSchema,
  type CarriedCall,
} from '@eligo/proto/calls/v1/calls';
import { type ServerDuplexStream, status as Status } from '@grpc/grpc-js';
import { maxTimeoutMs } from './call.ts';
import { Cancellation, callerDisconnected } from './cancellation.ts';
import { encodeMessage, mostBytesTogether } from './codec.ts';
import { wireFieldsOf } from './failure-bytes.ts';
import { bufferOf, pathOf } from './grpc-names.ts';
import type { CallMetadata } from './metadata.ts';
import { readRequest } from './read-request.ts';
import type { Incoming, RpcServer } from './server.ts';
import { usOf } from './tell-worked.ts';

/** Serves the calls that arrive in shared streams. Each is a call of its own: admitted, limited, canceled and accounted for by itself. */
export class CarriedCalls {
  readonly #server: RpcServer;
  readonly #methods = new Map<string, DescMethod>();
  readonly #streams = new Set<ServedCalls>();
  #isClosing = false;

  constructor(server: RpcServer) {
    this.#server = server;
    for (const { method } of server.methods.values()) {
      if (method.methodKind === 'unary') this.#methods.set(pathOf(method), method);
    }
  }

  /** Serves a stream to its end. */
  serve(stream: ServerDuplexStream<Buffer, Buffer>): void {
    const served = new ServedCalls(stream, this.#server, this.#methods);
    this.#streams.add(served);
    const forget = () => this.#streams.delete(served);
    stream.once('finish', forget);
    stream.once('cancelled', forget);
    if (this.#isClosing) served.sayClosing();
  }

  /** Tells all callers to send further calls elsewhere. Their streams end once they have the answers that they wait for. */
  close(): void {
    this.#isClosing = true;
    for (const served of this.#streams) served.sayClosing();
  }
}

class ServedCalls {
  readonly #stream: ServerDuplexStream<Buffer, Buffer>;
  readonly #server: RpcServer;
  readonly #methods: ReadonlyMap<string, DescMethod>;
  readonly #inFlight = new Map<number, Cancellation>();
  #answers: CarriedAnswer[] = [];
  #answerBytes = 0;
  #isClosing = false;
  #isFlushing = false;
  #isHalfClosed = false;
  #isOver = false;

  constructor(stream: ServerDuplexStream<Buffer, Buffer>, server: RpcServer, methods: ReadonlyMap<string, DescMethod>) {
    this.#stream = stream;
    this.#server = server;
    this.#methods = methods;
    stream.on('data', (bytes: Buffer) => this.#read(bytes));
    stream.on('drain', () => this.#readOn());
    stream.on('end', () => {
      this.#isHalfClosed = true;
      this.#endWhenDone();
    });
    // grpc-js says so at the end of every stream, ended well or not.
    stream.once('cancelled', () => this.#cut());
    stream.on('error', () => this.#cut());
  }

  sayClosing(): void {
    this.#isClosing = true;
    this.#flushSoon();
  }

  #read(bytes: Buffer): void {
    if (this.#isOver) return;
    let batch: CallBatch;
    try {
      batch = fromBinary(CallBatchSchema, bytes);
    } catch {
      this.#cut();
      this.#stream.emit('error', { code: Status.INVALID_ARGUMENT, details: 'The calls cannot be decoded' });
      return;
    }
    // Calls begin after all messages that have arrived are read: a call whose cancellation is among them never begins. A process that was frozen finds many of these.
    const begin = new Promise<void>((resolve) => setImmediate(resolve));
    for (const call of batch.calls) this.#serve(call, begin);
    for (const id of batch.canceledIds) this.#inFlight.get(id)?.cancel(callerDisconnected());
    if (!this.#hasRoom()) this.#stream.pause();
  }

  // For a caller that sends without end, or does not read its answers.
  #hasRoom(): boolean {
    return this.#inFlight.size < mostInFlight && !this.#stream.writableNeedDrain;
  }

  #readOn(): void {
    if (this.#stream.isPaused() && this.#hasRoom()) this.#stream.resume();
  }

  #serve(carried: CarriedCall, begin: Promise<void>): void {
    const { id, timeoutMs } = carried;
    const cancellation = new Cancellation(Math.min(timeoutMs, maxTimeoutMs));
    this.#inFlight.set(id, cancellation);
    let workedUs: number | undefined;
    const tellWorked = (workedMs: number) => {
      workedUs = usOf(workedMs);
    };
    const incoming = {
      metadata: metadataOf(carried),
      cancellation,
      ...(carried.isMeasured && { tellWorked }),
    };
    this.#answerOf(carried, incoming, begin)
      .then(
        (value) => this.#answer({ id, outcome: { case: 'answer', value }, workedUs }, value.length),
        (error) => this.#answer({ id, outcome: { case: 'error', value: callErrorOf(error) }, workedUs }, 0),
      )
      .finally(() => this.#finish(id));
  }

  async #answerOf(carried: CarriedCall, incoming: Incoming, begin: Promise<void>): Promise<Uint8Array> {
    await begin;
    const method = this.#methods.get(carried.path);
    if (method === undefined) throw new ConnectError('There is no such method', Code.Unimplemented);
    const request = readRequest(method, carried.request);
    const encode = (answer: Message) => encodeMessage(method.output, answer);
    return this.#server.unary(method, request, incoming, encode);
  }

  #answer(answer: MessageInitShape<typeof CarriedAnswerSchema>, bytes: number): void {
    if (this.#isOver) return;
    this.#answers.push(create(CarriedAnswerSchema, answer));
    this.#answerBytes += bytes;
    if (this.#answerBytes > mostBytesTogether) this.#flush();
    else this.#flushSoon();
  }

  #finish(id: number): void {
    this.#inFlight.get(id)?.finish();
    this.#inFlight.delete(id);
    this.#readOn();
    this.#endWhenDone();
  }

  // What is answered in the same turn of the event loop travels together.
  #flushSoon(): void {
    if (this.#isFlushing || this.#isOver) return;
    this.#isFlushing = true;
    setImmediate(() => {
      this.#isFlushing = false;
      this.#flush();
      this.#endWhenDone();
    });
  }

  #flush(): void {
    if (this.#isOver || (this.#answers.length === 0 && !this.#isClosing)) return;
    const batch = create(AnswerBatchSchema, { answers: this.#answers, isClosing: this.#isClosing });
    this.#answers = [];
    this.#answerBytes = 0;
    this.#stream.write(bufferOf(toBinary(AnswerBatchSchema, batch)));
  }

  #endWhenDone(): void {
    if (this.#isOver || !this.#isHalfClosed || this.#isFlushing || this.#inFlight.size > 0) return;
    this.#isOver = true;
    this.#stream.end();
  }

  // The caller is gone, and nothing more can be told to it.
  #cut(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    for (const cancellation of this.#inFlight.values()) cancellation.cancel(callerDisconnected());
  }
}

/** Of one stream. */
const mostInFlight = 1_000;

function metadataOf({ credential, caller, requestId, traceparent }: CarriedCall): CallMetadata {
  return {
    ...{ 'eligo-credential': credential, 'eligo-caller': caller },
    ...{ 'eligo-request-id': requestId, traceparent },
  };
}

function callErrorOf(error: unknown): CallError {
  const { code, message, failure } = wireFieldsOf(error);
  return create(CallErrorSchema, { code, message, ...(failure && { failure }) });
}

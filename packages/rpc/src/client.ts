import type {
  DescMessage,
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';
import { ConnectError, type ContextValues, createContextValues, type Transport } from '@connectrpc/connect';
import type { CallerContext } from '@eligo/proto/caller/v1/caller';
import { type CallOptions, cancellationOf, ReceivedCall, timeoutOf } from './call.ts';
import { deadlineExceeded } from './cancellation.ts';
import { fromWireError } from './error-mapping.ts';
import type { Identity } from './identity.ts';
import { parentCancellation } from './in-process.ts';
import { headerOfMetadata, type TransportHeader } from './metadata.ts';
import { componentOf } from './policy.ts';
import { currentRequest, newRequestId } from './request-context.ts';
import { backOff, mayRetry, RetryBudget } from './retry.ts';
import { type TellWorked, toldOfWork } from './tell-worked.ts';
import { endCallSpan, type OpenSpan, startCallSpan, type Tracer } from './tracing.ts';

/** One method as its caller sees it. Rejects with the callee's Failure, or with a ConnectError for an error of the call itself. */
export type ClientMethod<Method extends DescMethod> =
  Method extends DescMethodUnary<infer I, infer O>
    ? (request: MessageInitShape<I>, call: CallOptions) => Promise<MessageShape<O>>
    : Method extends DescMethodServerStreaming<infer I, infer O>
      ? (request: MessageInitShape<I>, call: CallOptions) => AsyncIterable<MessageShape<O>>
      : never;

/** The methods of a service, called as one component. */
export type Client<Service extends DescService> = {
  [Name in keyof Service['method']]: ClientMethod<Service['method'][Name]>;
};

export interface ClientOptions {
  /** The component that is called: the service's owner unless given, for a service that every component serves. */
  readonly callee?: string | undefined;
  /** Runs before each call and may throw: the refusal to call inside a transaction. */
  readonly beforeCall?: (() => void) | undefined;
  /** Gives who is to be told for how long the callee of the call that begins now works: undefined if nobody is. */
  readonly tellWorked?: (() => TellWorked | undefined) | undefined;
  /** Set only when traces are on. */
  readonly tracer?: Tracer | undefined;
}

/** A typed client of `service` that calls as `as`, over any transport. Make one per peer and keep it: its retry budget lives in it. */
export function client<Service extends DescService>(
  service: Service,
  transport: Transport,
  as: Identity,
  options: ClientOptions = {},
): Client<Service> {
  const callee = options.callee ?? componentOf(service);
  const caller: Caller = { ...options, callee, transport, as, budget: new RetryBudget() };
  const methods: Record<string, unknown> = {};
  for (const method of service.methods) {
    if (method.methodKind === 'unary') methods[method.localName] = unaryMethod(caller, method as DescMethodUnary);
    else if (method.methodKind === 'server_streaming')
      methods[method.localName] = streamMethod(caller, method as DescMethodServerStreaming);
  }
  return methods as Client<Service>;
}

interface Caller extends ClientOptions {
  readonly callee: string;
  readonly transport: Transport;
  readonly as: Identity;
  readonly budget: RetryBudget;
}

function unaryMethod<I extends DescMessage, O extends DescMessage>(caller: Caller, method: DescMethodUnary<I, O>) {
  const { transport, budget, tracer, beforeCall } = caller;
  return async (request: MessageInitShape<I>, call: CallOptions): Promise<MessageShape<O>> => {
    beforeCall?.();
    budget.earn();
    const span = tracer && startCallSpan(tracer, 'client', method, call.traceparent);
    const deadlineAt = performance.now() + timeoutOf(call);
    const header = headerOf(caller, call, span);
    const contextValues = contextOf(call, caller.tellWorked?.());
    for (let retries = 0; ; retries += 1) {
      try {
        if (retries > 0) await backOff(retries - 1, call.signal);
        const leftMs = deadlineAt - performance.now();
        if (leftMs <= 0) throw deadlineExceeded();
        const answer = await transport.unary(method, ownSignal(call), leftMs, header, request, contextValues);
        if (span !== undefined) endCallSpan(span, undefined);
        return answer.message;
      } catch (error) {
        if (!mayRetry(method, error, retries, budget)) throw ended(error, span);
      }
    }
  };
}

function streamMethod<I extends DescMessage, O extends DescMessage>(
  caller: Caller,
  method: DescMethodServerStreaming<I, O>,
) {
  return (request: MessageInitShape<I>, call: CallOptions): AsyncIterable<MessageShape<O>> => {
    caller.beforeCall?.();
    return readStream(caller, method, request, call);
  };
}

async function* readStream<I extends DescMessage, O extends DescMessage>(
  caller: Caller,
  method: DescMethodServerStreaming<I, O>,
  request: MessageInitShape<I>,
  call: CallOptions,
): AsyncGenerator<MessageShape<O>, void, undefined> {
  const span = caller.tracer && startCallSpan(caller.tracer, 'client', method, call.traceparent);
  let error: unknown;
  try {
    const timeoutMs = timeoutOf(call);
    if (timeoutMs <= 0) throw deadlineExceeded();
    const header = headerOf(caller, call, span);
    const input = single(request);
    const signal = ownSignal(call);
    const response = await caller.transport.stream(
      method,
      signal,
      timeoutMs,
      header,
      input,
      contextOf(call, caller.tellWorked?.()),
    );
    yield* response.message;
  } catch (caught) {
    error = caught;
    throw fromWireError(caught);
  } finally {
    if (span !== undefined) endCallSpan(span, error === undefined ? undefined : ConnectError.from(error).code);
  }
}

async function* single<Message>(message: Message): AsyncGenerator<Message> {
  yield message;
}

function ended(error: unknown, span: OpenSpan | undefined): unknown {
  if (span !== undefined) endCallSpan(span, ConnectError.from(error).code);
  return fromWireError(error);
}

// A received call is followed by its cancellation; asking for its signal would make one.
function ownSignal(call: CallOptions): AbortSignal | undefined {
  return call instanceof ReceivedCall ? undefined : call.signal;
}

function contextOf(call: CallOptions, tellWorked?: TellWorked): ContextValues | undefined {
  const parent = cancellationOf(call);
  if (parent === undefined && tellWorked === undefined) return undefined;
  return createContextValues().set(parentCancellation, parent).set(toldOfWork, tellWorked);
}

function headerOf(caller: Caller, call: CallOptions, span: OpenSpan | undefined): TransportHeader {
  const current = call.requestId === undefined || span === undefined ? currentRequest() : undefined;
  return headerOfMetadata({
    'eligo-credential': caller.as.credentialFor(caller.callee),
    'eligo-caller': callerToken(caller.as, call.caller),
    'eligo-request-id': call.requestId ?? current?.requestId ?? newRequestId(),
    traceparent: span?.traceparent ?? call.traceparent ?? current?.traceparent,
  });
}

function callerToken(as: Identity, caller: CallerContext | undefined): string | undefined {
  if (caller === undefined || caller.accountId === '') return undefined;
  const token = as.tokenOf(caller);
  if (token === undefined) throw new Error('This component neither received nor issued the caller context');
  return token;
}

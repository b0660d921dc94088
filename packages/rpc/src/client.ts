import type {
  DescMessage,
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  DescService,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';
import { ConnectError, createContextValues, type Transport } from '@connectrpc/connect';
import { type CallOptions, cancellationOf, timeoutOf } from './call.ts';
import { deadlineExceeded } from './cancellation.ts';
import { fromWireError } from './error-mapping.ts';
import type { Identity } from './identity.ts';
import { parentCancellation } from './in-process.ts';
import { metadataNames } from './metadata.ts';
import { componentOf } from './policy.ts';
import { currentRequest, newRequestId } from './request-context.ts';
import { backOff, mayRetry, RetryBudget } from './retry.ts';
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
  /** Runs before each call and may throw: the refusal to call inside a transaction. */
  readonly beforeCall?: (() => void) | undefined;
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
  const caller: Caller = { callee: componentOf(service), transport, as, budget: new RetryBudget(), ...options };
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

type Header = Record<string, string>;

function unaryMethod<I extends DescMessage, O extends DescMessage>(caller: Caller, method: DescMethodUnary<I, O>) {
  return async (request: MessageInitShape<I>, call: CallOptions): Promise<MessageShape<O>> => {
    caller.beforeCall?.();
    caller.budget.earn();
    const span = caller.tracer && startCallSpan(caller.tracer, 'client', method, call.traceparent);
    try {
      const answer = await sendUnary(caller, method, request, call, headerOf(caller, call, span));
      if (span !== undefined) endCallSpan(span, undefined);
      return answer;
    } catch (error) {
      if (span !== undefined) endCallSpan(span, ConnectError.from(error).code);
      throw fromWireError(error);
    }
  };
}

async function sendUnary<I extends DescMessage, O extends DescMessage>(
  caller: Caller,
  method: DescMethodUnary<I, O>,
  request: MessageInitShape<I>,
  call: CallOptions,
  header: Header,
): Promise<MessageShape<O>> {
  const timeoutMs = timeoutOf(call);
  const deadlineAt = performance.now() + timeoutMs;
  const { signal, contextValues } = cancelledWith(call);
  for (let retries = 0, leftMs = timeoutMs; ; retries += 1, leftMs = deadlineAt - performance.now()) {
    if (leftMs <= 0) throw deadlineExceeded();
    try {
      const response = await caller.transport.unary(method, signal, leftMs, header, request, contextValues);
      return response.message;
    } catch (error) {
      if (!mayRetry(method, error, retries, caller.budget)) throw error;
      await backOff(retries, call.signal);
    }
  }
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
    const { signal, contextValues } = cancelledWith(call);
    const header = headerOf(caller, call, span);
    const input = single(request);
    const response = await caller.transport.stream(method, signal, timeoutMs, header, input, contextValues);
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

function cancelledWith(call: CallOptions) {
  const parent = cancellationOf(call);
  if (parent === undefined) return { signal: call.signal, contextValues: undefined };
  return { signal: undefined, contextValues: createContextValues().set(parentCancellation, parent) };
}

function headerOf(caller: Caller, call: CallOptions, span: OpenSpan | undefined): Header {
  const current = currentRequest();
  const header: Header = {
    [metadataNames.credential]: caller.as.credentialFor(caller.callee),
    [metadataNames.requestId]: call.requestId ?? current?.requestId ?? newRequestId(),
  };
  if (call.caller !== undefined && call.caller.accountId !== '') {
    const token = caller.as.tokenOf(call.caller);
    if (token === undefined) throw new Error('the caller context was neither received nor issued by this component');
    header[metadataNames.caller] = token;
  }
  const traceparent = span?.traceparent ?? call.traceparent ?? current?.traceparent;
  if (traceparent !== undefined) header[metadataNames.traceparent] = traceparent;
  return header;
}

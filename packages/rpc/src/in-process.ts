import {
  create,
  type DescMessage,
  type DescMethodStreaming,
  type DescMethodUnary,
  type DescService,
  type Message,
  type MessageInitShape,
  type MessageShape,
} from '@bufbuild/protobuf';
import {
  ConnectError,
  type ContextValues,
  createContextKey,
  type StreamResponse,
  type Transport,
  type UnaryResponse,
} from '@connectrpc/connect';
import { defaultTimeoutMs, maxTimeoutMs } from './call.ts';
import { Cancellation } from './cancellation.ts';
import { decodeMessage, encodeMessage } from './codec.ts';
import { errorFromWire, failureBytes } from './failure-bytes.ts';
import { readMetadata, type TransportHeader } from './metadata.ts';
import { onlyMessage } from './only-message.ts';
import type { Incoming, RpcServer } from './server.ts';

/** Carries the cancellation of the call that a call is made for, so that following it needs no AbortSignal. */
export const parentCancellation = createContextKey<Cancellation | undefined>(undefined, {
  description: 'the call that this call is made for',
});

/**
 * The transport between components of one process: hands the message itself to the handler. With `encode` every message, answer and error
 * detail passes through its encoding, as it would between processes; tests use it, so that one process hides nothing.
 */
export function inProcessTransport(server: RpcServer, options: { encode?: boolean } = {}): Transport {
  return options.encode === true ? encodingTransport(server) : plainTransport(server);
}

function plainTransport(server: RpcServer): Transport {
  return {
    unary(method, signal, timeoutMs, header, input, contextValues) {
      const incoming = incomingOf(signal, timeoutMs, header, contextValues);
      const deliver = (answer: Message) => new InProcessAnswer(method, answer as MessageShape<typeof method.output>);
      return server.unary(method, create(method.input, input), incoming, deliver);
    },
    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const request = create(method.input, await onlyMessage(input));
      const incoming = incomingOf(signal, timeoutMs, header, contextValues);
      const answers = server.stream(method, request, incoming, asItStands);
      return streamResponse(method, answers as AsyncIterable<MessageShape<typeof method.output>>);
    },
  };
}

function encodingTransport(server: RpcServer): Transport {
  return {
    async unary(method, signal, timeoutMs, header, input, contextValues) {
      const request = throughEncoding(method.input, input);
      const incoming = incomingOf(signal, timeoutMs, header, contextValues);
      const encode = (answer: Message) => encodeMessage(method.output, answer as MessageShape<typeof method.output>);
      try {
        const bytes = await server.unary(method, request, incoming, encode);
        return new InProcessAnswer(method, decodeMessage(method.output, bytes));
      } catch (error) {
        throw errorThroughEncoding(error);
      }
    },
    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const request = throughEncoding(method.input, await onlyMessage(input));
      const incoming = incomingOf(signal, timeoutMs, header, contextValues);
      const encode = (answer: Message) => encodeMessage(method.output, answer as MessageShape<typeof method.output>);
      return streamResponse(method, decoded(method.output, server.stream(method, request, incoming, encode)));
    },
  };
}

function incomingOf(
  signal: AbortSignal | undefined,
  timeoutMs: number | undefined,
  header: TransportHeader,
  contextValues: ContextValues | undefined,
): Incoming {
  const cancellation = new Cancellation(Math.min(timeoutMs ?? defaultTimeoutMs, maxTimeoutMs));
  const parent = contextValues?.get(parentCancellation);
  if (parent !== undefined) cancellation.follow(parent);
  if (signal !== undefined) cancellation.follow(signal);
  return { metadata: readMetadata(header), cancellation };
}

function asItStands(message: Message): Message {
  return message;
}

function throughEncoding<Desc extends DescMessage>(desc: Desc, message: MessageInitShape<Desc>): MessageShape<Desc> {
  return decodeMessage(desc, encodeMessage(desc, message));
}

async function* decoded<Desc extends DescMessage>(
  desc: Desc,
  answers: AsyncIterable<Uint8Array>,
): AsyncGenerator<MessageShape<Desc>> {
  try {
    for await (const bytes of answers) yield decodeMessage(desc, bytes);
  } catch (error) {
    throw errorThroughEncoding(error);
  }
}

function errorThroughEncoding(error: unknown): unknown {
  if (!(error instanceof ConnectError)) return error;
  return errorFromWire(error.rawMessage, error.code, failureBytes(error));
}

// Headers and trailers are there because the interface has them; ours carry nothing, so none are made until somebody looks.
class InProcessAnswer<I extends DescMessage, O extends DescMessage> implements UnaryResponse<I, O> {
  readonly stream = false;
  readonly method: DescMethodUnary<I, O>;
  readonly message: MessageShape<O>;

  constructor(method: DescMethodUnary<I, O>, message: MessageShape<O>) {
    this.method = method;
    this.message = message;
  }

  get service(): DescService {
    return this.method.parent;
  }

  get header(): Headers {
    return new Headers();
  }

  get trailer(): Headers {
    return new Headers();
  }
}

function streamResponse<I extends DescMessage, O extends DescMessage>(
  method: DescMethodStreaming<I, O>,
  message: AsyncIterable<MessageShape<O>>,
): StreamResponse<I, O> {
  return { stream: true, service: method.parent, method, message, header: new Headers(), trailer: new Headers() };
}

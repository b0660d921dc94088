import type { DescMethod, Message } from '@bufbuild/protobuf';
import {
  experimental,
  type Metadata as GrpcMetadata,
  Metadata,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type ServerWritableStream,
  type StatusObject,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { defaultTimeoutMs, maxTimeoutMs } from './call.ts';
import { Cancellation, callerDisconnected } from './cancellation.ts';
import { CarriedCalls } from './carried-calls.ts';
import { encodeMessage, maxCarriedBytes } from './codec.ts';
import { wireFieldsOf } from './failure-bytes.ts';
import { asBytes, bufferOf, carryPath, failureTrailer, measuredHeader, pathOf, workedTrailer } from './grpc-names.ts';
import { metadataBy } from './metadata.ts';
import { readRequest } from './read-request.ts';
import type { Incoming, RpcServer } from './server.ts';
import { usOf } from './tell-worked.ts';
import type { WatchedCertificate } from './watched-certificate.ts';

/** A gRPC server that accepts calls. */
export interface GrpcListener {
  readonly port: number;
  /** Accepts no more, waits up to `graceMs` for the calls in flight, then cuts what is left. */
  stop(graceMs: number): Promise<void>;
}

/**
 * Serves a component's methods over gRPC, carried by grpc-js. Without a certificate nothing is encrypted, which is for an inner network only; with one, clients
 * need certificates of the same authorities. Port 0 takes a free one.
 */
export async function serveGrpc(options: {
  server: RpcServer;
  host: string;
  port: number;
  certificate?: WatchedCertificate | undefined;
  /** How long a connection is kept, so that clients find new instances; 2 minutes if not given. */
  maxConnectionAgeMs?: number;
}): Promise<GrpcListener> {
  const { server, host, maxConnectionAgeMs = 120_000 } = options;
  const listener = new Server({ ...listenerOptions, 'grpc.max_connection_age_ms': maxConnectionAgeMs });
  for (const { method } of server.methods.values()) {
    if (method.methodKind === 'unary') {
      listener.register<Buffer, Buffer>(pathOf(method), unaryHandler(server, method), asBytes, asBytes, 'unary');
    } else {
      listener.register<Buffer, Buffer>(
        pathOf(method),
        streamHandler(server, method),
        asBytes,
        asBytes,
        'serverStream',
      );
    }
  }
  const carried = new CarriedCalls(server);
  listener.register<Buffer, Buffer>(
    carryPath,
    (stream: ServerDuplexStream<Buffer, Buffer>) => carried.serve(stream),
    asBytes,
    asBytes,
    'bidi',
  );
  const port = await bind(listener, host, options.port, credentialsOf(options.certificate));
  return {
    port,
    stop(graceMs) {
      carried.close();
      return stop(listener, graceMs);
    },
  };
}

function credentialsOf(certificate: WatchedCertificate | undefined): ServerCredentials {
  if (certificate === undefined) return ServerCredentials.createInsecure();
  return experimental.createCertificateProviderServerCredentials(certificate.provider, certificate.provider, true);
}

const listenerOptions = {
  'grpc.enable_channelz': 0,
  'grpc.max_receive_message_length': maxCarriedBytes,
  'grpc.max_send_message_length': maxCarriedBytes,
  'grpc.keepalive_time_ms': 30_000,
  'grpc.keepalive_timeout_ms': 5_000,
  // The longest call fits into what an old connection is still given.
  'grpc.max_connection_age_grace_ms': maxTimeoutMs + 5_000,
  'grpc.max_concurrent_streams': 1_000,
};

function unaryHandler(server: RpcServer, method: DescMethod) {
  const encode = (answer: Message) => bufferOf(encodeMessage(method.output, answer));
  const answerOf = async (call: ServerUnaryCall<Buffer, Buffer>, trailers: Metadata) =>
    server.unary(method, readRequest(method, call.request), incomingOf(call, trailers), encode);
  return (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) => {
    const trailers = new Metadata();
    answerOf(call, trailers).then(
      (answer) => callback(null, answer, trailers),
      (error) => callback(statusOf(error, trailers)),
    );
  };
}

function streamHandler(server: RpcServer, method: DescMethod) {
  const encode = (answer: Message) => bufferOf(encodeMessage(method.output, answer));
  return async (call: ServerWritableStream<Buffer, Buffer>) => {
    const trailers = new Metadata();
    try {
      const request = readRequest(method, call.request);
      for await (const bytes of server.stream(method, request, incomingOf(call, trailers), encode)) {
        if (!call.write(bytes)) await writable(call);
      }
      call.end(trailers);
    } catch (error) {
      call.emit('error', statusOf(error, trailers));
    }
  };
}

function incomingOf(
  call: ServerUnaryCall<Buffer, Buffer> | ServerWritableStream<Buffer, Buffer>,
  trailers: Metadata,
): Incoming {
  const cancellation = new Cancellation(timeoutOf(call.getDeadline()));
  // grpc-js says so at the end of every call, answered or not.
  call.once('cancelled', () => {
    if (!cancellation.settled) cancellation.cancel(callerDisconnected());
  });
  const incoming = { metadata: metadataBy((name) => firstText(call.metadata, name)), cancellation };
  if (firstText(call.metadata, measuredHeader) === undefined) return incoming;
  return { ...incoming, tellWorked: (workedMs) => trailers.set(workedTrailer, String(usOf(workedMs))) };
}

function timeoutOf(deadline: Date | number): number {
  const at = typeof deadline === 'number' ? deadline : deadline.getTime();
  return at === Number.POSITIVE_INFINITY ? defaultTimeoutMs : Math.min(at - Date.now(), maxTimeoutMs);
}

function firstText(metadata: GrpcMetadata, name: string): string | undefined {
  const [value] = metadata.get(name);
  return typeof value === 'string' ? value : undefined;
}

function statusOf(error: unknown, metadata: Metadata): Partial<StatusObject> {
  const { code, message, failure } = wireFieldsOf(error);
  // grpc-js percent-encodes the text, which fails for a lone surrogate.
  if (failure === undefined) return { code: code as number, details: message.toWellFormed(), metadata };
  metadata.set(failureTrailer, bufferOf(failure));
  return { code: code as number, details: '', metadata };
}

function writable(call: ServerWritableStream<Buffer, Buffer>): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      call.off('drain', done);
      call.off('cancelled', done);
      resolve();
    };
    call.once('drain', done);
    call.once('cancelled', done);
    if (call.cancelled) done();
  });
}

function bind(listener: Server, host: string, port: number, credentials: ServerCredentials): Promise<number> {
  const address = host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
  return new Promise((resolve, reject) => {
    listener.bindAsync(address, credentials, (error, bound) => {
      if (error === null) resolve(bound);
      else reject(error);
    });
  });
}

function stop(listener: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => {
      listener.forceShutdown();
      resolve();
    }, graceMs);
    listener.tryShutdown(() => {
      clearTimeout(timer);
      resolve();
    });
  });
}

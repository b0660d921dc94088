import type {
  DescMessage,
  DescMethodStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';
import type { Code, ConnectError, ContextValues, Transport } from '@connectrpc/connect';
import {
  type ChannelCredentials,
  Client,
  type ClientReadableStream,
  credentials,
  experimental,
  Metadata,
  type ServiceError,
  status as Status,
  type StatusObject,
} from '@grpc/grpc-js';
import { defaultTimeoutMs } from './call.ts';
import { type Cancellation, whenCancelled } from './cancellation.ts';
import { decodeMessage, encodeMessage, maxMessageBytes } from './codec.ts';
import { errorFromWire } from './failure-bytes.ts';
import { asBytes, bufferOf, failureTrailer, pathOf } from './grpc-names.ts';
import { parentCancellation } from './in-process.ts';
import type { TransportHeader } from './metadata.ts';
import { onlyMessage } from './only-message.ts';
import type { WatchedCertificate } from './watched-certificate.ts';

/** A transport to one peer, which may be several instances behind one name. */
export interface GrpcTransport extends Transport {
  /** Closes the connections; calls in flight fail. */
  close(): void;
}

/** With TLS a client shows its own certificate, and asks for one that names the component. */
export interface ClientTls {
  readonly certificate: WatchedCertificate;
  /** The component that is called. Its replicas share the name, whatever their addresses are. */
  readonly callee: string;
}

/**
 * Calls over gRPC, carried by grpc-js. `address` is `host:port` or `http://host:port`, or those of several replicas, separated by commas: IP addresses
 * of one family. With `tls` the scheme may be https as well.
 */
export function grpcTransport(options: { address: string; tls?: ClientTls | undefined }): GrpcTransport {
  const { address, tls } = options;
  const channel = new Client(targetOf(address), credentialsOf(tls), {
    ...channelOptions,
    ...(tls && { 'grpc.ssl_target_name_override': tls.callee }),
  });
  return {
    async unary(method, signal, timeoutMs, header, input, contextValues) {
      const message = await sendUnary(
        channel.getChannel(),
        method,
        parentOf(signal, contextValues),
        timeoutMs,
        header,
        input,
      );
      return { stream: false, service: method.parent, method, message, header: new Headers(), trailer: new Headers() };
    },
    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const request = encodeMessage(method.input, await onlyMessage(input));
      const parent = parentOf(signal, contextValues);
      const message = readStream(channel, method, parent, timeoutMs, header, request);
      return { stream: true, service: method.parent, method, message, header: new Headers(), trailer: new Headers() };
    },
    close: () => channel.close(),
  };
}

function credentialsOf(tls: ClientTls | undefined): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  const { provider } = tls.certificate;
  return experimental.createCertificateProviderChannelCredentials(provider, provider);
}

const channelOptions = {
  'grpc.enable_channelz': 0,
  'grpc.max_receive_message_length': maxMessageBytes,
  'grpc.max_send_message_length': maxMessageBytes,
  // A peer that vanished without a word is noticed within one long call.
  'grpc.keepalive_time_ms': 20_000,
  'grpc.keepalive_timeout_ms': 5_000,
  'grpc.keepalive_permit_without_calls': 1,
  // A restarted peer is found again within a fraction of the default deadline.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 300,
  'grpc.dns_min_time_between_resolutions_ms': 5_000,
  'grpc.service_config_disable_resolution': 1,
  // Each instance behind the peer's name gets its share.
  'grpc.service_config': JSON.stringify({ loadBalancingConfig: [{ round_robin: {} }] }),
};

// Below grpc-js's Client, on its channel: what Client adds (interceptors, an event emitter, a stack trace per call) costs a sixth of the
// caller's CPU time for a hop and is not used here.
function sendUnary<I extends DescMessage, O extends DescMessage>(
  channel: ReturnType<Client['getChannel']>,
  method: DescMethodUnary<I, O>,
  parent: Cancellation | AbortSignal | undefined,
  timeoutMs: number | undefined,
  header: TransportHeader,
  input: MessageInitShape<I>,
): Promise<MessageShape<O>> {
  return new Promise((resolve, reject) => {
    const request = bufferOf(encodeMessage(method.input, input));
    let stopListening: (() => void) | undefined;
    const call = channel.createCall(pathOf(method), deadlineOf(timeoutMs), null, null, undefined);
    let answer: Buffer | undefined;
    call.start(metadataOf(header), {
      onReceiveMetadata: nothing,
      onReceiveMessage(message: Buffer) {
        answer = message;
      },
      onReceiveStatus(status) {
        stopListening?.();
        if (status.code !== Status.OK || answer === undefined) return reject(readError(status));
        try {
          resolve(decodeMessage(method.output, answer));
        } catch (undecodable) {
          reject(undecodable);
        }
      },
    });
    call.sendMessageWithContext({}, request);
    call.halfClose();
    call.startRead();
    stopListening =
      parent &&
      whenCancelled(parent, (reason) => {
        reject(reason);
        call.cancelWithStatus(Status.CANCELLED, 'cancelled');
      });
  });
}

async function* readStream<I extends DescMessage, O extends DescMessage>(
  channel: Client,
  method: DescMethodStreaming<I, O>,
  parent: Cancellation | AbortSignal | undefined,
  timeoutMs: number | undefined,
  header: TransportHeader,
  request: Uint8Array,
): AsyncGenerator<MessageShape<O>> {
  let cancelled: ConnectError | undefined;
  const call: ClientReadableStream<Buffer> = channel.makeServerStreamRequest<Buffer, Buffer>(
    pathOf(method),
    asBytes,
    asBytes,
    bufferOf(request),
    metadataOf(header),
    { deadline: deadlineOf(timeoutMs) },
  );
  // A canceled call reports its end even when its reader is gone.
  call.on('error', nothing);
  const stopListening =
    parent &&
    whenCancelled(parent, (reason) => {
      cancelled = reason;
      call.cancel();
    });
  try {
    for await (const bytes of call) yield decodeMessage(method.output, bytes);
  } catch (error) {
    throw cancelled ?? readError(error as ServiceError);
  } finally {
    stopListening?.();
    call.cancel();
  }
}

function readError(error: StatusObject | null): unknown {
  if (error === null || error.metadata === undefined) return error;
  const [failure] = error.metadata.get(failureTrailer);
  const code: number = failure === undefined && brokenOff.test(error.details) ? Status.UNAVAILABLE : error.code;
  return errorFromWire(error.details, code as Code, typeof failure === 'string' ? undefined : failure);
}

// What grpc-js says itself of a call that ended without an answer of the peer: its stream was reset, or its connection broke while something was written to it.
// It calls most of them internal errors. A peer that dies, stops or was frozen for seconds causes them, and the same call can succeed later.
const brokenOff =
  /^(Received RST_STREAM with code|Received HTTP status code (200|5)|Bandwidth exhausted or memory limit)/;

function parentOf(
  signal: AbortSignal | undefined,
  contextValues: ContextValues | undefined,
): Cancellation | AbortSignal | undefined {
  return contextValues?.get(parentCancellation) ?? signal;
}

function metadataOf(header: TransportHeader): Metadata {
  const metadata = new Metadata();
  if (header === undefined) return metadata;
  const entries =
    header instanceof Headers ? header.entries() : Array.isArray(header) ? header : Object.entries(header);
  for (const [name, value] of entries) {
    if (value !== undefined) metadata.set(name as string, value as string);
  }
  return metadata;
}

function deadlineOf(timeoutMs: number | undefined): number {
  return Date.now() + (timeoutMs ?? defaultTimeoutMs);
}

// grpc-js re-resolves names only for its own dns scheme, which a bare host:port gets. Lists have a scheme of their own, and no names.
function targetOf(address: string): string {
  const places = address.split(',').map((one) => one.replace(/^https?:\/\//, '').replace(/\/$/, ''));
  if (places.length === 1) return places[0] ?? '';
  return `${places[0]?.startsWith('[') ? 'ipv6' : 'ipv4'}:${places.join(',')}`;
}

function nothing(): undefined {
  return undefined;
}

import type { DescMessage, DescMethodStreaming, MessageShape } from '@bufbuild/protobuf';
import type { ConnectError, ContextValues, Transport } from '@connectrpc/connect';
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
import { CallStreams, type EncodedCall } from './call-streams.ts';
import { type Cancellation, whenCancelled } from './cancellation.ts';
import { decodeMessage, encodeMessage, maxCarriedBytes } from './codec.ts';
import { errorFromStatus } from './error-from-status.ts';
import { asBytes, bufferOf, measuredHeader, pathOf, workedTrailer } from './grpc-names.ts';
import { parentCancellation } from './in-process.ts';
import { type CallMetadata, readMetadata } from './metadata.ts';
import { onlyMessage } from './only-message.ts';
import { type TellWorked, tellUs, toldOfWork } from './tell-worked.ts';
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
export function grpcTransport(options: {
  address: string;
  tls?: ClientTls | undefined;
  /** For how long after a connection is lost calls wait for the next one; half a second if not given. */
  bridgedMs?: number;
}): GrpcTransport {
  const { address, tls, bridgedMs } = options;
  const channel = new Client(targetOf(address), credentialsOf(tls), {
    ...channelOptions,
    ...(tls && { 'grpc.ssl_target_name_override': tls.callee }),
  });
  const streams = new CallStreams(channel.getChannel(), (call) => sendAlone(channel.getChannel(), call), bridgedMs);
  return {
    async unary(method, signal, timeoutMs, header, input, contextValues) {
      const answer = await streams.send({
        path: pathOf(method),
        metadata: readMetadata(header),
        request: encodeMessage(method.input, input),
        timeoutMs: timeoutMs ?? defaultTimeoutMs,
        parent: parentOf(signal, contextValues),
        tellWorked: contextValues?.get(toldOfWork),
      });
      const message = decodeMessage(method.output, answer);
      return { stream: false, service: method.parent, method, message, header: new Headers(), trailer: new Headers() };
    },
    async stream(method, signal, timeoutMs, header, input, contextValues) {
      const request = encodeMessage(method.input, await onlyMessage(input));
      const parent = parentOf(signal, contextValues);
      const tellWorked = contextValues?.get(toldOfWork);
      const message = readStream(channel, method, parent, timeoutMs, readMetadata(header), tellWorked, request);
      return { stream: true, service: method.parent, method, message, header: new Headers(), trailer: new Headers() };
    },
    close() {
      streams.close();
      channel.close();
    },
  };
}

function credentialsOf(tls: ClientTls | undefined): ChannelCredentials {
  if (tls === undefined) return credentials.createInsecure();
  const { provider } = tls.certificate;
  return experimental.createCertificateProviderChannelCredentials(provider, provider);
}

const channelOptions = {
  'grpc.enable_channelz': 0,
  'grpc.max_receive_message_length': maxCarriedBytes,
  'grpc.max_send_message_length': maxCarriedBytes,
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
function sendAlone(
  channel: ReturnType<Client['getChannel']>,
  { path, metadata, request, timeoutMs, parent, tellWorked }: EncodedCall,
): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    let stopListening: (() => void) | undefined;
    const call = channel.createCall(path, deadlineOf(timeoutMs), null, null, undefined);
    let answer: Buffer | undefined;
    call.start(metadataOf(metadata, tellWorked), {
      onReceiveMetadata: nothing,
      onReceiveMessage(message: Buffer) {
        answer = message;
      },
      onReceiveStatus(status) {
        stopListening?.();
        tellStatus(tellWorked, status);
        if (status.code === Status.OK && answer !== undefined) resolve(answer);
        else reject(errorFromStatus(status));
      },
    });
    call.sendMessageWithContext({}, bufferOf(request));
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
  metadata: CallMetadata,
  tellWorked: TellWorked | undefined,
  request: Uint8Array,
): AsyncGenerator<MessageShape<O>> {
  let cancelled: ConnectError | undefined;
  const call: ClientReadableStream<Buffer> = channel.makeServerStreamRequest<Buffer, Buffer>(
    pathOf(method),
    asBytes,
    asBytes,
    bufferOf(request),
    metadataOf(metadata, tellWorked),
    { deadline: deadlineOf(timeoutMs) },
  );
  // A canceled call reports its end even when its reader is gone.
  call.on('error', nothing);
  if (tellWorked !== undefined) call.once('status', (status: StatusObject) => tellStatus(tellWorked, status));
  const stopListening =
    parent &&
    whenCancelled(parent, (reason) => {
      cancelled = reason;
      call.cancel();
    });
  try {
    for await (const bytes of call) yield decodeMessage(method.output, bytes);
  } catch (error) {
    throw cancelled ?? errorFromStatus(error as ServiceError);
  } finally {
    stopListening?.();
    call.cancel();
  }
}

function parentOf(
  signal: AbortSignal | undefined,
  contextValues: ContextValues | undefined,
): Cancellation | AbortSignal | undefined {
  return contextValues?.get(parentCancellation) ?? signal;
}

function metadataOf(metadata: CallMetadata, tellWorked: TellWorked | undefined): Metadata {
  const made = new Metadata();
  if (tellWorked !== undefined) made.set(measuredHeader, 'yes');
  for (const [name, value] of Object.entries(metadata)) {
    if (value !== undefined) made.set(name, value);
  }
  return made;
}

function tellStatus(tellWorked: TellWorked | undefined, { metadata }: StatusObject): void {
  const [workedUs] = tellWorked === undefined ? [] : metadata.get(workedTrailer);
  if (typeof workedUs === 'string' && /^\d{1,12}$/.test(workedUs)) tellUs(tellWorked, Number(workedUs));
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

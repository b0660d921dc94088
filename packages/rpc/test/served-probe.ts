import type { Transport } from '@connectrpc/connect';
import type { Clock } from '@eligo/values';
import { grpcTransport, serveGrpc } from '../src/grpc.ts';
import {
  type Client,
  client,
  generateComponentKeys,
  type Identity,
  type Implementation,
  implement,
  inProcessTransport,
  openIdentity,
  type RpcServer,
  type RpcServerOptions,
  rpcServer,
} from '../src/index.ts';
import { ProbeService } from './probe.ts';

/** The transports that every promise of this package is held over. */
export const topologies = ['in process', 'in process, encoding', 'gRPC'] as const;
export type Topology = (typeof topologies)[number];

export const keys = generateComponentKeys(['gateway', 'checkout', 'catalog', 'probe']);

/** The identity of a component of these tests. */
export function identityOf(name: string, clock?: Clock, elapsedMs?: () => number): Identity {
  const privateKey = keys.privateKeys[name] ?? '';
  const clocks = { ...(clock === undefined ? {} : { clock }), ...(elapsedMs === undefined ? {} : { elapsedMs }) };
  return openIdentity({ name, privateKey, publicKeys: keys.publicKeys, ...clocks });
}

export const gateway = identityOf('gateway');
export const scope = { accountId: 'facct_1', testMode: true };

/** A call on behalf of account facct_1 in test mode. */
export function byGateway() {
  return { caller: gateway.callerFor(scope), requestId: 'req_of_the_test' };
}

/** A served probe service and a client of it. */
export interface ServedProbe {
  readonly probe: Client<ProbeService>;
  readonly server: RpcServer;
  readonly transport: Transport;
  close(): Promise<void>;
}

/** Serves an implementation of the probe service over one of the transports. */
export async function serveProbe(
  topology: Topology,
  implementation: Implementation<ProbeService>,
  options: Partial<RpcServerOptions> & { as?: Identity } = {},
): Promise<ServedProbe> {
  const { as = gateway, ...rest } = options;
  const handlers = [implement(ProbeService, implementation)];
  const server = rpcServer({ handlers, identity: identityOf('probe'), ...rest });
  const { transport, close } = await connect(topology, server);
  return { probe: client(ProbeService, transport, as), server, transport, close };
}

async function connect(topology: Topology, server: RpcServer) {
  if (topology !== 'gRPC') {
    const transport = inProcessTransport(server, { encode: topology === 'in process, encoding' });
    return { transport, close: () => Promise.resolve() };
  }
  const listener = await serveGrpc({ server, host: '127.0.0.1', port: 0 });
  const transport = grpcTransport({ address: `http://127.0.0.1:${listener.port}` });
  const close = async () => {
    transport.close();
    await listener.stop(1_000);
  };
  return { transport, close };
}

/** Something that a test waits for and something else brings about. */
export function signalled<Value = void>(): { promise: Promise<Value>; resolve(value: Value): void } {
  const { promise, resolve } = Promise.withResolvers<Value>();
  return { promise, resolve };
}

import type { DescService } from '@bufbuild/protobuf';
import type { Transport } from '@connectrpc/connect';
import { refuseInsideTransaction } from '@eligo/postgres';
import { HealthService } from '@eligo/proto/health/v1/health';
import { type Client, client, componentOf, type Identity, type Tracer } from '@eligo/rpc';
import type { GrpcTransport, WatchedCertificate } from '@eligo/rpc/grpc';
import type { EnvironmentReader } from './environment.ts';
import { processTurns } from './turns/process-turns.ts';

/** How a component reaches another one. */
export type TransportTo = (callee: string) => Transport;

/** A component's clients, one per peer service. */
export interface Peers {
  client<Service extends DescService>(service: Service): Client<Service>;
  /** Of the health of a component, which each serves. */
  health(callee: string): Client<typeof HealthService>;
  close(): void;
}

/**
 * Makes a component's clients as they are asked for. Without `transportTo` a peer is reached by gRPC at its `<PEER>_URL`; its code is loaded only
 * then, because it takes 4 MB.
 */
export async function openPeers(options: {
  identity: Identity;
  environment: EnvironmentReader;
  transportTo?: TransportTo | undefined;
  /** With it peers are reached by TLS. */
  certificate?: WatchedCertificate | undefined;
  tracer?: Tracer | undefined;
}): Promise<Peers> {
  const { identity, environment, transportTo, certificate, tracer } = options;
  const clients = new Map<DescService, unknown>();
  const connections = new Map<string, GrpcTransport>();
  const { meter } = processTurns();
  const tellWorked = () => meter.tellWorked();
  const reach = transportTo ?? (await byGrpc(environment, connections, certificate));
  const make = <Service extends DescService>(service: Service, callee: string): Client<Service> => {
    const transport = reach(callee);
    const beforeCall = () => refuseInsideTransaction(`a call to ${callee}`);
    return client(service, transport, identity, { callee, beforeCall, tellWorked, tracer });
  };
  return {
    client<Service extends DescService>(service: Service): Client<Service> {
      const made = clients.get(service);
      if (made !== undefined) return made as Client<Service>;
      const fresh = make(service, componentOf(service));
      clients.set(service, fresh);
      return fresh;
    },
    health: (callee) => make(HealthService, callee),
    close() {
      for (const connection of connections.values()) connection.close();
    },
  };
}

async function byGrpc(
  environment: EnvironmentReader,
  connections: Map<string, GrpcTransport>,
  certificate: WatchedCertificate | undefined,
): Promise<TransportTo> {
  const { grpcTransport } = await import('@eligo/rpc/grpc');
  return (callee) => {
    const open = connections.get(callee);
    if (open !== undefined) return open;
    const variable = `${callee.toUpperCase()}_URL`;
    const address = environment.peerUrls(variable);
    if (certificate === undefined && /(?:^|,)https:/.test(address)) {
      environment.problem(`${variable} is https, which needs ELIGO_TLS_FOLDER`);
    }
    const opened = grpcTransport({ address, tls: certificate && { certificate, callee } });
    connections.set(callee, opened);
    return opened;
  };
}

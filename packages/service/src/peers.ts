import type { DescService } from '@bufbuild/protobuf';
import type { Transport } from '@connectrpc/connect';
import { refuseInsideTransaction } from '@eligo/postgres';
import {
  type Client,
  client,
  componentOf,
  type GrpcTransport,
  grpcTransport,
  type Identity,
  type Tracer,
} from '@eligo/rpc';
import type { EnvironmentReader } from './environment.ts';

/** How a component reaches another one. */
export type TransportTo = (callee: string) => Transport;

/** A component's clients, one per peer service. */
export interface Peers {
  client<Service extends DescService>(service: Service): Client<Service>;
  close(): void;
}

/** Makes a component's clients as they are asked for. Without `transportTo` a peer is reached by gRPC at its `<PEER>_URL`. */
export function openPeers(options: {
  identity: Identity;
  environment: EnvironmentReader;
  transportTo?: TransportTo | undefined;
  tracer?: Tracer | undefined;
}): Peers {
  const { identity, environment, transportTo, tracer } = options;
  const clients = new Map<DescService, unknown>();
  const connections = new Map<string, GrpcTransport>();

  const connect = (callee: string) => {
    const open = connections.get(callee);
    if (open !== undefined) return open;
    const opened = grpcTransport({ address: environment.url(`${callee.toUpperCase()}_URL`) });
    connections.set(callee, opened);
    return opened;
  };
  return {
    client<Service extends DescService>(service: Service): Client<Service> {
      const made = clients.get(service);
      if (made !== undefined) return made as Client<Service>;
      const callee = componentOf(service);
      const transport = transportTo?.(callee) ?? connect(callee);
      const beforeCall = () => refuseInsideTransaction(`a call to ${callee}`);
      const fresh = client(service, transport, identity, { beforeCall, tracer });
      clients.set(service, fresh);
      return fresh;
    },
    close() {
      for (const connection of connections.values()) connection.close();
    },
  };
}

import { buildService, type Readiness, type Service, type ServiceParts } from '@eligo/service';
import { gatewayHost, gatewayUrl } from './address.ts';
import type { GatewayParts } from './gateway-parts.ts';
import { gatewayComposition } from './service.ts';

/** The running gateway. */
export interface Gateway {
  readonly service: Service;
  /** Where partners reach it. */
  readonly url: string;
  readonly adminPort: number;
  ready(): Promise<Readiness>;
  /** Becomes not ready, and serves on for the drain delay. */
  leave(): Promise<void>;
  /** Leaves, stops accepting, waits for the requests in flight, then stops all else in order. */
  stop(): Promise<void>;
}

/** Requests in flight get this long to end. */
const inFlightWaitMs = 25_000;

/** Builds the gateway, starts what works in it and opens its port, last of all. */
export async function openGateway(parts: Omit<ServiceParts, 'grpc'>): Promise<Gateway> {
  const built: { parts?: GatewayParts } = {};
  const composition = gatewayComposition((made) => {
    built.parts = made;
  });
  const service = await buildService(composition, { ...parts, grpc: false });
  const made = built.parts;
  if (made === undefined) throw new Error('The gateway was not built');
  try {
    const host = gatewayHost(parts.environment);
    let url = '';
    const { adminPort } = await service.start(async () => {
      made.tellReadiness(() => service.ready());
      await made.keys.listen();
      url = gatewayUrl(host, await made.http.listen(made.port, host));
      return { url };
    });
    const leave = () => {
      made.leave();
      return service.leave();
    };
    return {
      service,
      url,
      adminPort,
      ready: () => service.ready(),
      leave,
      async stop() {
        await leave();
        await made.http.close(inFlightWaitMs);
        await service.stop();
      },
    };
  } catch (error) {
    await service.stop();
    throw error;
  }
}

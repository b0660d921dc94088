import type { MigrationSource } from '@eligo/postgres';
import type { RpcServer } from '@eligo/rpc';
import { buildService, type ServiceComposition, type ServiceParts } from '@eligo/service';
import { type ComponentName, perComponent } from './components.ts';
import type { Migrations } from './postgres/prepare.ts';

/** A component that runs in this process. */
export interface OpenComponent {
  readonly adminPort: number;
  /** Serves its methods to the others. */
  readonly server: RpcServer;
  /** Becomes not ready and serves on for the drain delay. */
  leave(): Promise<void>;
  stop(): Promise<void>;
}

/** The components' code, loaded. */
export interface Compositions {
  readonly migrations: Migrations;
  /** Builds and starts a component in this process, without a gRPC port. */
  open(name: ComponentName, parts: Omit<ServiceParts, 'grpc'>): Promise<OpenComponent>;
}

/** Loads the code of all components. */
export async function loadCompositions(): Promise<Compositions> {
  const [
    { billingService },
    { catalogService },
    { checkoutService },
    { refundsService },
    { webhooksService },
    gateway,
  ] = await Promise.all([
    import('@eligo/billing'),
    import('@eligo/catalog'),
    import('@eligo/checkout'),
    import('@eligo/refunds'),
    import('@eligo/webhooks'),
    import('@eligo/gateway'),
  ]);
  const open: Record<ComponentName, (parts: Omit<ServiceParts, 'grpc'>) => Promise<OpenComponent>> = {
    billing: (parts) => openService(billingService, parts),
    catalog: (parts) => openService(catalogService, parts),
    checkout: (parts) => openService(checkoutService, parts),
    refunds: (parts) => openService(refundsService, parts),
    webhooks: (parts) => openService(webhooksService, parts),
    async gateway(parts) {
      const opened = await gateway.openGateway(parts);
      return {
        ...{ adminPort: opened.adminPort, server: opened.service.server },
        leave: () => opened.leave(),
        stop: () => opened.stop(),
      };
    },
  };
  const sources: Record<ComponentName, readonly MigrationSource[]> = {
    billing: billingService.migrations,
    catalog: catalogService.migrations,
    checkout: checkoutService.migrations,
    refunds: refundsService.migrations,
    webhooks: webhooksService.migrations,
    gateway: gateway.gatewayService.migrations,
  };
  return { migrations: perComponent((name) => sources[name]), open: (name, parts) => open[name](parts) };
}

async function openService<Settings>(
  composition: ServiceComposition<Settings>,
  parts: Omit<ServiceParts, 'grpc'>,
): Promise<OpenComponent> {
  const service = await buildService(composition, { ...parts, grpc: false });
  try {
    const { adminPort } = await service.start();
    return { adminPort, server: service.server, leave: () => service.leave(), stop: () => service.stop() };
  } catch (error) {
    await service.stop();
    throw error;
  }
}

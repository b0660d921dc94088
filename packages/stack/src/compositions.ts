import type { MigrationSource } from '@eligo/postgres';
import { buildService, type Service, type ServiceParts } from '@eligo/service';
import { type ComponentName, perComponent } from './components.ts';
import type { Migrations } from './postgres/prepare.ts';

/** The components' code, loaded. */
export interface Compositions {
  readonly migrations: Migrations;
  build(name: ComponentName, parts: ServiceParts): Promise<Service>;
}

/** Loads the code of all components. It is loaded on demand: a stack of separate processes needs only the migrations. */
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
  const build: Record<ComponentName, (parts: ServiceParts) => Promise<Service>> = {
    billing: (parts) => buildService(billingService, parts),
    catalog: (parts) => buildService(catalogService, parts),
    checkout: (parts) => buildService(checkoutService, parts),
    refunds: (parts) => buildService(refundsService, parts),
    webhooks: (parts) => buildService(webhooksService, parts),
    gateway: (parts) => buildService(gateway.gatewayService, parts),
  };
  const sources: Record<ComponentName, readonly MigrationSource[]> = {
    billing: billingService.migrations,
    catalog: catalogService.migrations,
    checkout: checkoutService.migrations,
    refunds: refundsService.migrations,
    webhooks: webhooksService.migrations,
    gateway: gateway.gatewayService.migrations,
  };
  return { migrations: perComponent((name) => sources[name]), build: (name, parts) => build[name](parts) };
}

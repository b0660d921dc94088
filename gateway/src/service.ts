import { eventsMigrations } from '@eligo/events';
import { migrationSource } from '@eligo/postgres';
import { BillingService } from '@eligo/proto/billing/v1/billing';
import { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import { operatorMigrations, type ServiceComposition } from '@eligo/service';
import { tellChanges } from './accounts/tell-changes.ts';
import { tellings } from './accounts/tellings.ts';
import { type GatewaySettings, readGatewaySettings } from './config.ts';
import { deleteExpiredFiles } from './files/delete-expired-files.ts';
import { buildGateway, type GatewayParts } from './gateway-parts.ts';

/** The gateway as a component; `openGateway` also opens its public port. */
export const gatewayService: ServiceComposition<GatewaySettings> = gatewayComposition(() => undefined);

/** The composition, which tells what it was built into. */
export function gatewayComposition(built: (parts: GatewayParts) => void): ServiceComposition<GatewaySettings> {
  return {
    name: 'gateway',
    migrations: [
      eventsMigrations,
      operatorMigrations,
      migrationSource('gateway', new URL('../migrations', import.meta.url)),
    ],
    settings: readGatewaySettings,
    build(context) {
      const parts = buildGateway(context);
      built(parts);
      const { database, logger } = context;
      const told = { billing: context.client(BillingService), checkout: context.client(CheckoutService) };
      const jobs = [
        deleteExpiredFiles({ database, stores: parts.stores, logger }),
        ...tellings.map((telling) => tellChanges(telling, database, told, (init) => context.callerFor(init))),
      ];
      return { ...parts.checks, handlers: [], jobs, stop: () => parts.keys.stop() };
    },
  };
}

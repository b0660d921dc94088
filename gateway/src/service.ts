import { eventsMigrations } from '@eligo/events';
import { migrationSource } from '@eligo/postgres';
import type { ServiceComposition } from '@eligo/service';
import { type GatewaySettings, readGatewaySettings } from './config.ts';
import { buildGateway, type GatewayParts } from './gateway-parts.ts';

/** The gateway as a component; `openGateway` also opens its public port. */
export const gatewayService: ServiceComposition<GatewaySettings> = gatewayComposition(() => undefined);

/** The composition, which tells what it was built into. */
export function gatewayComposition(built: (parts: GatewayParts) => void): ServiceComposition<GatewaySettings> {
  return {
    name: 'gateway',
    migrations: [eventsMigrations, migrationSource('gateway', new URL('../migrations', import.meta.url))],
    settings: readGatewaySettings,
    build(context) {
      const parts = buildGateway(context);
      built(parts);
      return { handlers: [], stop: () => parts.keys.stop() };
    },
  };
}

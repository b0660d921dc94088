import { natsServerConfig } from '@eligo/events/nats-server-config';
import { componentNames } from '../components.ts';
import { busConsumers } from './consumers.ts';
import type { NatsPlace } from './server.ts';

/** A server's configuration with one user per component, as `passwordOf` has it (a password, or `$VARIABLE`). */
export function natsConfiguration(
  place: NatsPlace & { monitor?: string },
  passwordOf: (name: (typeof componentNames)[number] | 'admin') => string,
): string {
  return natsServerConfig({
    listen: `${place.host}:${place.port}`,
    storeDirectory: place.storeDir,
    adminPassword: passwordOf('admin'),
    ...(place.monitor ? { monitor: place.monitor } : {}),
    services: Object.fromEntries(
      componentNames.map((name) => [name, { password: passwordOf(name), consumes: busConsumers[name] ?? {} }]),
    ),
  });
}

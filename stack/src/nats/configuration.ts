import { natsServerConfig } from '@eligo/events/nats-server-config';
import { componentNames } from '../components.ts';
import { busConsumers } from './consumers.ts';
import type { NatsPlace } from './server.ts';

/** A server's configuration with one user per component, as `passwordOf` has it (a password, or `$VARIABLE`). */
export function natsConfiguration(
  place: NatsPlace & { monitor?: string; maxFileStore?: string },
  passwordOf: (name: (typeof componentNames)[number] | 'admin') => string,
): string {
  return natsServerConfig({
    listen: `${place.host}:${place.port}`,
    storeDirectory: place.storeDir,
    adminPassword: passwordOf('admin'),
    ...(place.monitor ? { monitor: place.monitor } : {}),
    ...(place.maxFileStore ? { maxFileStore: place.maxFileStore } : {}),
    services: Object.fromEntries(
      componentNames.map((name) => [name, { password: passwordOf(name), consumes: busConsumers[name] ?? {} }]),
    ),
  });
}

/** What JetStream may take of the disk, in gigabytes, unless ELIGO_NATS_STORE_GB says otherwise. */
export const defaultNatsStoreGb = '10';

/** JetStream's room on disk, as ELIGO_NATS_STORE_GB has it. Throws if that is no whole number of gigabytes. */
export function maxFileStore(gigabytes: string | undefined): string {
  const given = gigabytes?.trim() || defaultNatsStoreGb;
  if (!/^[1-9]\d{0,4}$/.test(given)) throw new Error('ELIGO_NATS_STORE_GB must be an integer from 1 to 99999');
  return `${given}GB`;
}

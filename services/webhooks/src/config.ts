import { type EnvironmentReader, type Keyring, readKeyring } from '@eligo/service';
import { isNetwork, type TargetRules } from './domain/target.ts';

/** What the webhooks service reads from its environment, beside what every service does. */
export interface WebhooksSettings {
  readonly rules: TargetRules;
  /** Seals the secrets that sign deliveries. */
  readonly keyring: Keyring;
}

/**
 * `ELIGO_WEBHOOK_TARGETS`: `public` (https to public addresses) unless the operator says `loopback` (this machine too, and http), as the
 * embedded stack does. `ELIGO_WEBHOOK_PORTS`: the ports that a public endpoint may have, 443 unless given. `ELIGO_WEBHOOK_DENIED_NETWORKS`: where no
 * endpoint may be, beside what is not public.
 */
export function readWebhooksSettings(env: EnvironmentReader): WebhooksSettings {
  const reach = env.oneOf('ELIGO_WEBHOOK_TARGETS', ['public', 'loopback'], 'public');
  const ports = env.text('ELIGO_WEBHOOK_PORTS', { default: '443' }).split(',').map(Number);
  if (!ports.every((port) => Number.isInteger(port) && port >= 1 && port <= 65_535)) {
    env.problem('ELIGO_WEBHOOK_PORTS must be a comma-separated list of ports');
  }
  const denied = (env.optional('ELIGO_WEBHOOK_DENIED_NETWORKS') ?? '').split(',').map((text) => text.trim());
  if (denied.some((network) => network !== '' && !isNetwork(network))) {
    env.problem('ELIGO_WEBHOOK_DENIED_NETWORKS must be a comma-separated list of networks (203.0.113.0/24)');
  }
  return { rules: { reach, ports, denied: denied.filter(isNetwork) }, keyring: readKeyring(env) };
}

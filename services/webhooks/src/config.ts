import type { EnvironmentReader } from '@eligo/service';
import type { TargetRules } from './domain/target.ts';

/** What the webhooks service reads from its environment, beside what every service does. */
export interface WebhooksSettings {
  readonly rules: TargetRules;
}

/**
 * `ELIGO_WEBHOOK_TARGETS`: `public` (https to public addresses) unless the operator says `loopback` (this machine too, and http), as the
 * embedded stack does. `ELIGO_WEBHOOK_PORTS`: the ports that a public endpoint may have, 443 unless given.
 */
export function readWebhooksSettings(env: EnvironmentReader): WebhooksSettings {
  const reach = env.oneOf('ELIGO_WEBHOOK_TARGETS', ['public', 'loopback'], 'public');
  const ports = env.text('ELIGO_WEBHOOK_PORTS', { default: '443' }).split(',').map(Number);
  if (!ports.every((port) => Number.isInteger(port) && port >= 1 && port <= 65_535)) {
    env.problem('ELIGO_WEBHOOK_PORTS must be a comma-separated list of ports');
  }
  return { rules: { reach, ports } };
}

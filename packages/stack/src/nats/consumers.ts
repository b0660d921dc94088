import { type ComponentName, serviceNames } from '../components.ts';

/**
 * Which consumers each component runs on whose stream, since a NATS user may use just these. A test holds the table
 * against what the components themselves declare.
 */
export const busConsumers: Readonly<Partial<Record<ComponentName, Readonly<Record<string, readonly string[]>>>>> = {
  billing: { checkout: ['subscription-start'] },
  checkout: { billing: ['renewals'] },
  refunds: { billing: ['refund-commands'], checkout: ['refund-commands'] },
  webhooks: Object.fromEntries(serviceNames.map((from) => [from, ['public-events']])),
};

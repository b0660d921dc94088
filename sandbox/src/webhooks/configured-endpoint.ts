import type { Records } from '../store/records.ts';

/** Where the sandbox sends the events of its connected accounts by configuration, and the secret that signs them. */
export interface ConfiguredEndpoint {
  readonly url: string;
  readonly secret: string;
}

const id = 'we_configured';

/** What Eligo handles. The events of each charge that it does not would be as many again. */
const events = [
  'payment_intent.canceled',
  'payment_intent.payment_failed',
  'payment_intent.succeeded',
  'payment_method.automatically_updated',
  'setup_intent.canceled',
  'setup_intent.succeeded',
  'refund.created',
  'refund.failed',
  'refund.updated',
  'charge.dispute.closed',
  'charge.dispute.created',
  'charge.dispute.funds_reinstated',
  'charge.dispute.funds_withdrawn',
  'charge.dispute.updated',
];

/** Makes the configured endpoint what its configuration says; removes it when there is none. */
export function setConfiguredEndpoint(
  records: Records,
  account: string,
  configured: ConfiguredEndpoint | undefined,
): void {
  const known = records.find('webhook_endpoint', account, id);
  if (configured === undefined) {
    if (known !== undefined) records.remove('webhook_endpoint', account, id);
    return;
  }
  const endpoint = {
    ...{ id, account, created: known?.created ?? Math.floor(Date.now() / 1000) },
    ...({
      url: configured.url,
      secret: configured.secret,
      enabledEvents: events,
      status: 'enabled',
      connect: true,
    } as const),
    ...{ apiVersion: null, description: null, metadata: {} },
  };
  if (known === undefined) records.insert('webhook_endpoint', endpoint);
  else records.update('webhook_endpoint', endpoint);
}

import type { WebhookEndpointRecord } from '../store/record-types.ts';
import type { Records } from '../store/records.ts';

export interface Subscriptions {
  /** The enabled endpoints that hear of this type on this account. */
  endpointsFor(account: string, type: string): WebhookEndpointRecord[];
  forget(): void;
}

/**
 * Every endpoint, held in memory, since each event asks for them. An endpoint of the platform with `connect` hears of the
 * connected accounts; any other hears of its own account.
 */
export function openSubscriptions(records: Records, platformAccount: string): Subscriptions {
  let endpoints: WebhookEndpointRecord[] | undefined;
  return {
    endpointsFor: (account, type) => {
      endpoints ??= [...records.all('webhook_endpoint')].filter((endpoint) => endpoint.status === 'enabled');
      return endpoints.filter(
        (endpoint) =>
          (endpoint.connect
            ? endpoint.account === platformAccount && account !== platformAccount
            : endpoint.account === account) &&
          (endpoint.enabledEvents.includes('*') || endpoint.enabledEvents.includes(type)),
      );
    },
    forget: () => {
      endpoints = undefined;
    },
  };
}

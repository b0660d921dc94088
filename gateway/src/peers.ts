import type { DescService } from '@bufbuild/protobuf';
import { BillingService } from '@eligo/proto/billing/v1/billing';
import { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import { CheckoutService } from '@eligo/proto/checkout/v1/checkout';
import { RefundsService } from '@eligo/proto/refunds/v1/refunds';
import { WebhooksService } from '@eligo/proto/webhooks/v1/webhooks';
import type { Client } from '@eligo/rpc';

/** The services that the gateway calls. */
export interface Peers {
  readonly catalog: Client<typeof CatalogService>;
  readonly checkout: Client<typeof CheckoutService>;
  readonly billing: Client<typeof BillingService>;
  readonly refunds: Client<typeof RefundsService>;
  readonly webhooks: Client<typeof WebhooksService>;
}

export function openPeers(clientOf: <Service extends DescService>(service: Service) => Client<Service>): Peers {
  return {
    catalog: clientOf(CatalogService),
    checkout: clientOf(CheckoutService),
    billing: clientOf(BillingService),
    refunds: clientOf(RefundsService),
    webhooks: clientOf(WebhooksService),
  };
}

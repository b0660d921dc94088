import { Failure } from '@eligo/failures';
import { pageOf } from '@eligo/postgres';
import type { WebhooksService } from '@eligo/proto/webhooks/v1/webhooks';
import type { Implementation } from '@eligo/rpc';
import { createEndpoint } from '../actions/create-endpoint.ts';
import { deleteEndpoint } from '../actions/delete-endpoint.ts';
import { rollSecret } from '../actions/roll-secret.ts';
import { testEndpoint } from '../actions/test-endpoint.ts';
import { updateEndpoint } from '../actions/update-endpoint.ts';
import type { Context } from '../context.ts';
import { deliveryMessage, endpointMessage } from '../messages/records.ts';
import { listDeliveries } from '../store/deliveries.ts';
import { findEndpoint, listEndpoints } from '../store/endpoints.ts';

/** Endpoints and what was sent to them. */
export function endpointHandlers(context: Context): Implementation<typeof WebhooksService> {
  const { database } = context;
  return {
    async createEndpoint({ url, events }, { scope }) {
      const { endpoint, signingSecret } = await createEndpoint(context, scope, { url, events });
      return endpointMessage(endpoint, signingSecret);
    },
    async getEndpoint({ id }, { scope }) {
      const endpoint = await findEndpoint(database, scope, id);
      if (endpoint === undefined) throw new Failure('webhook_not_found');
      return endpointMessage(endpoint);
    },
    async listEndpoints({ page }, { scope }) {
      const { endpoints, hasMore } = await listEndpoints(database, scope, pageOf(page));
      return { webhooks: endpoints.map((endpoint) => endpointMessage(endpoint)), hasMore };
    },
    async updateEndpoint({ id, url, events }, { scope }) {
      return endpointMessage(await updateEndpoint(context, scope, id, { url, events: events?.values }));
    },
    async deleteEndpoint({ id }, { scope }) {
      return { ...endpointMessage(await deleteEndpoint(context, scope, id)), deleted: true };
    },
    async rollEndpointSecret({ id }, { scope }) {
      const { endpoint, signingSecret } = await rollSecret(context, scope, id);
      return endpointMessage(endpoint, signingSecret);
    },
    async testEndpoint({ id }, { scope, requestId }) {
      return deliveryMessage(await testEndpoint(context, scope, id, requestId));
    },
    async listDeliveries({ webhookId, page }, { scope }) {
      if ((await findEndpoint(database, scope, webhookId)) === undefined) throw new Failure('webhook_not_found');
      const { deliveries, hasMore } = await listDeliveries(database, scope, webhookId, pageOf(page));
      return { deliveries: deliveries.map(deliveryMessage), hasMore };
    },
  };
}

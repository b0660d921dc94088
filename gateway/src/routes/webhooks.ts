import { routes } from '@eligo/contract';
import { given } from '@eligo/values';
import type { Answers } from '../answers.ts';
import { type Binding, bind } from '../bind.ts';
import { listOf, pageOf } from '../messages.ts';
import type { Peers } from '../peers.ts';

/** Webhook endpoints with their deliveries, and events. */
export function webhookBindings({ webhooks }: Peers, answers: Answers): Binding[] {
  const endpoints = routes.webhooks;
  const { events } = routes;
  return [
    bind(endpoints.list, async (request) => {
      const page = await webhooks.listEndpoints({ page: pageOf(request.query) }, request.call);
      return answers.list(request, 'webhook', page.webhooks, page.hasMore);
    }),
    bind(endpoints.create, async (request) =>
      answers.one(request, 'webhook', await webhooks.createEndpoint(request.body, request.call)),
    ),
    bind(endpoints.get, async (request) =>
      answers.one(request, 'webhook', await webhooks.getEndpoint({ id: request.id }, request.call)),
    ),
    bind(endpoints.update, async (request) => {
      const { url, events: types } = request.body;
      const message = { id: request.id, ...given({ url, events: listOf(types) }) };
      return answers.one(request, 'webhook', await webhooks.updateEndpoint(message, request.call));
    }),
    bind(endpoints.delete, async (request) =>
      answers.one(request, 'webhook', await webhooks.deleteEndpoint({ id: request.id }, request.call)),
    ),
    bind(endpoints.roll, async (request) =>
      answers.one(request, 'webhook', await webhooks.rollEndpointSecret({ id: request.id }, request.call)),
    ),
    bind(endpoints.test, async (request) =>
      answers.one(request, 'delivery', await webhooks.testEndpoint({ id: request.id }, request.call)),
    ),
    bind(endpoints.listDeliveries, async (request) => {
      const message = { page: pageOf(request.query), webhookId: request.id };
      const page = await webhooks.listDeliveries(message, request.call);
      return answers.list(request, 'delivery', page.deliveries, page.hasMore);
    }),
    bind(events.list, async (request) => {
      const { query, call } = request;
      const message = { page: pageOf(query), ...given({ eventType: query.event_type }) };
      const page = await webhooks.listEvents(message, call);
      return answers.list(request, 'event', page.events, page.hasMore);
    }),
    bind(events.get, async (request) =>
      answers.one(request, 'event', await webhooks.getEvent({ id: request.id }, request.call)),
    ),
    bind(events.retry, async (request) =>
      answers.one(request, 'event', await webhooks.retryEvent({ id: request.id }, request.call)),
    ),
  ];
}

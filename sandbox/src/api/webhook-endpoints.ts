import { randomBytes } from 'node:crypto';
import { mergedMetadata, type Parameters } from '../http/parameters.ts';
import { invalidRequest, missingRecord } from '../refusal.ts';
import { shape } from '../shapes/shape.ts';
import type { WebhookEndpointRecord } from '../store/record-types.ts';
import { type Call, listShape, pageQuery, type Route } from './route.ts';

export const webhookEndpointRoutes: Route[] = [
  { method: 'POST', path: '/v1/webhook_endpoints', call: 'webhook_endpoints.create', prepare: createEndpoint },
  { method: 'GET', path: '/v1/webhook_endpoints', call: 'webhook_endpoints.list', prepare: listEndpoints },
  { method: 'GET', path: '/v1/webhook_endpoints/:id', call: 'webhook_endpoints.retrieve', prepare: retrieveEndpoint },
  { method: 'POST', path: '/v1/webhook_endpoints/:id', call: 'webhook_endpoints.update', prepare: updateEndpoint },
  { method: 'DELETE', path: '/v1/webhook_endpoints/:id', call: 'webhook_endpoints.delete', prepare: deleteEndpoint },
];

const maxEndpoints = 16;

/** The signing secret is in this answer and in no other. */
function createEndpoint(parameters: Parameters) {
  const url = readUrl(parameters.requiredText('url'));
  const enabledEvents = parameters.list('enabled_events');
  if (enabledEvents === undefined || enabledEvents.length === 0) {
    throw invalidRequest('Missing required param: enabled_events.', {
      param: 'enabled_events',
      code: 'parameter_missing',
    });
  }
  const connect = parameters.boolean('connect') ?? false;
  const apiVersion = parameters.text('api_version') ?? null;
  const description = parameters.clearableText('description') ?? null;
  const metadata = mergedMetadata({}, parameters.metadata());
  parameters.finish();
  return (call: Call) => {
    if (call.records.page('webhook_endpoint', call.account, { limit: maxEndpoints }).records.length >= maxEndpoints) {
      throw invalidRequest(`You have reached the maximum of ${maxEndpoints} test webhook endpoints.`);
    }
    const endpoint: WebhookEndpointRecord = {
      id: call.newId('we'),
      account: call.account,
      created: call.at,
      url,
      secret: `whsec_${randomBytes(24).toString('base64url')}`,
      enabledEvents,
      status: 'enabled',
      connect,
      apiVersion,
      description,
      metadata,
    };
    call.records.insert('webhook_endpoint', endpoint);
    call.endpointsChanged();
    return { ...shape('webhook_endpoint', endpoint), secret: endpoint.secret };
  };
}

function listEndpoints(parameters: Parameters) {
  const query = pageQuery(parameters);
  parameters.finish();
  return (call: Call) =>
    listShape('/v1/webhook_endpoints', call.records.page('webhook_endpoint', call.account, query), (record) =>
      shape('webhook_endpoint', record),
    );
}

function retrieveEndpoint(parameters: Parameters) {
  parameters.finish();
  return (call: Call) => shape('webhook_endpoint', needEndpoint(call));
}

function updateEndpoint(parameters: Parameters) {
  const url = parameters.text('url');
  const enabledEvents = parameters.list('enabled_events');
  const disabled = parameters.boolean('disabled');
  const description = parameters.clearableText('description');
  const metadata = parameters.metadata();
  parameters.finish();
  return (call: Call) => {
    const known = needEndpoint(call);
    const endpoint: WebhookEndpointRecord = {
      ...known,
      url: url === undefined ? known.url : readUrl(url),
      enabledEvents: enabledEvents ?? known.enabledEvents,
      status: disabled === undefined ? known.status : disabled ? 'disabled' : 'enabled',
      description: description === undefined ? known.description : description,
      metadata: mergedMetadata(known.metadata, metadata),
    };
    call.records.update('webhook_endpoint', endpoint);
    call.endpointsChanged();
    return shape('webhook_endpoint', endpoint);
  };
}

function deleteEndpoint(parameters: Parameters) {
  parameters.finish();
  return (call: Call) => {
    const { id } = needEndpoint(call);
    call.records.remove('webhook_endpoint', call.account, id);
    call.endpointsChanged();
    return { id, object: 'webhook_endpoint', deleted: true };
  };
}

function needEndpoint(call: Call): WebhookEndpointRecord {
  const endpoint = call.records.find('webhook_endpoint', call.account, call.id);
  if (endpoint === undefined) throw missingRecord('webhook endpoint', call.id.slice(0, 80));
  return endpoint;
}

function readUrl(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol)) {
    throw invalidRequest('Invalid URL: it must be an http or https URL.', { param: 'url', code: 'url_invalid' });
  }
  return text;
}

import type { Parameters } from '../http/parameters.ts';
import { invalidRequest } from '../refusal.ts';
import { shape } from '../shapes/shape.ts';
import { type Call, listShape, pageQuery, type Route } from './route.ts';

export const eventRoutes: Route[] = [
  { method: 'GET', path: '/v1/events', call: 'events.list', prepare: listEvents },
  { method: 'GET', path: '/v1/events/:id', call: 'events.retrieve', prepare: retrieveEvent },
];

const mostTypes = 20;

/** What an event hangs on in the index, so that a list of one type reads no other type and no other account. */
export function eventsOfType(account: string, type: string): string {
  return `${account} ${type}`;
}

function listEvents(parameters: Parameters) {
  const page = pageQuery(parameters);
  const type = parameters.text('type');
  const types = parameters.list('types');
  parameters.finish();
  if (types !== undefined && (type !== undefined || types.length > mostTypes)) {
    throw invalidRequest(`You may give either type or up to ${mostTypes} types.`, { param: 'types' });
  }
  return (call: Call) => {
    const query = {
      ...page,
      parent: type === undefined ? undefined : eventsOfType(call.account, type),
      parents: types?.map((one) => eventsOfType(call.account, one)),
    };
    return listShape('/v1/events', call.records.page('event', call.account, query), (record) => shape('event', record));
  };
}

function retrieveEvent(parameters: Parameters) {
  parameters.finish();
  return (call: Call) => shape('event', call.records.need('event', call.account, call.id));
}

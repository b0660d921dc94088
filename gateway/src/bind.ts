import type { Route } from '@eligo/contract';
import type { z } from 'zod';
import type { Answer, ApiRequest } from './http/api-request.ts';

/** What answers a route. */
export type Handler<Query, Body> = (request: ApiRequest<Query, Body>) => Promise<Answer>;

/** A declared route with what answers it. */
export interface Binding {
  readonly route: Route;
  readonly handle: Handler<unknown, unknown>;
}

/** Joins a route with its handler, which gets the query and the body as the route's schemas give them. */
export function bind<Query extends z.ZodType, Body extends z.ZodType>(
  route: Route<Query, Body>,
  handle: Handler<z.output<Query>, z.output<Body>>,
): Binding {
  return { route, handle: handle as Handler<unknown, unknown> };
}

import { Failure } from '@eligo/failures';
import Router from '@koa/router';
import type { Exchange } from '../api.ts';

/** A path that takes no API key and is not in the contract's table: pages, health, the processors' events. */
export interface PublicRoute {
  /** Its name in logs and metrics. */
  readonly id: string;
  /** As @koa/router writes it: `/pay/:token/session`. */
  readonly path: string;
  readonly methods: readonly ('GET' | 'HEAD' | 'POST')[];
  serve(exchange: Exchange, params: Readonly<Record<string, string>>): void | Promise<void>;
}

/** What a browser or a load balancer may read. */
export const readMethods = ['GET', 'HEAD'] as const;

/** What the application hands to the routes. */
interface State {
  readonly exchange: Exchange;
}

/** Finds the route of a request. */
export type PublicRouter = ReturnType<Router<State>['routes']>;

/** Routes everything that takes no API key. An unknown path is a 404 in the contract's shape, a wrong method a 405. */
export function publicRouter(routes: readonly PublicRoute[]): PublicRouter {
  const router = new Router<State>({ strict: true, sensitive: true });
  for (const route of routes) {
    router.all(route.path, async ({ state: { exchange }, params }) => {
      exchange.routeId = route.id;
      assertMethod(route, exchange);
      await route.serve(exchange, params);
    });
  }
  const find = router.routes();
  return (context) =>
    find(context, () => {
      throw new Failure('not_found');
    });
}

function assertMethod({ methods }: PublicRoute, { request, headers }: Exchange): void {
  if ((methods as readonly (string | undefined)[]).includes(request.method)) return;
  headers.push('Allow', methods.join(', '));
  throw new Failure('method_not_allowed');
}

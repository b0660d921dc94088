import type { Readiness } from '@eligo/service';
import type { Exchange } from './api.ts';
import { type PublicRoute, readMethods } from './http/public-router.ts';
import { writeJson } from './http/write-answer.ts';

/** The description of the interface: the one path under /v1 that takes no key (decisions 10). */
export const openapiPath = '/v1/openapi.json';

/** The description and the health: `/healthz` says that the process runs, `/readyz` that it can serve. */
export function pageRoutes(parts: { openapi: () => string; ready: () => Promise<Readiness> }): PublicRoute[] {
  // Described when it is first asked for: it takes longer than the rest of the start.
  let openapi: string | undefined;
  const describe = () => {
    openapi ??= parts.openapi();
    return openapi;
  };
  return [
    page('pages.openapi', openapiPath, (exchange) => write(exchange, 200, describe())),
    page('pages.healthz', '/healthz', (exchange) => write(exchange, 200, '{"status":"ok"}')),
    page('pages.readyz', '/readyz', async (exchange) => {
      const { ready, status, checks } = await parts.ready();
      write(exchange, ready ? 200 : 503, JSON.stringify({ status, checks }));
    }),
  ];
}

function page(id: string, path: string, serve: PublicRoute['serve']): PublicRoute {
  return { id, path, methods: readMethods, serve };
}

function write(exchange: Exchange, status: number, text: string): void {
  writeJson(exchange.response, status, text, exchange.requestId, exchange.headers);
}

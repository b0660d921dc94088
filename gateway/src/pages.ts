import { Failure } from '@eligo/failures';
import type { Readiness } from '@eligo/service';
import Router from '@koa/router';
import type { Context, Middleware, Next } from 'koa';
import type { Exchange } from './api.ts';
import { writeJson } from './http/write-answer.ts';

/** What is public and outside the route table (decisions 10). */
export interface Pages {
  readonly middleware: (context: Context, next: Next) => Promise<unknown>;
  isPage(path: string): boolean;
}

const paths = { openapi: '/v1/openapi.json', healthz: '/healthz', readyz: '/readyz' } as const;

/** `/healthz` says that the process runs, `/readyz` that it can serve. */
export function openPages(parts: { openapi: () => string; ready: () => Promise<Readiness> }): Pages {
  const router = new Router();
  // Described when it is first asked for: it takes longer than the rest of the start.
  let openapi: string | undefined;
  const describe = () => {
    openapi ??= parts.openapi();
    return openapi;
  };
  router.get(paths.openapi, (context) => write(context, 200, describe()));
  router.get(paths.healthz, (context) => write(context, 200, '{"status":"ok"}'));
  router.get(paths.readyz, async (context) => {
    const { ready, checks } = await parts.ready();
    write(context, ready ? 200 : 503, JSON.stringify({ status: ready ? 'ok' : 'unavailable', checks }));
  });
  router.all(Object.values(paths), (context) => {
    exchangeOf(context).headers.push('Allow', 'GET, HEAD');
    throw new Failure('method_not_allowed');
  });
  const known = new Set<string>(Object.values(paths));
  return { middleware: router.routes() as unknown as Middleware, isPage: (path) => known.has(path) };
}

function write(context: Context, status: number, text: string): void {
  const exchange = exchangeOf(context);
  writeJson(exchange.response, status, text, exchange.requestId, exchange.headers);
}

function exchangeOf(context: Context): Exchange {
  return context.state.exchange as Exchange;
}

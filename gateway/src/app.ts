import type { IncomingMessage, ServerResponse } from 'node:http';
import { Failure } from '@eligo/failures';
import { newId } from '@eligo/values';
import Koa, { type Context, type Next } from 'koa';
import type { Exchange } from './api.ts';
import type { PublicRouter } from './http/public-router.ts';
import { toFailure } from './http/to-failure.ts';
import { traceparentOf } from './http/traceparent.ts';
import { isReadOff, writeFailure } from './http/write-answer.ts';
import { openapiPath } from './pages.ts';

/** Called with each completed request. */
export interface Observer {
  answered(exchange: Exchange, status: number, durationMs: number): void;
  unexpected(error: unknown, exchange: Exchange): void;
  /** A service or the database was away, or late; the answer does not say which and why. */
  unavailable(failure: Failure, exchange: Exchange): void;
}

/** What the application is made of. */
export interface AppParts {
  readonly api: (exchange: Exchange, path: string, queryText: string) => Promise<void>;
  /** Everything that takes no API key: pages, health, the processors' events. */
  readonly publicRoutes: PublicRouter;
  readonly observer: Observer;
}

/** The HTTP application. Every answer is JSON, also every refusal but those of pages; nothing internal is ever in one. */
export function createApp(parts: AppParts): Koa {
  const app = new Koa();
  // Koa would trust any client's X-Forwarded-For; trusted-proxies.ts decides the client's address.
  app.proxy = false;
  app.on('error', (error: unknown, context?: Context) => {
    const exchange = context?.state.exchange as Exchange | undefined;
    // Koa also reports connections that the client resets here; an operator cannot fix those.
    if (exchange === undefined || exchange.request.socket.errored === error) return;
    parts.observer.unexpected(error, exchange);
  });
  app.use((context, next) => answer(context, next, parts));
  app.use(parts.publicRoutes);
  return app;
}

async function answer(context: Context, next: Next, parts: AppParts): Promise<void> {
  const { api, observer } = parts;
  const { req: request, res: response } = context;
  const startedAt = performance.now();
  const url = originForm(request.url ?? '/');
  const mark = url.indexOf('?');
  const path = mark < 0 ? url : url.slice(0, mark);
  const exchange: Exchange = {
    request,
    response,
    requestId: newId('request'),
    traceparent: traceparentOf(request.headers.traceparent),
    headers: [],
    routeId: 'none',
  };
  context.state.exchange = exchange;
  // Koa would write the answer otherwise, and look at the body twice to find its type.
  context.respond = false;
  try {
    if (!namesItsHost(request)) throw new Failure('bad_request');
    if (path.startsWith('/v1/') && path !== openapiPath) await api(exchange, path, mark < 0 ? '' : url.slice(mark + 1));
    else {
      context.newRouterPath = path;
      await next();
    }
  } catch (error) {
    await refuse(error, exchange, response, observer);
  }
  observer.answered(exchange, response.statusCode, performance.now() - startedAt);
}

// HTTP/1.1 wants one Host (RFC 9112, 3.2); of two, a proxy and this server might each believe another.
function namesItsHost({ httpVersion, rawHeaders }: IncomingMessage): boolean {
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts === 1 || (hosts === 0 && httpVersion !== '1.1');
}

// A request line may name the whole address (RFC 9112, 3.2.2), as software does that believes in a proxy.
function originForm(target: string): string {
  return target.startsWith('/') ? target : target.replace(/^https?:\/\/[^/?#]*/i, '') || '/';
}

async function refuse(error: unknown, exchange: Exchange, response: ServerResponse, observer: Observer): Promise<void> {
  const failure = toFailure(error);
  exchange.code = failure.code;
  if (failure.code === 'internal') observer.unexpected(error, exchange);
  // A client that left ends its calls, too.
  else if (isOfAPeer(failure) && !exchange.request.socket.destroyed) observer.unavailable(failure, exchange);
  try {
    if (isReadOff(exchange.request, failure.status)) await exchange.writeRefusal?.(failure);
  } catch (pageError) {
    observer.unexpected(pageError, exchange);
  }
  // Nothing, where that was written.
  writeFailure(response, failure, exchange.requestId, exchange.headers);
}

function isOfAPeer({ code, cause }: Failure): boolean {
  return cause !== undefined && (code === 'service_unavailable' || code === 'deadline_exceeded');
}

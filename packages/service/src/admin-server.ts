import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connectNodeHandler, type OperatorGate, type RpcServer } from '@eligo/rpc';
import { answerFailpoints } from './admin-failpoints.ts';
import { BoundedRequest } from './bounded-request.ts';
import { browserRefusal } from './browser-refusal.ts';
import type { Readiness } from './health.ts';
import type { Metrics } from './metrics.ts';
import { sendJson } from './send-json.ts';

/** Where the admin port of a component is. */
export interface AdminPlace {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** Domain names that requests may be for. */
  readonly names: readonly string[];
}

/** What the admin port of a component shows. */
export interface AdminPages {
  readonly ready: () => Promise<Readiness>;
  readonly metrics: Metrics;
  /** Serves its methods as Connect/JSON to operators; a component without methods leaves it out. */
  readonly server?: RpcServer | undefined;
  /** Left out: no operator may call a method. */
  readonly operators?: OperatorGate | undefined;
  /** Whether `/failpoints` is there. */
  readonly failpoints: boolean;
}

/** The admin port, open. */
export interface AdminServer {
  readonly port: number;
  /** Shows these pages from now on. */
  show(pages: AdminPages): void;
  stop(): Promise<void>;
}

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown;

/** Opens a component's admin port: `/healthz`, `/readyz`, `/metrics`, business calls, and failpoints when they are on. */
export async function startAdminServer(place: AdminPlace, pages: AdminPages): Promise<AdminServer> {
  let answer = answerOf(pages);
  const http = createServer({ IncomingMessage: AdminRequest }, (request, response) => {
    const refusal = browserRefusal(request, place.names);
    if (refusal === undefined) answer(request, response);
    else sendJson(response.setHeader('connection', 'close'), refusal.status, { detail: refusal.detail });
  });
  http.headersTimeout = 5_000;
  http.requestTimeout = 35_000;
  http.maxConnections = 100;
  await listen(http, place.port, place.host);
  const { port } = http.address() as AddressInfo;
  return {
    port,
    show(next) {
      answer = answerOf(next);
    },
    stop: () => close(http),
  };
}

// Whoever reads the body of a call keeps each chunk, which takes 500 bytes of memory also if it contains one.
class AdminRequest extends BoundedRequest {
  override push(chunk: Buffer | null, encoding?: BufferEncoding): boolean {
    const isRoomLeft = super.push(chunk, encoding);
    if (this.hasTooManyChunks) this.destroy(new Error('The body has too many small chunks'));
    return isRoomLeft;
  }
}

function answerOf(pages: AdminPages): Answer {
  const { server, operators } = pages;
  const own: Answer = (request, response) => answerOwn(pages, request, response);
  return server === undefined ? own : connectNodeHandler(server, { operators, fallback: own });
}

async function answerOwn(options: AdminPages, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [path = '/'] = (request.url ?? '/').split('?');
  try {
    if (path === '/healthz') return sendJson(response, 200, { status: 'ok' });
    if (path === '/readyz') {
      const readiness = await options.ready();
      return sendJson(response, readiness.ready ? 200 : 503, readiness);
    }
    if (path === '/metrics') {
      const page = await options.metrics.page();
      response.writeHead(200, { 'content-type': options.metrics.registry.contentType }).end(page);
      return;
    }
    if (options.failpoints && (path === '/failpoints' || path.startsWith('/failpoints/'))) {
      return await answerFailpoints(request, response, path);
    }
    sendJson(response, 404, { detail: 'not found' });
  } catch {
    // A probe that fails says so by its status; what failed is logged where it failed.
    if (!response.headersSent) sendJson(response, 500, { detail: 'internal error' });
  }
}

function listen(http: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    http.once('error', reject);
    http.listen(port, host, () => {
      http.off('error', reject);
      resolve();
    });
  });
}

function close(http: Server): Promise<void> {
  return new Promise((resolve) => {
    http.close(() => resolve());
    http.closeAllConnections();
  });
}

import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { Failure, failureAnswer } from '@eligo/failures';
import { BoundedRequest } from '@eligo/service';
import { newId } from '@eligo/values';
import { type ConnectionLimits, limitConnections } from './http/connection-limits.ts';
import { jsonHeaders } from './http/write-answer.ts';

/** The header block that is accepted at most (decisions 10). */
const maxHeaderBytes = 16_384;
/** A client that has not sent its headers, or its whole request, by then is cut off. The largest body and the largest upload may take so long at the least rate of each. */
const headersTimeoutMs = 10_000;
const requestTimeoutMs = 330_000;
/** How late that may be noticed. */
const checkEveryMs = 2_000;
/** Past the longest call: a connection on which nothing has moved for so long, though an answer is due, has a client that does not read. */
const silenceTimeoutMs = 60_000;
/** Longer than the load balancers in front of it keep idle connections, so that none is closed under a request. */
const keepAliveTimeoutMs = 65_000;

/** The HTTP server of the gateway. */
export interface HttpServer {
  readonly server: Server;
  /** Opens the port; resolves with the one that was taken. */
  listen(port: number, host: string): Promise<number>;
  /** Takes no new connection and waits, bounded, for the requests in flight. */
  close(waitMs: number): Promise<void>;
}

export function createHttpServer(listener: RequestListener, connections: ConnectionLimits): HttpServer {
  const server = createServer(
    {
      IncomingMessage: BoundedRequest,
      maxHeaderSize: maxHeaderBytes,
      headersTimeout: headersTimeoutMs,
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: keepAliveTimeoutMs,
      connectionsCheckingInterval: checkEveryMs,
      // The application refuses what has no Host; Node's own refusal would be no JSON.
      requireHostHeader: false,
    },
    listener,
  );
  limitConnections(server, connections);
  server.timeout = silenceTimeoutMs;
  // A request for a continuation is answered by reading the body; any other expectation is treated the same way.
  server.on('checkExpectation', listener);
  server.on('connect', (_request, socket) => refuseTunnel(socket));
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => refuseUnreadable(error, socket));
  return {
    server,
    listen: (port, host) =>
      new Promise((resolve, reject) => {
        server.once('error', reject);
        server.listen(port, host, () => {
          server.off('error', reject);
          resolve((server.address() as AddressInfo).port);
        });
      }),
    close: (waitMs) => closeServer(server, waitMs),
  };
}

const unreadable: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

// What cannot even be parsed as HTTP never reaches the application; it is answered in the same form.
function refuseUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  refuseByHand(socket, unreadable[error.code ?? ''] ?? '400 Bad Request', new Failure('bad_request'));
}

// Without a listener Node would close the connection without a response; with one, the listener must close it.
function refuseTunnel(socket: Duplex): void {
  socket.once('finish', () => socket.destroy());
  refuseByHand(socket, '404 Not Found', new Failure('not_found'));
}

function refuseByHand(socket: Duplex, status: string, failure: Failure): void {
  // A client that resets the connection expects no answer.
  socket.on('error', () => socket.destroy());
  const body = JSON.stringify(failureAnswer(failure).body);
  const headers = [...jsonHeaders(newId('request'), Buffer.byteLength(body)), 'Connection', 'close'];
  const lines = headers.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${headers[at + 1]}`] : []));
  socket.end(`HTTP/1.1 ${[status, ...lines].join('\r\n')}\r\n\r\n${body}`);
}

async function closeServer(server: Server, waitMs: number): Promise<void> {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  server.closeIdleConnections();
  // Answers from now on end their connections; those that were idle for a moment are found by looking again.
  const sweep = setInterval(() => server.closeIdleConnections(), 100);
  const cut = setTimeout(() => server.closeAllConnections(), waitMs);
  try {
    await closed;
  } finally {
    clearInterval(sweep);
    clearTimeout(cut);
  }
}

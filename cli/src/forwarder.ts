import { createServer, type IncomingMessage } from 'node:http';
import { BoundedRequest } from '@eligo/service';

/** One event that was passed on; no status when the target did not answer. */
export interface Forwarded {
  readonly id: string;
  readonly type: string;
  readonly status: number | undefined;
}

/** A listening forwarder. */
export interface Forwarder {
  readonly url: string;
  stop(): Promise<void>;
}

const timeoutMs = 14_000;
const maxBodyBytes = 2 * 1024 * 1024;
const passedOn = ['content-type', 'webhook-id', 'webhook-timestamp', 'webhook-signature', 'user-agent'];

/** Listens on the loopback interface and passes each webhook on, byte for byte, with its signature; the answer goes back. */
export async function startForwarder(target: string, onForwarded: (event: Forwarded) => void): Promise<Forwarder> {
  const server = createServer({ IncomingMessage: BoundedRequest }, (request, response) => {
    forward(request, target).then(
      ({ status, type }) => {
        onForwarded({ id: headerOf(request, 'webhook-id'), type, status });
        response.writeHead(status ?? 502).end();
      },
      () => response.writeHead(400).end(),
    );
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The forwarder has no port');
  return {
    url: `http://127.0.0.1:${address.port}/`,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function forward(request: BoundedRequest, target: string): Promise<{ status: number | undefined; type: string }> {
  const body = await read(request);
  const headers = passedOn.flatMap((name) => {
    const value = headerOf(request, name);
    return value === '' ? [] : [[name, value] as [string, string]];
  });
  const type = typeOf(body);
  try {
    const answer = await fetch(target, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    await answer.arrayBuffer();
    return { status: answer.status, type };
  } catch {
    // Whatever keeps the target from answering: the sender hears of it and tries again.
    return { status: undefined, type };
  }
}

async function read(request: BoundedRequest): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request) {
    size += (chunk as Buffer).length;
    if (size > maxBodyBytes) throw new Error('The body is too large');
    if (request.hasTooManyChunks) throw new Error('The body has too many small chunks');
    chunks.push(chunk as Buffer);
  }
  return Buffer.concat(chunks);
}

function typeOf(body: Buffer): string {
  try {
    const { event_type: type } = JSON.parse(body.toString('utf8')) as { event_type?: unknown };
    return typeof type === 'string' ? type : 'unknown';
  } catch {
    return 'unknown';
  }
}

function headerOf(request: IncomingMessage, name: string): string {
  const value = request.headers[name];
  return typeof value === 'string' ? value : '';
}

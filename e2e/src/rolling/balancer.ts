import { EventEmitter, once } from 'node:events';
import { Agent, createServer, get, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A load balancer in front of the gateways, as simple as one can be. */
export interface Balancer {
  readonly url: string;
  /** How many requests each gateway was sent. */
  readonly sent: ReadonlyMap<string, number>;
  /** Resolves when it sends to every gateway. */
  allReady(): Promise<void>;
  close(): Promise<void>;
}

interface Backend {
  readonly url: string;
  readonly agent: Agent;
  isReady: boolean;
}

const probeEveryMs = 25;
/** Kubernetes' default: one late answer of a busy machine takes no gateway out. */
const failureThreshold = 3;

/**
 * Sends each request to the next gateway whose `/readyz` answers 200, over connections that it keeps. It never sends a request twice, and answers 502
 * when a gateway does not respond, so that each failure shows.
 */
export async function startBalancer(urls: readonly string[]): Promise<Balancer> {
  const backends = urls.map((url): Backend => ({ url, agent: new Agent({ keepAlive: true }), isReady: true }));
  const sent = new Map<string, number>();
  let turn = 0;
  const next = () => {
    const ready = backends.filter((backend) => backend.isReady);
    turn += 1;
    return ready[turn % ready.length];
  };
  const server = createServer((incoming, outgoing) => {
    const backend = next();
    if (backend === undefined) return void outgoing.writeHead(502).end('no gateway is ready');
    sent.set(backend.url, (sent.get(backend.url) ?? 0) + 1);
    forward(backend, incoming, outgoing);
  });
  const looks = new EventEmitter();
  const probes = backends.map((backend) => probe(backend, () => looks.emit('looked')));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sent,
    async allReady() {
      while (!backends.every(({ isReady }) => isReady)) await once(looks, 'looked');
    },
    async close() {
      for (const stop of probes) stop();
      for (const { agent } of backends) agent.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function forward({ url, agent }: Backend, incoming: IncomingMessage, outgoing: ServerResponse): void {
  const { method, headers } = incoming;
  const passed = request(new URL(incoming.url ?? '/', url), { method, headers, agent }, (answer) => {
    // A gateway that is stopping ends its own connections, which are not the client's.
    const { connection: _connection, ...kept } = answer.headers;
    outgoing.writeHead(answer.statusCode ?? 502, kept);
    answer.pipe(outgoing);
  });
  passed.once('error', (error) => {
    if (outgoing.headersSent) outgoing.destroy();
    else outgoing.writeHead(502).end(`${url}: ${error.message}`);
  });
  incoming.pipe(passed);
}

// One look after the other, with a connection of its own each, as load balancers do.
function probe(backend: Backend, onLooked: () => void): () => void {
  let timer: NodeJS.Timeout | undefined;
  let isOver = false;
  let failures = 0;
  const seen = (isReady: boolean) => {
    failures = isReady ? 0 : failures + 1;
    backend.isReady = failures === 0 || (backend.isReady && failures < failureThreshold);
    onLooked();
    if (!isOver) timer = setTimeout(look, probeEveryMs);
  };
  const look = () => {
    const asked = get(`${backend.url}/readyz`, { agent: false, timeout: 2_000 }, (answer) => {
      answer.resume();
      seen(answer.statusCode === 200);
    });
    asked.once('timeout', () => asked.destroy(new Error('no response in time')));
    asked.once('error', () => seen(false));
  };
  look();
  return () => {
    isOver = true;
    clearTimeout(timer);
  };
}

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server as TcpServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { waitUntil } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openPoster, type Poster } from '../src/jobs/delivery/post.ts';

const asker = { accountId: 'facct_1', webhookId: 'fwh_1' };

// A listener on this machine: any byte that reaches it is a way in.
let canary: TcpServer;
let canaryBytes = 0;
let canaryConnections = 0;
let port = 0;

beforeAll(async () => {
  canary = createTcpServer((socket) => {
    canaryConnections += 1;
    socket.on('data', (chunk) => {
      canaryBytes += chunk.length;
    });
    socket.on('error', () => socket.destroy());
  });
  canary.listen(0, '::');
  await once(canary, 'listening');
  port = (canary.address() as AddressInfo).port;
});

afterAll(() => {
  canary.close();
});

// The port is allowed here, so that nothing but the host's address stands between a probe and the canary.
function posterWith(addresses: Record<string, readonly string[]>, timeoutMs = 400): Poster {
  return openPoster({
    rules: { reach: 'public', ports: [443, port] },
    resolver: async (host) => addresses[host] ?? [],
    timeoutMs,
  });
}

// biome-ignore format: one table
const literals = [
  '127.0.0.1', '127.0.0.2', '127.1', '127.0.1', '127.255.255.254', '0', '0.0.0.0', '0.0.0.8', '0.1.2.3',
  '2130706433', '0x7f000001', '0x7f.0.0.1', '0x7f.1', '017700000001', '0177.0.0.1', '0177.1', '00000177.0.0.1',
  '１２７.０.０.１', '127。0。0。1', '①②⑦.⓪.⓪.①', '127.0.0.1.',
  '10.0.0.1', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1', '192.168.255.255', '100.64.0.1',
  '100.127.255.255', '169.254.169.254', '169.254.0.1', '192.0.0.1', '192.0.2.1', '198.18.0.1', '198.19.255.255',
  '198.51.100.1', '203.0.113.1', '192.88.99.1', '224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255',
  '[::1]', '[::]', '[0:0:0:0:0:0:0:1]', '[::ffff:127.0.0.1]', '[::ffff:7f00:1]', '[::127.0.0.1]', '[::ffff:10.0.0.1]',
  '[::ffff:0:127.0.0.1]', '[64:ff9b::127.0.0.1]', '[64:ff9b:1::7f00:1]', '[2002:7f00:1::]', '[2001::1]',
  '[2001:db8::1]', '[2001:10::1]', '[2001:20::1]', '[fc00::1]', '[fd00::1]', '[fe80::1]', '[fec0::1]', '[ff02::1]',
  '[100::1]', '[5f00::1]', '[2001:2::1]', '[3fff::1]', '[2600::5efe:7f00:1]', '[4000::1]',
];

const names = [
  'localhost',
  'LOCALHOST',
  'localhost.',
  'a.localhost',
  'ｌｏｃａｌｈｏｓｔ',
  'ip6-localhost',
  'printer.local',
  'metadata.google.internal',
];

const resolved: Record<string, readonly string[]> = {
  'one.example.com': ['127.0.0.1'],
  'two.example.com': ['::1'],
  'three.example.com': ['93.184.215.14', '127.0.0.1'],
  'four.example.com': ['::ffff:127.0.0.1'],
  'five.example.com': ['10.0.0.1'],
  'six.example.com': ['169.254.169.254'],
  'seven.example.com': ['fe80::1%lo'],
  'eight.example.com': [],
  'nine.example.com': ['not an address'],
  'ten.example.com': ['0.0.0.0'],
};

describe('a webhook cannot reach inside', () => {
  it('has at least 60 probes', () => {
    expect(literals.length + names.length + Object.keys(resolved).length).toBeGreaterThanOrEqual(60);
  });

  it.each([...literals, ...names, ...Object.keys(resolved)])('refuses %s before connecting [HOOK-1]', async (host) => {
    const poster = posterWith({ ...resolved, 'ip6-localhost': ['::1'] });
    for (const scheme of ['https', 'http']) {
      const url = `${scheme}://${host}:${port}/`;
      const outcome = await poster.post({ asker, url, headers: {}, body: Buffer.from('{}') });
      expect(outcome.kind).toBe('refused_target');
    }
    poster.close();
    expect({ canaryBytes, canaryConnections }).toEqual({ canaryBytes: 0, canaryConnections: 0 });
  });

  it('connects to the addresses that were checked, though the name changes its mind afterwards', async () => {
    const answers = [['203.0.114.1'], ['127.0.0.1']];
    let asked = 0;
    const poster = openPoster({
      rules: { reach: 'public', ports: [port] },
      resolver: async () => answers[asked++] ?? [],
      timeoutMs: 300,
    });
    const request = { asker, url: `https://rebinding.example.com:${port}/`, headers: {}, body: Buffer.from('{}') };
    expect((await poster.post(request)).kind).toBe('no_answer');
    expect(asked).toBe(1);
    expect((await poster.post(request)).kind).toBe('refused_target');
    poster.close();
    expect({ canaryBytes, canaryConnections }).toEqual({ canaryBytes: 0, canaryConnections: 0 });
  });

  it('takes back what was allowed when the rules have become stricter', async () => {
    const poster = posterWith({});
    const outcome = await poster.post({
      asker,
      url: `http://127.0.0.1:${port}/`,
      headers: {},
      body: Buffer.from('{}'),
    });
    expect(outcome.kind).toBe('refused_target');
    poster.close();
    expect(canaryBytes).toBe(0);
  });
});

describe('an attempt', () => {
  let receiver: Server;
  let base = '';
  let answer: Parameters<typeof createServer>[1] & object = (_request, response) => response.end();
  const rules = { reach: 'loopback', ports: [443] } as const;
  const resolver = async () => ['127.0.0.1'];

  beforeAll(async () => {
    receiver = createServer((request, response) => answer(request, response));
    receiver.listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    base = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  });

  afterAll(() => {
    receiver.closeAllConnections();
    receiver.close();
  });

  const post = async (options: { timeoutMs?: number } = {}) => {
    const poster = openPoster({ rules, resolver, ...options });
    const outcome = await poster.post({
      asker,
      url: base,
      headers: { 'webhook-id': 'fevt_1' },
      body: Buffer.from('{"a":1}'),
    });
    poster.close();
    return outcome;
  };

  it('carries the body and headers as given', async () => {
    const seen: { body: string; id: string | string[] | undefined; method: string | undefined }[] = [];
    answer = async (request, response) => {
      const chunks = await request.toArray();
      seen.push({ body: Buffer.concat(chunks).toString(), id: request.headers['webhook-id'], method: request.method });
      response.writeHead(204).end();
    };
    expect(await post()).toEqual({ kind: 'answered', status: 204, retryAfter: undefined });
    expect(seen).toEqual([{ body: '{"a":1}', id: 'fevt_1', method: 'POST' }]);
  });

  it('does not follow a redirect', async () => {
    let requests = 0;
    answer = (_request, response) => {
      requests += 1;
      response.writeHead(302, { location: `${base}/inside` }).end();
    };
    expect(await post()).toMatchObject({ kind: 'answered', status: 302 });
    expect(requests).toBe(1);
  });

  it('ends at its deadline though the receiver drips its answer', async () => {
    answer = (_request, response) => {
      response.writeHead(200);
      const drip = setInterval(() => response.write('.'), 20);
      response.on('close', () => clearInterval(drip));
    };
    const started = performance.now();
    expect(await post({ timeoutMs: 300 })).toEqual({ kind: 'no_answer', reason: 'no response within 300 ms' });
    expect(performance.now() - started).toBeLessThan(10_000);
  });

  it('ends at its deadline though the receiver says nothing', async () => {
    answer = () => undefined;
    expect(await post({ timeoutMs: 200 })).toEqual({ kind: 'no_answer', reason: 'no response within 200 ms' });
  });

  it('reads at most 64 kB of an answer, and takes its status', async () => {
    let sent = 0;
    answer = (_request, response) => {
      response.writeHead(200);
      const chunk = Buffer.alloc(16 * 1024);
      const more = () => {
        while (!response.destroyed) {
          sent += chunk.length;
          if (!response.write(chunk)) break;
        }
      };
      response.on('drain', more);
      more();
    };
    expect(await post({ timeoutMs: 5_000 })).toMatchObject({ kind: 'answered', status: 200 });
    expect(sent).toBeLessThan(16 * 1024 * 1024);
  });

  it('ends after eight interim responses of a receiver that floods them [D14.134]', async () => {
    let bytes = 0;
    answer = (request) => {
      const flood = Buffer.from('HTTP/1.1 103 Early Hints\r\n\r\n'.repeat(2_000));
      const more = () => {
        while (!request.socket.destroyed) {
          bytes += flood.length;
          if (!request.socket.write(flood)) break;
        }
      };
      request.socket.on('drain', more).on('error', () => undefined);
      more();
    };
    const reason = 'the connection failed (too many interim responses)';
    expect(await post({ timeoutMs: 5_000 })).toEqual({ kind: 'no_answer', reason });
    expect(bytes).toBeLessThan(16 * 1024 * 1024);
  });

  it('waits for the response behind a few interim ones', async () => {
    answer = (_request, response) => {
      for (let i = 0; i < 8; i++) response.writeProcessing();
      response.end('done');
    };
    expect(await post()).toMatchObject({ kind: 'answered', status: 200 });
  });

  it('takes an answer that was cut short for none', async () => {
    answer = (request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => request.socket.destroy());
    };
    expect((await post()).kind).toBe('no_answer');
  });

  it.each([
    ['switches protocols', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'],
    ['promises an answer and closes', 'HTTP/1.1 100 Continue\r\n\r\n'],
    ['sends no HTTP', 'hello\r\n\r\n'],
  ])('ends when the receiver %s', async (_what, words) => {
    answer = (request) => {
      request.socket.end(words);
    };
    const outcome = await Promise.race([post({ timeoutMs: 300 }), pause(20_000, 'never ends', { ref: false })]);
    expect(outcome).toMatchObject({ kind: 'no_answer' });
  });

  it('reports a refused connection, and nothing that the receiver sent', async () => {
    const poster = openPoster({ rules, resolver });
    expect(await poster.post({ asker, url: 'http://127.0.0.1:1/', headers: {}, body: Buffer.from('{}') })).toEqual({
      kind: 'no_answer',
      reason: 'the connection failed (ECONNREFUSED)',
    });
    poster.close();
  });

  it('keeps an idle connection only for a while, although its receiver would keep it forever', async () => {
    const stubborn = createServer((_request, response) => response.end());
    stubborn.keepAliveTimeout = 0;
    let closed = 0;
    stubborn.on('connection', (socket) => socket.on('close', () => (closed += 1)));
    stubborn.listen(0, '127.0.0.1');
    await once(stubborn, 'listening');
    const poster = openPoster({ rules, resolver, idleMs: 100 });
    const url = `http://127.0.0.1:${(stubborn.address() as AddressInfo).port}`;
    expect(await poster.post({ asker, url, headers: {}, body: Buffer.from('{}') })).toMatchObject({ status: 200 });
    expect(closed).toBe(0);
    await waitUntil(() => closed === 1, { what: 'the end of the idle connection' });
    poster.close();
    stubborn.close();
  });

  it.each([
    [256, 1],
    [257, 2],
  ])('with %i chunks of a response, two requests take %i connections [D14.316]', async (chunks, connections) => {
    let opened = 0;
    const head = 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n';
    const server = createTcpServer((socket) => {
      opened += 1;
      socket
        .on('error', () => undefined)
        .on('data', (data) => {
          if (data.toString().endsWith('{}')) socket.write(`${head}${'1\r\na\r\n'.repeat(chunks)}0\r\n\r\n`);
        });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const poster = openPoster({ rules, resolver });
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    for (let times = 0; times < 2; times++) {
      expect(await poster.post({ asker, url, headers: {}, body: Buffer.from('{}') })).toMatchObject({ status: 200 });
    }
    expect(opened).toBe(connections);
    poster.close();
    server.close();
  });

  it('sends again at once on a fresh connection when an idle one had been closed', async () => {
    let bodies = 0;
    const poster = openPoster({ rules, resolver });
    const request = { asker, url: base, headers: {}, body: Buffer.from('{}') };
    answer = async (incoming, response) => {
      await incoming.toArray();
      bodies += 1;
      response.end();
      // Closed just after the answer, while the sender believes the connection to be alive.
      setImmediate(() => incoming.socket.resetAndDestroy());
    };
    for (let i = 0; i < 5; i++) expect(await poster.post(request)).toMatchObject({ kind: 'answered', status: 200 });
    expect(bodies).toBeGreaterThanOrEqual(5);
    poster.close();
  });
});

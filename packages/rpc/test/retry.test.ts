import { once } from 'node:events';
import {
  constants,
  createServer as createHttp2Server,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo } from 'node:net';
import { Code, ConnectError, type Transport } from '@connectrpc/connect';
import { Failure, toConnectError } from '@eligo/failures';
import { describe, expect, onTestFinished, test } from 'vitest';
import { grpcTransport, serveGrpc } from '../src/grpc.ts';
import { client, implement, inProcessTransport, maxTimeoutMs, rpcServer } from '../src/index.ts';
import { ProbeService } from './probe.ts';
import { byGateway, gateway, identityOf } from './served-probe.ts';

test('a read is sent again when its peer cannot be reached, at most twice', async () => {
  const { probe, sent } = failing(() => unavailable(), 2);
  expect((await probe.read({ text: 'a' }, byGateway())).text).toBe('a');
  expect(sent()).toBe(3);
  const hopeless = failing(() => unavailable(), 100);
  await expect(hopeless.probe.read({}, byGateway())).rejects.toMatchObject({ code: Code.Unavailable });
  expect(hopeless.sent()).toBe(3);
});

test('a write is never sent again', async () => {
  const { probe, sent } = failing(() => unavailable(), 1);
  await expect(probe.echo({}, byGateway())).rejects.toMatchObject({ code: Code.Unavailable });
  expect(sent()).toBe(1);
});

test.each([
  ['a deadline', () => new ConnectError('', Code.DeadlineExceeded)],
  ['an internal error', () => new ConnectError('', Code.Internal)],
  ['a refusal that says unavailable', () => toConnectError(new Failure('lock_timeout'))],
])('a read is not sent again after %s', async (_, error) => {
  const { probe, sent } = failing(error, 1);
  await expect(probe.read({}, byGateway())).rejects.toThrow();
  expect(sent()).toBe(1);
});

test('a call that its caller ends between two attempts is canceled, and not sent again', async () => {
  const leaving = new AbortController();
  const { probe, sent } = failing(() => {
    leaving.abort();
    return unavailable();
  }, 100);
  const ended = probe.read({}, { ...byGateway(), signal: leaving.signal });
  await expect(ended).rejects.toMatchObject({ name: 'ConnectError', code: Code.Canceled });
  expect(sent()).toBe(1);
});

test('all attempts of a call share one deadline, of 30 s at most', async () => {
  const { probe, timeouts } = failing(() => unavailable(), 100);
  await expect(probe.read({}, { ...byGateway(), timeoutMs: 10 * maxTimeoutMs })).rejects.toThrow();
  expect(timeouts).toHaveLength(3);
  expect(timeouts[0]).toBeLessThanOrEqual(maxTimeoutMs);
  expect(timeouts).toEqual(timeouts.toSorted((a, b) => b - a));
});

test('a peer that stays away is sent at most a tenth more than the calls that are made', async () => {
  const { probe, sent } = failing(() => unavailable(), Number.POSITIVE_INFINITY);
  const calls = 200;
  for (let at = 0; at < calls; at += 1) {
    await expect(probe.read({}, { ...byGateway(), timeoutMs: 1_000 })).rejects.toThrow();
  }
  // What was saved up for a short outage comes on top, once.
  expect(sent() - calls).toBeLessThanOrEqual(calls / 10 + 10);
});

test('a peer that is restarted is found again, and reads made meanwhile with patience are answered', async () => {
  const make = () =>
    rpcServer({
      handlers: [implement(ProbeService, { read: ({ text }) => ({ text }) })],
      identity: identityOf('probe'),
    });
  const first = await serveGrpc({ server: make(), host: '127.0.0.1', port: 0 });
  const transport = grpcTransport({ address: `127.0.0.1:${first.port}` });
  const probe = client(ProbeService, transport, gateway);
  expect((await probe.read({ text: 'before' }, byGateway())).text).toBe('before');
  await first.stop(1_000);
  await expect(probe.read({}, byGateway())).rejects.toMatchObject({ code: Code.Unavailable });
  const second = await serveGrpc({ server: make(), host: '127.0.0.1', port: first.port });
  // A read fails at once until the connection is tried again.
  const read = () =>
    probe.read({ text: 'after' }, byGateway()).then(
      ({ text }) => text,
      () => undefined,
    );
  await expect.poll(read).toBe('after');
  transport.close();
  await second.stop(1_000);
});

describe('a peer that breaks a call off', () => {
  // As HTTP/2 numbers them; 8 is what a peer resets that does not want the answer, and 12 asks for another encryption.
  const resets = [0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 13];
  const headers = { ':status': 200, 'content-type': 'application/grpc' };
  const cutMessage = Buffer.from([0, 0, 0, 0, 9, 1]);
  const acts: [string, (stream: ServerHttp2Stream, session: ServerHttp2Session) => void][] = [
    ...resets.map((code): (typeof acts)[number] => [`resets the stream with ${code}`, (stream) => stream.close(code)]),
    ...resets.map((code): (typeof acts)[number] => [
      `ends the connection with ${code}`,
      (_, session) => session.destroy(undefined, code),
    ]),
    ['ends the stream without a status', (stream) => stream.respond(headers, { endStream: true })],
    [
      'ends the stream within the answer',
      (stream) => {
        stream.respond(headers);
        stream.end(cutMessage);
      },
    ],
    [
      'ends the connection within the answer',
      (stream, session) => {
        stream.respond(headers);
        stream.write(cutMessage, () => session.destroy());
      },
    ],
    ['asks for calm', (_, session) => session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM, 0)],
  ];

  test.each(acts)('%s: unavailable, a write and a stream alike', async (_, act) => {
    const server = createHttp2Server();
    const sessions = new Set<ServerHttp2Session>();
    server.on('session', (session) => {
      sessions.add(session);
      session.on('error', nothing);
    });
    server.on('stream', (stream) => {
      stream.on('error', nothing);
      act(stream, stream.session as ServerHttp2Session);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const transport = grpcTransport({ address: `127.0.0.1:${(server.address() as AddressInfo).port}` });
    onTestFinished(() => {
      transport.close();
      for (const session of sessions) session.destroy();
      server.close();
    });
    const probe = client(ProbeService, transport, gateway);
    const read = async () => {
      for await (const message of probe.count({ count: 1 }, byGateway())) expect.fail(`unexpected ${message.count}`);
    };
    await expect(probe.echo({ text: 'a' }, byGateway())).rejects.toMatchObject({ code: Code.Unavailable });
    await expect(read()).rejects.toMatchObject({ code: Code.Unavailable });
  });

  test('is no handler that fails: that stays an internal error', async () => {
    const handlers = [
      implement(ProbeService, {
        echo: () => {
          throw new Error('Received RST_STREAM with code 2');
        },
      }),
    ];
    const listener = await serveGrpc({
      server: rpcServer({ handlers, identity: identityOf('probe') }),
      host: '127.0.0.1',
      port: 0,
    });
    const transport = grpcTransport({ address: `127.0.0.1:${listener.port}` });
    const failing = client(ProbeService, transport, gateway).echo({}, byGateway());
    await expect(failing).rejects.toMatchObject({ code: Code.Internal });
    transport.close();
    await listener.stop(1_000);
  });
});

test('connections end of age without a call being lost', async () => {
  const server = rpcServer({
    handlers: [implement(ProbeService, { echo: ({ count }) => ({ count }) })],
    identity: identityOf('probe'),
  });
  const listener = await serveGrpc({ server, host: '127.0.0.1', port: 0, maxConnectionAgeMs: 50 });
  const transport = grpcTransport({ address: `127.0.0.1:${listener.port}` });
  const probe = client(ProbeService, transport, gateway);
  const endsAt = performance.now() + 1_000;
  let calls = 0;
  const loop = async () => {
    while (performance.now() < endsAt || calls <= 100) {
      calls += 1;
      const count = calls;
      expect((await probe.echo({ count }, byGateway())).count).toBe(count);
    }
  };
  await Promise.all(Array.from({ length: 8 }, loop));
  transport.close();
  await listener.stop(1_000);
});

function failing(error: () => ConnectError, times: number) {
  const server = rpcServer({
    handlers: [implement(ProbeService, { read: ({ text }) => ({ text }), echo: () => ({}) })],
    identity: identityOf('probe'),
  });
  const inner = inProcessTransport(server);
  let sent = 0;
  const timeouts: number[] = [];
  const unary: Transport['unary'] = async (...call) => {
    sent += 1;
    timeouts.push(call[2] ?? Number.POSITIVE_INFINITY);
    if (sent <= times) throw error();
    return inner.unary(...call);
  };
  return { probe: client(ProbeService, { ...inner, unary }, gateway), sent: () => sent, timeouts };
}

function nothing(): undefined {
  return undefined;
}

function unavailable(): ConnectError {
  return new ConnectError('nobody is there', Code.Unavailable);
}

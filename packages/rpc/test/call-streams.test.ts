import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import { Failure } from '@eligo/failures';
import { type AnswerBatch, AnswerBatchSchema, CallBatchSchema } from '@eligo/proto/calls/v1/calls';
import {
  credentials,
  Metadata,
  Client as RawClient,
  Server,
  ServerCredentials,
  type ServerDuplexStream,
  type ServerUnaryCall,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { expect, onTestFinished, test, vi } from 'vitest';
import { CarriedCalls } from '../src/carried-calls.ts';
import { type GrpcListener, grpcTransport, serveGrpc } from '../src/grpc.ts';
import { asBytes, bufferOf, carryPath, pathOf } from '../src/grpc-names.ts';
import { type Client, client, type Implementation, implement, type RpcServer, rpcServer } from '../src/index.ts';
import { ProbeService } from './probe.ts';
import { byGateway, gateway, identityOf, signalled } from './served-probe.ts';

test('thousands of calls at once are each answered, each with its own answer', async () => {
  const { probe } = await serve({
    echo: async ({ count }) => {
      await delay(count % 20);
      return { count };
    },
  });
  const counts = Array.from({ length: 3_000 }, (_, at) => at);
  const answers = await Promise.all(
    counts.map((count) => probe.echo({ count }, { ...byGateway(), timeoutMs: 30_000 })),
  );
  expect(answers.map(({ count }) => count)).toEqual(counts);
});

test('calls of many megabytes together arrive, the large and the small ones', async () => {
  const { probe } = await serve({ echo: ({ text }) => ({ count: text.length }) });
  const lengths = Array.from({ length: 400 }, (_, at) => (at % 50 === 0 ? 1_000_000 : 60_000));
  const answers = await Promise.all(
    lengths.map((length) => probe.echo({ text: 'x'.repeat(length) }, { ...byGateway(), timeoutMs: 30_000 })),
  );
  expect(answers.map(({ count }) => count)).toEqual(lengths);
});

test('a slow call holds up none that began after it, in the same stream', async () => {
  const go = signalled();
  const { probe } = await serve({
    echo: async ({ count }) => {
      if (count === 0) await go.promise;
      return { count };
    },
  });
  const slow = probe.echo({ count: 0 }, byGateway());
  for (let count = 1; count < 10; count += 1) expect(await probe.echo({ count }, byGateway())).toMatchObject({ count });
  go.resolve();
  expect(await slow).toMatchObject({ count: 0 });
});

test('a call that its caller ends is canceled at the peer, and the others of its stream go on', async () => {
  const canceled = signalled<unknown>();
  const go = signalled();
  const begun = signalled();
  const { probe, server } = await serve({
    echo: async ({ count }, call) => {
      if (count === 0) call.signal.addEventListener('abort', () => canceled.resolve(call.signal.reason));
      else begun.resolve();
      await go.promise;
      return { count };
    },
  });
  const leaving = new AbortController();
  const left = expect(probe.echo({ count: 0 }, { ...byGateway(), signal: leaving.signal })).rejects.toMatchObject({
    code: Code.Canceled,
  });
  const others = [1, 2, 3].map((count) => probe.echo({ count }, byGateway()));
  await begun.promise;
  leaving.abort();
  await left;
  expect(await canceled.promise).toMatchObject({ code: Code.Canceled });
  go.resolve();
  expect((await Promise.all(others)).map(({ count }) => count)).toEqual([1, 2, 3]);
  expect(server.inFlight).toBe(0);
});

test('a call that its caller ends before it was sent never reaches the peer', async () => {
  const seen: number[] = [];
  const { probe } = await serve({
    echo: ({ count }) => {
      seen.push(count);
      return {};
    },
  });
  const leaving = new AbortController();
  const left = expect(probe.echo({ count: 1 }, { ...byGateway(), signal: leaving.signal })).rejects.toMatchObject({
    code: Code.Canceled,
  });
  leaving.abort();
  await left;
  await probe.echo({ count: 2 }, byGateway());
  expect(seen).toEqual([2]);
});

test('two instances of a peer both get calls', async () => {
  const seen = [0, 0];
  const instances = await Promise.all(
    [0, 1].map((at) =>
      listen({
        echo: () => {
          seen[at] = (seen[at] ?? 0) + 1;
          return {};
        },
      }),
    ),
  );
  const probe = clientOf(instances.map(({ listener }) => listener.port));
  // The second connection may take longer than the first.
  await expect
    .poll(async () => {
      await Promise.all(Array.from({ length: 10 }, () => probe.echo({}, byGateway())));
      return Math.min(...seen);
    })
    .toBeGreaterThan(0);
});

test('to a peer of a version before such streams each call goes alone, once', async () => {
  const seen: number[] = [];
  let streams = 0;
  const port = await listenRaw((server) => {
    const serveEcho = (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) => {
      seen.push(fromBinary(ProbeService.method.echo.input, call.request).count);
      callback(null, call.request);
    };
    server.register<Buffer, Buffer>(pathOf(ProbeService.method.echo), serveEcho, asBytes, asBytes, 'unary');
    server.addService(
      { watch: { ...rawMethod, path: carryPath } },
      {
        watch: (stream: { emit: (name: string, error: object) => void }) => {
          streams += 1;
          // As grpc-js answers for a method that it does not know.
          stream.emit('error', { code: Code.Unimplemented, details: 'The server does not implement this method' });
        },
      },
    );
  });
  const probe = clientOf([port]);
  const first = await Promise.all([1, 2, 3].map((count) => probe.echo({ count }, byGateway())));
  expect(first.map(({ count }) => count)).toEqual([1, 2, 3]);
  const opened = streams;
  for (const count of [4, 5]) expect(await probe.echo({ count }, byGateway())).toMatchObject({ count });
  expect(seen.toSorted()).toEqual([1, 2, 3, 4, 5]);
  // It is not asked again before a while has passed.
  expect(streams).toBe(opened);
});

test('a call that finds no connection, when the peer has only just gone, waits for the next one and arrives once', async () => {
  const seen: number[] = [];
  const echo = ({ count }: { count: number }) => {
    seen.push(count);
    return { count };
  };
  const [first, port] = await listenAt(0, { echo });
  const probe = clientOf([port], 30_000);
  await probe.echo({ count: 1 }, byGateway());
  await first.stop(0);
  const waiting = [2, 3].map((count) => probe.echo({ count }, { ...byGateway(), timeoutMs: 30_000 }));
  await oneConnectionCut(port);
  await listenAt(port, { echo });
  expect((await Promise.all(waiting)).map(({ count }) => count)).toEqual([2, 3]);
  expect(seen.toSorted()).toEqual([1, 2, 3]);
});

test.each(['answered', 'refused'])(
  'a break is bridged also when the last one ended with a call that was %s on its second try',
  async (how) => {
    const seen: number[] = [];
    const echo = ({ count }: { count: number }) => {
      seen.push(count);
      if (count === 2 && how === 'refused') throw new Failure('payment_method_not_found');
      return { count };
    };
    const [first, port] = await listenAt(0, { echo });
    const probe = clientOf([port], 30_000);
    const inBreak = async (count: number) => {
      const call = probe.echo({ count }, { ...byGateway(), timeoutMs: 30_000 });
      const outcome = call.then(
        () => 'answered',
        (error: unknown) => (error instanceof Failure ? 'refused' : error),
      );
      await oneConnectionCut(port);
      return [outcome, (await listenAt(port, { echo }))[0]] as const;
    };
    await probe.echo({ count: 1 }, byGateway());
    await first.stop(0);
    const [ended, second] = await inBreak(2);
    expect(await ended).toBe(how);
    const now = performance.now.bind(performance);
    vi.spyOn(performance, 'now').mockImplementation(() => now() + 3_600_000);
    onTestFinished(() => void vi.restoreAllMocks());
    await second.stop(0);
    const [later] = await inBreak(3);
    expect(await later).toBe('answered');
    expect(seen).toEqual([1, 2, 3]);
  },
);

test('a call that finds no connection fails within the first moments of an outage, and at once after them', async () => {
  const [listener, port] = await listenAt(0, {});
  await listener.stop(0);
  const probe = clientOf([port], 3_000);
  const failed = async () => {
    const startedAt = performance.now();
    await expect(probe.echo({}, byGateway())).rejects.toMatchObject({ code: Code.Unavailable });
    return performance.now() - startedAt;
  };
  expect(await failed()).toBeGreaterThanOrEqual(2_999);
  expect(await failed()).toBeLessThan(3_000);
});

test('calls that wait in a stream that breaks are sent in the next one, and those that the peer may have seen are not', async () => {
  const served: number[] = [];
  const server = serverOf({
    echo: ({ count }) => {
      served.push(count);
      return { count };
    },
  });
  const carried = new CarriedCalls(server);
  let streams = 0;
  const port = await listenRaw((raw) => {
    raw.addService(
      { watch: { ...rawMethod, path: carryPath } },
      {
        watch: (stream: ServerDuplexStream<Buffer, Buffer>) => {
          streams += 1;
          if (streams > 2) return carried.serve(stream);
          // Megabytes wait behind the first message.
          stream.once('data', () => {
            stream.pause();
            stream.emit('error', { code: Code.Unavailable, details: 'gone' });
          });
        },
      },
    );
  });
  const text = 'x'.repeat(60_000);
  const probe = clientOf([port]);
  const calls = Array.from({ length: 120 }, (_, count) =>
    probe.echo({ count, text }, { ...byGateway(), timeoutMs: 30_000 }),
  );
  const outcomes = await Promise.allSettled(calls);
  const answered = outcomes.flatMap(({ status }, count) => (status === 'fulfilled' ? [count] : []));
  expect(served.toSorted((one, other) => one - other)).toEqual(answered);
  expect(answered.length).toBeGreaterThan(0);
  expect(answered.length).toBeLessThan(calls.length);
});

test('a peer that answers nonsense, or ends a stream with calls in it, fails these calls and no more', async () => {
  const acts = [
    (stream: RawStream) => stream.write(Buffer.from('nonsense')),
    (stream: RawStream) => stream.end(),
    // An answer without an outcome, and one to a call that nobody made.
    (stream: RawStream) => stream.write(Buffer.from([0x0a, 2, 0x08, 1, 0x0a, 2, 0x08, 99])),
  ];
  for (const act of acts) {
    const port = await listenRaw((server) => {
      server.addService(
        { watch: { ...rawMethod, path: carryPath } },
        { watch: (stream: RawStream) => stream.once('data', () => act(stream)) },
      );
    });
    const failed = await clientOf([port])
      .echo({}, byGateway())
      .catch((error: unknown) => error);
    expect(failed).toMatchObject({
      code: expect.toSatisfy((code) => code === Code.Internal || code === Code.Unavailable),
    });
  }
});

test('a call that was given up before its peer reads it is not begun', async () => {
  const seen: number[] = [];
  const { probe, listener, server } = await serve({
    echo: ({ count }) => {
      seen.push(count);
      return { count };
    },
  });
  const raw = new RawClient(`127.0.0.1:${listener.port}`, credentials.createInsecure());
  onTestFinished(() => raw.close());
  const stream = raw.makeBidiStreamRequest<Buffer, Buffer>(carryPath, asBytes, asBytes, new Metadata());
  const answered = signalled<AnswerBatch>();
  stream.on('data', (bytes: Buffer) => answered.resolve(fromBinary(AnswerBatchSchema, bytes)));
  stream.on('error', () => undefined);
  const { caller } = byGateway();
  const batch = create(CallBatchSchema, {
    canceledIds: [1],
    calls: [1, 2].map((id) => ({
      ...{ id, path: pathOf(ProbeService.method.echo), timeoutMs: 5_000 },
      ...{ credential: gateway.credentialFor('probe'), caller: gateway.tokenOf(caller) ?? '' },
      request: toBinary(ProbeService.method.echo.input, create(ProbeService.method.echo.input, { count: id })),
    })),
  });
  // As a process finds them that was frozen when they came.
  stream.write(bufferOf(toBinary(CallBatchSchema, batch)));
  const { answers } = await answered.promise;
  expect(answers.map(({ id, outcome }) => [id, outcome.case])).toEqual([
    [1, 'error'],
    [2, 'answer'],
  ]);
  expect(seen).toEqual([2]);
  expect(server.inFlight).toBe(0);
  expect(await probe.echo({ count: 3 }, byGateway())).toMatchObject({ count: 3 });
});

test('a caller that sends nonsense is refused, and others are served', async () => {
  const { probe, listener } = await serve({ echo: ({ count }) => ({ count }) });
  const raw = new RawClient(`127.0.0.1:${listener.port}`, credentials.createInsecure());
  onTestFinished(() => raw.close());
  const refused = signalled<number>();
  const stream = raw.makeBidiStreamRequest<Buffer, Buffer>(carryPath, asBytes, asBytes, new Metadata());
  stream.on('data', () => undefined).on('error', () => undefined);
  stream.on('status', ({ code }: { code: number }) => refused.resolve(code));
  stream.write(bufferOf(Buffer.from('nonsense')));
  expect(await refused.promise).toBe(Code.InvalidArgument);
  expect(await probe.echo({ count: 7 }, byGateway())).toMatchObject({ count: 7 });
});

interface RawStream {
  once(name: 'data', listener: () => void): void;
  write(bytes: Buffer): void;
  end(): void;
}

const rawMethod = {
  ...{ requestStream: true, responseStream: true },
  ...{ requestSerialize: asBytes, requestDeserialize: asBytes },
  ...{ responseSerialize: asBytes, responseDeserialize: asBytes },
};

async function serve(implementation: Implementation<ProbeService>) {
  const { server, listener } = await listen(implementation);
  return { server, listener, probe: clientOf([listener.port]) };
}

async function listen(
  implementation: Implementation<ProbeService>,
): Promise<{ server: RpcServer; listener: GrpcListener }> {
  const server = serverOf(implementation);
  return { server, listener: await listenOn(server, 0) };
}

async function listenAt(port: number, implementation: Implementation<ProbeService>): Promise<[GrpcListener, number]> {
  const listener = await listenOn(serverOf(implementation), port);
  return [listener, listener.port];
}

async function listenOn(server: RpcServer, port: number): Promise<GrpcListener> {
  const listener = await serveGrpc({ server, host: '127.0.0.1', port });
  onTestFinished(() => listener.stop(0));
  return listener;
}

// A peer that is not there yet: the first connection that is tried ends at once.
async function oneConnectionCut(port: number): Promise<void> {
  const listener = createServer((socket) => socket.destroy()).listen(port, '127.0.0.1');
  await once(listener, 'connection');
  listener.close();
  await once(listener, 'close');
}

function serverOf(implementation: Implementation<ProbeService>): RpcServer {
  return rpcServer({ handlers: [implement(ProbeService, implementation)], identity: identityOf('probe') });
}

function clientOf(ports: readonly number[], bridgedMs?: number): Client<ProbeService> {
  const address = ports.map((port) => `127.0.0.1:${port}`).join(',');
  const transport = grpcTransport({ address, ...(bridgedMs !== undefined && { bridgedMs }) });
  onTestFinished(() => transport.close());
  return client(ProbeService, transport, gateway);
}

async function listenRaw(define: (server: Server) => void): Promise<number> {
  const server = new Server();
  define(server);
  onTestFinished(() => server.forceShutdown());
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve(port);
      else reject(error);
    });
  });
}

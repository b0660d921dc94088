// What one hop costs: `node packages/rpc/bench/hop.ts`. Prints medians; machines differ, so compare within one run.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import {
  client,
  generateComponentKeys,
  grpcTransport,
  implement,
  inProcessTransport,
  openIdentity,
  rpcServer,
  serveGrpc,
} from '../src/index.ts';
import { ProbeService } from '../test/probe.ts';

const rounds = 5;
const concurrency = 16;

const keys =
  process.env.BENCH_KEYS === undefined
    ? generateComponentKeys(['gateway', 'probe'])
    : (JSON.parse(process.env.BENCH_KEYS) as ReturnType<typeof generateComponentKeys>);
const identityOf = (name: string) =>
  openIdentity({ name, privateKey: keys.privateKeys[name] ?? '', publicKeys: keys.publicKeys });

const handlers = [
  implement(ProbeService, { echo: async (request) => ({ text: request.text, amount: request.amount }) }),
];

if (process.send === undefined) await measure();
else await serve(process.send.bind(process));

async function serve(report: (message: number) => void) {
  const listener = await serveGrpc({
    server: rpcServer({ handlers, identity: identityOf('probe') }),
    host: '127.0.0.1',
    port: 0,
  });
  report(listener.port);
}

async function measure() {
  const gateway = identityOf('gateway');
  const call = { caller: gateway.callerFor({ accountId: 'facct_1', testMode: true }), requestId: 'req_1' };
  const request = { text: 'fprice_01jabcdefghjkmnpqrstvwxyz0', amount: 1_999n };
  const direct = async (input: typeof request) => ({ text: input.text, amount: input.amount });

  const inProcess = client(
    ProbeService,
    inProcessTransport(rpcServer({ handlers, identity: identityOf('probe') })),
    gateway,
  );
  const plainUs = await median(() => timeEach(200_000, () => direct(request)));
  const hopUs = await median(() => timeEach(200_000, () => inProcess.echo(request, call)));
  process.stdout.write(
    `in process: ${(hopUs - plainUs).toFixed(2)} us over a direct call (${plainUs.toFixed(2)} us)\n`,
  );

  const { child, port } = await startServer();
  const transport = grpcTransport({ address: `127.0.0.1:${port}` });
  const remote = client(ProbeService, transport, gateway);
  await throughput(2_000, () => remote.echo(request, call));
  const perSecond = await median(() => throughput(10_000, () => remote.echo(request, call)));
  process.stdout.write(
    `grpc: ${Math.round(perSecond)} calls/s at ${concurrency} at once, server in a process of its own\n`,
  );
  transport.close();
  child.kill();
}

async function startServer(): Promise<{ child: ChildProcess; port: number }> {
  const child = fork(import.meta.filename, { env: { ...process.env, BENCH_KEYS: JSON.stringify(keys) } });
  const [port] = (await once(child, 'message')) as [number];
  return { child, port };
}

async function timeEach(count: number, work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  for (let at = 0; at < count; at += 1) await work();
  return ((performance.now() - startedAt) * 1_000) / count;
}

async function throughput(count: number, work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  let left = count;
  const loop = async () => {
    while (left > 0) {
      left -= 1;
      await work();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, loop));
  return (count * 1_000) / (performance.now() - startedAt);
}

async function median(measureOnce: () => Promise<number>): Promise<number> {
  const values: number[] = [];
  for (let round = 0; round < rounds; round += 1) values.push(await measureOnce());
  return values.sort((one, other) => one - other)[Math.floor(rounds / 2)] ?? Number.NaN;
}

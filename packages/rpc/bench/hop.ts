// What one hop costs: `node packages/rpc/bench/hop.ts`. Prints medians; machines differ, so compare within one run.
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  Client,
  credentials,
  Metadata,
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type sendUnaryData,
} from '@grpc/grpc-js';
import { grpcTransport, serveGrpc } from '../src/grpc.ts';
import { client, generateComponentKeys, implement, inProcessTransport, openIdentity, rpcServer } from '../src/index.ts';
import { ProbeService } from '../test/probe.ts';

const rounds = 5;
const remoteRounds = 15;
const barePath = '/bare/Echo';
const ProbeSchema = ProbeService.method.echo.input;
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

async function serve(report: (ports: [number, number]) => void) {
  const listener = await serveGrpc({
    server: rpcServer({ handlers, identity: identityOf('probe') }),
    host: '127.0.0.1',
    port: 0,
  });
  report([listener.port, await serveBare()]);
}

// grpc-js as its own examples use it: no identity, no request id, no deadline kept by the server.
async function serveBare(): Promise<number> {
  const server = new Server();
  const bytes = (value: Buffer) => value;
  server.register<Buffer, Buffer>(
    barePath,
    (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>) => {
      const { text, amount } = fromBinary(ProbeSchema, call.request);
      callback(null, Buffer.from(toBinary(ProbeSchema, create(ProbeSchema, { text, amount }))));
    },
    bytes,
    bytes,
    'unary',
  );
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve(port);
      else reject(error);
    });
  });
}

function bareCall(channel: Client, request: object): Promise<unknown> {
  const bytes = (value: Buffer) => value;
  const encoded = Buffer.from(toBinary(ProbeSchema, create(ProbeSchema, request)));
  const options = { deadline: Date.now() + 5_000 };
  return new Promise((resolve, reject) => {
    channel.makeUnaryRequest(barePath, bytes, bytes, encoded, new Metadata(), options, (error, answer) => {
      if (error === null && answer !== undefined) resolve(fromBinary(ProbeSchema, answer));
      else reject(error);
    });
  });
}

async function measure() {
  const gateway = identityOf('gateway');
  // A context is signed for some minutes and a run may take longer, so each round asks for one; each call would be measured as well.
  const newCall = () => ({ caller: gateway.callerFor({ accountId: 'facct_1', testMode: true }), requestId: 'req_1' });
  const request = { text: 'fprice_01jabcdefghjkmnpqrstvwxyz0', amount: 1_999n };
  const direct = async (input: typeof request) => ({ text: input.text, amount: input.amount });

  const inProcess = client(
    ProbeService,
    inProcessTransport(rpcServer({ handlers, identity: identityOf('probe') })),
    gateway,
  );
  const plainUs = await median(() => timeEach(200_000, () => direct(request)));
  const hopUs = await median(() => {
    const call = newCall();
    return timeEach(200_000, () => inProcess.echo(request, call));
  });
  process.stdout.write(
    `in process: ${(hopUs - plainUs).toFixed(2)} us over a direct call (${plainUs.toFixed(2)} us)\n`,
  );

  const { child, ports } = await startServer();
  const transport = grpcTransport({ address: `127.0.0.1:${ports[0]}` });
  const remote = client(ProbeService, transport, gateway);
  const bare = new Client(`127.0.0.1:${ports[1]}`, credentials.createInsecure());
  const ours: Rate[] = [];
  const theirs: Rate[] = [];
  for (let round = -2; round < remoteRounds; round += 1) {
    const call = newCall();
    const one = await throughput(2_000, () => remote.echo(request, call));
    const other = await throughput(2_000, () => bareCall(bare, request));
    // The first rounds warm both up.
    if (round < 0) continue;
    ours.push(one);
    theirs.push(other);
  }
  process.stdout.write(`grpc, ${concurrency} at once, server in a process of its own:\n`);
  process.stdout.write(`  ours        ${describeRates(ours)}\n  bare grpc-js ${describeRates(theirs)}\n`);
  transport.close();
  bare.close();
  child.kill();
}

async function startServer(): Promise<{ child: ChildProcess; ports: [number, number] }> {
  const child = fork(import.meta.filename, { env: { ...process.env, BENCH_KEYS: JSON.stringify(keys) } });
  const [ports] = (await once(child, 'message')) as [[number, number]];
  return { child, ports };
}

async function timeEach(count: number, work: () => Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  for (let at = 0; at < count; at += 1) await work();
  return ((performance.now() - startedAt) * 1_000) / count;
}

interface Rate {
  readonly perSecond: number;
  readonly cpuUs: number;
}

async function throughput(count: number, work: () => Promise<unknown>): Promise<Rate> {
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  let left = count;
  const loop = async () => {
    while (left > 0) {
      left -= 1;
      await work();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, loop));
  const { user, system } = process.cpuUsage(cpu);
  return { perSecond: (count * 1_000) / (performance.now() - startedAt), cpuUs: (user + system) / count };
}

function describeRates(rates: readonly Rate[]): string {
  const middle = (values: number[]) => values.sort((one, other) => one - other)[values.length >> 1] ?? Number.NaN;
  const perSecond = middle(rates.map((rate) => rate.perSecond));
  const best = Math.max(...rates.map((rate) => rate.perSecond));
  const cpuUs = middle(rates.map((rate) => rate.cpuUs));
  return `${Math.round(perSecond)} calls/s (best round ${Math.round(best)}), ${cpuUs.toFixed(0)} us of the client's CPU each`;
}

async function median(measureOnce: () => Promise<number>): Promise<number> {
  const values: number[] = [];
  for (let round = 0; round < rounds; round += 1) values.push(await measureOnce());
  return values.sort((one, other) => one - other)[Math.floor(rounds / 2)] ?? Number.NaN;
}

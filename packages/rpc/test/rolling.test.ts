import { expect, test } from 'vitest';
import { type GrpcListener, grpcTransport, serveGrpc } from '../src/grpc.ts';
import { client, implement, type RpcServer, rpcServer } from '../src/index.ts';
import { ProbeService } from './probe.ts';
import { byGateway, gateway, identityOf } from './served-probe.ts';

test('instances are restarted one after the other under load, and no write is lost or refused', async () => {
  const instances = [await open(0), await open(0)];
  const ports = instances.map(({ listener }) => listener.port);
  const transport = grpcTransport({ address: ports.map((port) => `http://127.0.0.1:${port}`).join(',') });
  const probe = client(ProbeService, transport, gateway);
  const errors: unknown[] = [];
  let calls = 0;
  let over = false;
  const loop = async () => {
    while (!over) {
      calls += 1;
      await probe.echo({ count: calls }, byGateway()).catch((error: unknown) => errors.push(error));
    }
  };
  const load = Promise.all(Array.from({ length: 8 }, loop));
  for (let round = 0; round < 6; round += 1) {
    const at = round % 2;
    const leaving = instances[at];
    // As a service stops: first no new streams, then no new calls.
    await leaving?.listener.stop(5_000);
    await leaving?.server.drain();
    instances[at] = await open(ports[at] ?? 0);
    await instances[at]?.takesPart;
  }
  over = true;
  await load;
  expect(errors).toEqual([]);
  expect(calls).toBeGreaterThan(200);
  transport.close();
  for (const { listener } of instances) await listener.stop(1_000);
});

interface Instance {
  readonly listener: GrpcListener;
  readonly server: RpcServer;
  /** Settles once clients have found it. */
  readonly takesPart: Promise<void>;
}

async function open(port: number): Promise<Instance> {
  const found = Promise.withResolvers<void>();
  let served = 0;
  const echo = async ({ count }: { count: number }) => {
    served += 1;
    if (served === 20) found.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    return { count };
  };
  const server = rpcServer({ handlers: [implement(ProbeService, { echo })], identity: identityOf('probe') });
  return { server, listener: await serveGrpc({ server, host: '127.0.0.1', port }), takesPart: found.promise };
}

import { expect, test } from 'vitest';
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
import { ProbeService } from './probe.ts';

test('smoke', async () => {
  const keys = generateComponentKeys(['gateway', 'probe']);
  const id = (name: string) =>
    openIdentity({ name, privateKey: keys.privateKeys[name] ?? '', publicKeys: keys.publicKeys });
  const gateway = id('gateway');
  const server = rpcServer({
    identity: id('probe'),
    handlers: [
      implement(ProbeService, {
        echo: (request, call) => ({ text: `${request.text} ${call.from} ${call.scope.accountId}` }),
        async *count(request) {
          for (let i = 0; i < request.count; i++) yield { count: i };
        },
      }),
    ],
  });
  const listener = await serveGrpc({ server, host: '127.0.0.1', port: 0 });
  const grpc = grpcTransport({ address: `127.0.0.1:${listener.port}` });
  for (const transport of [inProcessTransport(server), inProcessTransport(server, { encode: true }), grpc]) {
    const probe = client(ProbeService, transport, gateway);
    const call = { caller: gateway.callerFor({ accountId: 'facct_1', testMode: true }) };
    expect((await probe.echo({ text: 'a' }, call)).text).toBe('a gateway facct_1');
    let n = 0;
    for await (const m of probe.count({ count: 1000 }, call)) expect(m.count).toBe(n++);
    expect(n).toBe(1000);
  }
  grpc.close();
  await listener.stop(1000);
});

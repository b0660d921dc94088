import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect, type TLSSocket } from 'node:tls';
import { Code } from '@connectrpc/connect';
import { type TestCertificate, testAuthority, writeTestCertificate } from '@eligo/testkit/certificates';
import { afterAll, afterEach, expect, test } from 'vitest';
import { readCertificate } from '../src/certificate.ts';
import { grpcTransport, serveGrpc, type WatchedCertificate, watchCertificate } from '../src/grpc.ts';
import { client, implement, rpcServer } from '../src/index.ts';
import { ProbeService } from './probe.ts';
import { byGateway, gateway, identityOf } from './served-probe.ts';

const home = mkdtempSync(join(tmpdir(), 'eligo-tls-'));
const authority = testAuthority();
const stranger = testAuthority();
const opened: (() => unknown)[] = [];
let folders = 0;

afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close();
});
afterAll(() => rmSync(home, { recursive: true }));

test('two components with certificates of one authority call each other, and the callee is known by its name [D14.212]', async () => {
  const port = await serve(authority.issue(['probe']));
  const asked = await call(port, watched('gateway', authority.issue(['gateway'])));
  expect(asked).toBe('echoed');
  // Replicas have one name and many addresses.
  const list = `https://127.0.0.1:${port},https://127.0.0.1:${port}`;
  expect(await call(list, watched('gateway', authority.issue(['gateway'])))).toBe('echoed');
});

test('a client without TLS, without a certificate, or with one that is expired or of another authority is refused [D14.212]', async () => {
  const port = await serve(authority.issue(['probe']));
  await expect(call(port, undefined)).rejects.toMatchObject({ code: Code.Unavailable });
  const foreign = watched('gateway', stranger.issue(['gateway']), [authority.certificate]);
  await expect(call(port, foreign)).rejects.toMatchObject({ code: Code.Unavailable });
  const expired = handed(authority.issue(['gateway'], { expired: true }));
  await expect(call(port, expired)).rejects.toMatchObject({ code: Code.Unavailable });

  const { certificate: cert, key } = authority.issue(['gateway']);
  expect(await handshake(port, { cert, key })).toBe('accepted');
  expect(await handshake(port, {})).toContain('certificate required');
});

test('a server without TLS, of another authority, of another name, or with an expired certificate is refused, and the error says why [D14.212]', async () => {
  const mine = watched('gateway', authority.issue(['gateway']));
  const plain = await serve(undefined);
  await expect(call(plain, mine)).rejects.toMatchObject({ code: Code.Unavailable });
  const foreign = await serve(stranger.issue(['probe']), [authority.certificate]);
  await expect(call(foreign, mine)).rejects.toThrow(/unable to verify|self-signed|unable to get/);
  // Another component's certificate does not stand for this one, and neither does the address.
  const misnamed = await serve(authority.issue(['catalog', '127.0.0.1']), undefined, 'catalog');
  await expect(call(misnamed, mine)).rejects.toThrow(/probe.*catalog/);
  const late = await listen(handed(authority.issue(['probe'], { expired: true })));
  await expect(call(late, mine)).rejects.toThrow(/expired/);
});

test('new files are taken over by server and client without a restart, and unusable ones are not [D14.212]', async () => {
  const replaced: string[] = [];
  const refused: string[] = [];
  const news = Promise.withResolvers<void>();
  const folder = folderOf(authority.issue(['probe']));
  const server = watchCertificate({
    ...{ folder, component: 'probe', everyMs: 10 },
    onRefused: (reason) => {
      refused.push(reason);
      news.resolve();
    },
    onReplaced: () => replaced.push('server'),
  });
  // Connections from before the change end of age.
  const port = await listen(server, 50);
  const mine = folderOf(authority.issue(['gateway']));
  const theirs = Promise.withResolvers<void>();
  const own = watchCertificate({
    ...{ folder: mine, component: 'gateway', everyMs: 10, onReplaced: () => theirs.resolve() },
  });
  expect(await call(port, own)).toBe('echoed');

  // A key of another certificate: the old pair goes on.
  writeFileSync(join(folder, 'tls.key'), authority.issue(['probe']).key);
  await news.promise;
  expect(await call(port, own)).toBe('echoed');
  expect(refused).toEqual(['tls.key does not match tls.crt']);

  // The authority is replaced as well: after it the old client is a stranger.
  writeTestCertificate(folder, stranger.issue(['probe']), [stranger.certificate]);
  await expect.poll(() => replaced, { interval: 5 }).toContain('server');
  const { echo } = channel(port, own);
  await expect.poll(() => echo().catch(({ code }) => code), { interval: 20 }).toBe(Code.Unavailable);

  // The client's channel stays open over the change of its own files.
  writeTestCertificate(mine, stranger.issue(['gateway']), [stranger.certificate]);
  await theirs.promise;
  await expect.poll(() => echo().catch(({ code }) => code), { interval: 20 }).toBe('echoed');
});

test.each([
  ['no file', () => join(home, 'nowhere'), 'tls.crt cannot be read'],
  [
    'a name of another component',
    () => folderOf(authority.issue(['catalog'])),
    'tls.crt does not have the DNS name probe',
  ],
  ['an expired certificate', () => folderOf(authority.issue(['probe'], { expired: true })), 'tls.crt has expired'],
  ['no certificate', () => folderOf({ certificate: 'x', key: 'y' }), 'tls.crt is not a PEM certificate'],
])('%s is refused at the start with a plain message [D14.212]', (_case, folder, message) => {
  expect(() => readCertificate(folder(), 'probe')).toThrow(message);
});

function folderOf(issued: TestCertificate, authorities: readonly string[] = [authority.certificate]): string {
  folders += 1;
  const folder = join(home, String(folders));
  writeTestCertificate(folder, issued, authorities);
  return folder;
}

function watched(component: string, issued: TestCertificate, authorities?: readonly string[]): WatchedCertificate {
  return watchCertificate({ folder: folderOf(issued, authorities), component });
}

/** What no reader of files would hand on: grpc-js has to refuse it. */
function handed({ certificate, key }: TestCertificate): WatchedCertificate {
  const parts = { certificate: Buffer.from(certificate), privateKey: Buffer.from(key) };
  const caCertificate = Buffer.from(authority.certificate);
  const provider: WatchedCertificate['provider'] = {
    addCaCertificateListener: (listener) => process.nextTick(() => listener({ caCertificate })),
    addIdentityCertificateListener: (listener) => process.nextTick(() => listener(parts)),
    removeCaCertificateListener: () => undefined,
    removeIdentityCertificateListener: () => undefined,
  };
  return { provider, current: () => ({ ...parts, authorities: caCertificate, expiresAt: new Date(0) }) };
}

function serve(issued: TestCertificate | undefined, authorities?: readonly string[], as = 'probe'): Promise<number> {
  return listen(issued && watched(as, issued, authorities));
}

async function listen(certificate: WatchedCertificate | undefined, maxConnectionAgeMs?: number): Promise<number> {
  const handlers = [implement(ProbeService, { read: ({ text }) => ({ text }) })];
  const server = rpcServer({ handlers, identity: identityOf('probe') });
  const listener = await serveGrpc({
    server,
    host: '127.0.0.1',
    port: 0,
    certificate,
    ...(maxConnectionAgeMs && { maxConnectionAgeMs }),
  });
  opened.push(() => listener.stop(1_000));
  return listener.port;
}

function channel(at: number | string, certificate: WatchedCertificate | undefined) {
  const address = typeof at === 'number' ? `127.0.0.1:${at}` : at;
  const transport = grpcTransport({ address, tls: certificate && { certificate, callee: 'probe' } });
  opened.push(() => transport.close());
  const probe = client(ProbeService, transport, gateway);
  return { echo: async () => (await probe.read({ text: 'echoed' }, { ...byGateway(), timeoutMs: 20_000 })).text };
}

function call(at: number | string, certificate: WatchedCertificate | undefined): Promise<string> {
  return channel(at, certificate).echo();
}

/** What a client sees that waits for the server's first word: with TLS 1.3 a refusal comes after the client's part. */
function handshake(port: number, own: { cert?: string; key?: string }): Promise<string> {
  return new Promise((resolve) => {
    const socket: TLSSocket = connect({
      ...own,
      ...{ host: '127.0.0.1', port, servername: 'probe', ca: authority.certificate, ALPNProtocols: ['h2'] },
    });
    const end = (answer: string) => {
      socket.destroy();
      resolve(answer);
    };
    socket.once('data', () => end('accepted'));
    socket.once('error', (error) => end(error.message));
    socket.once('close', () => end('closed'));
  });
}

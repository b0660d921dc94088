import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestCertificate, testAuthority, writeTestCertificate } from '@eligo/testkit/certificates';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type ConnectOptions, connectNats, type EventConnection, natsTlsProblem } from '../src/index.ts';
import { type NatsProcess, natsProcess } from './nats-process.ts';

const authority = testAuthority();
const stranger = testAuthority();
const opened: EventConnection[] = [];
let folder: string;
let server: NatsProcess;
let lines: { level: string; error: unknown; text: string }[];

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'eligo-nats-tls-'));
});
beforeEach(async () => {
  lines = [];
  // The server refuses clients without a certificate of the authority.
  const file = (name: string) => JSON.stringify(join(folder, 'server', name));
  const files = `cert_file: ${file('tls.crt')}, key_file: ${file('tls.key')}, ca_file: ${file('ca.crt')}`;
  server = await natsProcess(
    (listen, store) => `listen: "${listen}"\njetstream { store_dir: "${store}" }\ntls { ${files}, verify: true }\n`,
  );
  onServer(authority.issue(['nats.test', '127.0.0.1', 'localhost']));
  forClient(authority.issue(['alpha']));
});
afterEach(async () => {
  for (const connection of opened.splice(0)) await connection.close();
  await server.remove();
});
afterAll(() => rmSync(folder, { recursive: true }));

test.each(['127.0.0.1', 'localhost'])(
  'connects to %s by a private authority and a client certificate [D14.216]',
  async (host) => {
    await server.start();
    const { nats } = await connected(`nats://${host}:${server.port}`);
    expect(nats.info?.tls_required).toBe(true);
    // A warning may say that the server is old.
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
  },
);

test('reads the files again for each connection, and says why it waits meanwhile [D14.216]', async () => {
  await server.start();
  const connection = await connected();
  await server.kill();
  onServer(stranger.issue(['127.0.0.1']), stranger.certificate);
  await server.start();
  await expect.poll(() => connection.problem(), { interval: 20 }).toMatch(/unable to verify|self-signed/);
  expect(connection.isConnected()).toBe(false);
  const refusals = lines.filter(({ level }) => level === 'error');
  expect(refusals).toEqual([
    {
      level: 'error',
      error: connection.problem(),
      text: 'TLS handshake with NATS failed; check the certificate, host name and ELIGO_NATS_TLS_FOLDER',
    },
  ]);
  forClient(stranger.issue(['alpha']), stranger.certificate);
  await expect.poll(() => connection.isConnected(), { interval: 20 }).toBe(true);
  expect(connection.problem()).toBeUndefined();
});

test.each([
  ['of another authority', () => stranger.issue(['127.0.0.1']), /unable to verify|self-signed/],
  ['that has expired', () => authority.issue(['127.0.0.1'], { expired: true }), /certificate has expired/],
  ['of another address', () => authority.issue(['127.0.0.2', 'localhost']), /IP: 127\.0\.0\.1 is not in/],
])('refuses a server with a certificate %s, with one line of the log [D14.216]', async (_what, issue, reason) => {
  onServer(issue());
  await server.start();
  expect(await refusal()).toMatch(reason);
  expect(lines).toEqual([
    { level: 'error', error: expect.stringMatching(reason), text: expect.stringMatching(/^TLS handshake/) },
  ]);
});

test('says when the server refuses the client certificate, and when it offers no TLS [D14.216]', async () => {
  await server.start();
  rmSync(join(folder, 'client', 'tls.crt'));
  rmSync(join(folder, 'client', 'tls.key'));
  expect(await refusal({ acceptWithinMs: 300 })).toBe('no answer; the server may refuse the client certificate');
  await server.remove();
  server = await natsProcess();
  await server.start();
  expect(await refusal()).toBe('the server does not offer TLS');
});

test('a host name is checked by Node’s own authorities without a folder [D14.216]', async () => {
  await server.start();
  expect(await refusal({ url: `tls://localhost:${server.port}`, tlsFolder: undefined })).toMatch(
    /unable to verify|self-signed/,
  );
});

test('a folder is judged before anything connects [D14.216]', () => {
  const own = join(folder, 'judged');
  const put = (name: string, text: string) => {
    mkdirSync(own, { recursive: true });
    writeFileSync(join(own, name), text);
  };
  const { certificate, key } = authority.issue(['alpha']);
  expect(natsTlsProblem(own)).toBe('ca.crt cannot be read');
  put('ca.crt', 'no certificate');
  expect(natsTlsProblem(own)).toBe('ca.crt is not a PEM certificate');
  // An authority that has expired stands beside its successor while servers change over.
  const expired = authority.issue(['An old authority'], { expired: true }).certificate;
  put('ca.crt', `${expired}${authority.certificate}`);
  expect(natsTlsProblem(own)).toBeUndefined();
  put('tls.crt', certificate);
  expect(natsTlsProblem(own)).toBe('tls.key cannot be read');
  put('tls.key', authority.issue(['alpha']).key);
  expect(natsTlsProblem(own)).toBe('tls.key does not match tls.crt');
  put('tls.key', key);
  expect(natsTlsProblem(own)).toBeUndefined();
  put('tls.crt', authority.issue(['alpha'], { expired: true }).certificate);
  expect(natsTlsProblem(own)).toBe('tls.crt has expired');
});

function onServer(issued: TestCertificate, accepted = authority.certificate): void {
  writeTestCertificate(join(folder, 'server'), issued, [accepted]);
}

function forClient(issued: TestCertificate, accepted = authority.certificate): void {
  writeTestCertificate(join(folder, 'client'), issued, [accepted]);
}

function options(given: Partial<ConnectOptions> = {}): ConnectOptions {
  const note = (level: string) => (fields: object, text: string) => {
    lines.push({ level, error: 'error' in fields ? fields.error : undefined, text });
  };
  const logger = { info: note('info'), warn: note('warn'), error: note('error') };
  return { url: server.url, service: 'alpha', logger, tlsFolder: join(folder, 'client'), tellEveryMs: 200, ...given };
}

async function connected(url = server.url): Promise<EventConnection> {
  const connection = await connectNats(options({ url }));
  opened.push(connection);
  return connection;
}

/** The first reason why there is no connection. */
async function refusal(given: Partial<ConnectOptions> = {}): Promise<string> {
  const told = Promise.withResolvers<string>();
  const stopping = new AbortController();
  // A handshake that takes long is no reason to say that the server is unreachable.
  const asked = options({ tellEveryMs: 60_000, ...given });
  const connecting = connectNats({ ...asked, onUnreachable: told.resolve, signal: stopping.signal });
  const reason = await told.promise;
  stopping.abort();
  await expect(connecting).rejects.toThrow();
  return reason;
}

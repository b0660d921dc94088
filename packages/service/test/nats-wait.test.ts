import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventsMigrations } from '@eligo/events';
import { freePort } from '@eligo/ports';
import { testAuthority, writeTestCertificate } from '@eligo/testkit/certificates';
import { expect, test } from 'vitest';
import { natsProcess } from '../../events/test/nats-process.ts';
import { buildService, createLogger, type EnvironmentRecord, type Logger, operatorMigrations } from '../src/index.ts';
import { catalogEnvironment, logLines, serviceDatabase } from './support.ts';

test('a component that TLS to NATS keeps waiting is alive, not ready, and says why on its admin port [D14.216]', async () => {
  const database = await serviceDatabase('catalog');
  const home = mkdtempSync(join(tmpdir(), 'eligo-boot-'));
  const [authority, stranger] = [testAuthority(), testAuthority()];
  writeTestCertificate(join(home, 'nats'), authority.issue(['127.0.0.1']), [authority.certificate]);
  writeTestCertificate(join(home, 'catalog'), stranger.issue(['catalog']), [stranger.certificate]);
  const files = `cert_file: "${home}/nats/tls.crt", key_file: "${home}/nats/tls.key"`;
  const nats = await natsProcess(
    (listen, store) => `listen: "${listen}"\njetstream { store_dir: "${store}" }\ntls { ${files} }\n`,
  );
  await nats.start();
  const log = logLines();
  const logger = createLogger({ service: 'catalog', destination: log.destination });
  const adminPort = await freePort();
  const environment = {
    ...catalogEnvironment(database.url),
    ...{ NATS_URL: nats.url, ELIGO_NATS_TLS_FOLDER: join(home, 'catalog'), ADMIN_PORT: String(adminPort) },
  };
  const page = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${adminPort}${path}`);
    return { status: response.status, text: await response.text() };
  };
  const starting = build(environment, logger);
  await expect.poll(() => page('/readyz').catch(() => undefined), { interval: 20 }).toMatchObject({ status: 503 });
  expect(JSON.parse((await page('/readyz')).text)).toEqual({
    ...{ ready: false, status: 'unavailable', checks: { nats: 'failed' } },
    reasons: { nats: expect.stringMatching(/^NATS is unreachable: (?:unable to verify|self-signed)/) },
  });
  expect(await page('/healthz')).toMatchObject({ status: 200 });
  expect((await page('/metrics')).text).toMatch(/eligo_ready\{service="catalog"\} 0/);
  expect(log.lines().map(({ msg }) => msg)).toEqual([
    'TLS handshake with NATS failed; check the certificate, host name and ELIGO_NATS_TLS_FOLDER',
  ]);

  writeTestCertificate(join(home, 'catalog'), authority.issue(['catalog']), [authority.certificate]);
  const service = await starting;
  expect(await service.start()).toMatchObject({ adminPort });
  expect(JSON.parse((await page('/readyz')).text)).toMatchObject({ ready: true, status: 'ok' });
  await service.stop();
  await nats.remove();

  rmSync(join(home, 'catalog', 'ca.crt'));
  await expect(build(environment, logger)).rejects.toMatchObject({
    problems: ['ELIGO_NATS_TLS_FOLDER: ca.crt cannot be read'],
  });
  rmSync(home, { recursive: true });
  await database.drop();
});

test('a component whose NATS accepts connections and says nothing is alive before it dials, not ready, and starts when NATS answers [D14.135]', async () => {
  const database = await serviceDatabase('catalog');
  const nats = await natsProcess();
  await nats.start();
  const adminPort = await freePort();
  const page = async (path: string) => {
    const response = await fetch(`http://127.0.0.1:${adminPort}${path}`);
    return { status: response.status, body: await response.json() };
  };
  const { promise: dialed, resolve: isDialed } = Promise.withResolvers<void>();
  const held = new Set<Socket>();
  let isSilent = true;
  const listener = createServer((socket) => {
    socket.on('error', () => socket.destroy());
    held.add(socket);
    isDialed();
    if (isSilent) return;
    const server = connect(nats.port, '127.0.0.1').on('error', () => socket.destroy());
    socket.pipe(server).pipe(socket);
  }).listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const environment = {
    ...catalogEnvironment(database.url),
    ...{ NATS_URL: `nats://127.0.0.1:${port}`, ADMIN_PORT: String(adminPort) },
  };
  const starting = build(environment, createLogger({ service: 'catalog', level: 'silent' }));
  await dialed;
  expect(await page('/healthz')).toMatchObject({ status: 200 });
  expect(await page('/readyz')).toMatchObject({
    status: 503,
    body: { status: 'unavailable', checks: { nats: 'failed' }, reasons: { nats: 'NATS has not answered yet' } },
  });
  isSilent = false;
  for (const socket of held) socket.destroy();
  const service = await starting;
  expect(await page('/readyz')).toMatchObject({ status: 503, body: { checks: { starting: 'failed' } } });
  expect(await service.start()).toMatchObject({ adminPort });
  expect(await page('/readyz')).toMatchObject({ status: 200, body: { ready: true } });
  await service.stop();
  listener.close();
  await nats.remove();
  await database.drop();
});

test('a service logs Started once its gRPC port and its admin port accept connections [D14.220]', async () => {
  const database = await serviceDatabase('catalog');
  const ports = [await freePort(), await freePort()];
  const accepted: Promise<boolean>[] = [];
  const write = (line: string) => {
    if (JSON.parse(line).msg === 'Started') accepted.push(...ports.map(accepts));
  };
  const environment = {
    ...catalogEnvironment(database.url),
    ...{ GRPC_PORT: String(ports[0]), ADMIN_PORT: String(ports[1]) },
  };
  const service = await build(environment, createLogger({ service: 'catalog', destination: { write } }));
  await service.start();
  expect(await Promise.all(accepted)).toEqual([true, true]);
  await service.stop();
  await database.drop();
});

function build(environment: EnvironmentRecord, logger: Logger) {
  const migrations = [eventsMigrations, operatorMigrations];
  return buildService({ name: 'catalog', migrations, build: () => ({ handlers: [] }) }, { environment, logger });
}

/** Whether a connection that is begun now succeeds. */
function accepts(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(port, '127.0.0.1');
  socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
}

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventsMigrations } from '@eligo/events';
import { Failure } from '@eligo/failures';
import { openDatabase, withTx } from '@eligo/postgres';
import { CatalogService } from '@eligo/proto/catalog/v1/catalog';
import { client, implement, inProcessTransport } from '@eligo/rpc';
import { grpcTransport, watchCertificate } from '@eligo/rpc/grpc';
import { testAuthority, writeTestCertificate } from '@eligo/testkit/certificates';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import {
  type BuiltService,
  buildService,
  createLogger,
  declareFailpoints,
  EnvironmentProblems,
  listOperatorActions,
  NotReady,
  operatorMigrations,
  type Service,
  type ServiceComposition,
  type ServiceContext,
  type ServiceParts,
  wakeJobAfterCommit,
} from '../src/index.ts';
import { catalogEnvironment, headersAs, identityOf, keys, logLines, serviceDatabase } from './support.ts';

declareFailpoints(['boot.test']);
let database: Awaited<ReturnType<typeof serviceDatabase>>;
const running: Service[] = [];

beforeAll(async () => {
  database = await serviceDatabase('catalog');
});
afterEach(async () => {
  for (const service of running.splice(0)) await service.stop();
});
afterAll(() => database.drop());

test('a composition is served over gRPC, in process and as Connect/JSON, and is ready', async () => {
  const service = await start();
  const ports = await service.start();
  const gateway = identityOf('gateway');
  const call = { caller: gateway.callerFor({ accountId: 'facct_1', testMode: true }), requestId: 'req_boot' };
  const grpc = grpcTransport({ address: `127.0.0.1:${ports.grpcPort}` });
  for (const transport of [grpc, inProcessTransport(service.server, { encode: true })]) {
    const catalog = client(CatalogService, transport, gateway);
    const priced = await catalog.getPrice({ id: 'fprice_1' }, call);
    expect(priced).toMatchObject({ priceId: 'fprice_1', productId: 'facct_1' });
  }
  grpc.close();
  expect(await service.ready()).toEqual({
    ...{ ready: true, status: 'ok' },
    checks: { postgres: 'ok', migrations: 'ok', nats: 'ok' },
  });
  expect(await admin(ports.adminPort, '/healthz')).toMatchObject({ status: 200, body: { status: 'ok' } });
  expect(await admin(ports.adminPort, '/readyz')).toMatchObject({ status: 200, body: { ready: true } });
  const metrics = await admin(ports.adminPort, '/metrics');
  expect(metrics.text).toMatch(/eligo_rpc_server_seconds_count\{[^}]*method="GetPrice"[^}]*\} 2/);
  expect(metrics.text).toContain('nodejs_eventloop_lag_seconds');
  expect(metrics.text).toMatch(/eligo_outbox_waiting\{service="catalog"\} 0/);
  expect(metrics.text).toMatch(/eligo_pool_connections/);
  const release = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8')).version as string;
  expect(metrics.text).toContain(`eligo_build_info{version="${release}",service="catalog"} 1`);
  expect(metrics.text).toMatch(/eligo_ready\{service="catalog"\} 1/);
  expect(metrics.text).toMatch(/eligo_readiness_check\{check="nats",service="catalog"\} 1/);
  const path = '/eligo.catalog.v1.CatalogService/GetPrice';
  const asked = { method: 'POST', body: JSON.stringify({ id: 'fprice_1' }) };
  expect(await admin(ports.adminPort, path, asked)).toMatchObject({ status: 401 });
  const called = { method: 'catalog.GetPrice', scope: { accountId: 'facct_9', testMode: true }, body: asked.body };
  const headers = headersAs('Ada', called);
  expect(await admin(ports.adminPort, path, { ...asked, headers })).toMatchObject({
    status: 200,
    body: { priceId: 'fprice_1', productId: 'facct_9' },
  });
  const [recorded] = await listOperatorActions(service.database, { most: 1 });
  expect(recorded).toMatchObject({ operator_name: 'Ada', action: 'catalog.GetPrice', account_id: 'facct_9' });
  expect(await admin(ports.adminPort, path, { ...asked, headers })).toMatchObject({ status: 401 });
  expect(await listOperatorActions(service.database, { most: 9 })).toEqual([recorded]);
  const { text } = await admin(ports.adminPort, '/metrics');
  const counts = [...text.matchAll(/calls_refused_total\{reason="(\w+)"[^}]*\} (\d+)/g)].map(([, ...one]) => one);
  // The reasons that have not occurred are there as well: a rule sees their first count.
  expect(Object.fromEntries(counts)).toEqual({
    ...{ no_login: '1', expired_login: '0', invalid_login: '0' },
    ...{ no_proof: '0', expired_proof: '0', invalid_proof: '0', used_proof: '1' },
  });
  // The component's own key signs no login, and what another component received opens nothing here.
  const asEve = headersAs('Eve', called, keys.privateKeys.catalog);
  for (const headers of [asEve, headersAs('Ada', { ...called, method: 'billing.GetPrice' })])
    expect(await admin(ports.adminPort, path, { ...asked, headers })).toMatchObject({ status: 401 });
});

test('stopping is not ready, refuses new calls, finishes calls in flight, and closes in order', async () => {
  const log = logLines();
  let release: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  let stopped = false;
  const service = await start(
    {
      getPrice: async (request) => {
        await held;
        return { priceId: request.id };
      },
    },
    {
      stop: async () => {
        stopped = true;
      },
    },
    { logger: createLogger({ service: 'catalog', destination: log.destination }) },
  );
  const { adminPort } = await service.start();
  const gateway = identityOf('gateway');
  const catalog = client(CatalogService, inProcessTransport(service.server), gateway);
  const call = { caller: gateway.callerFor({ accountId: 'facct_1', testMode: true }) };
  const underWay = catalog.getPrice({ id: 'fprice_1' }, call);
  const stopping = service.stop();

  expect(await admin(adminPort, '/readyz')).toMatchObject({ status: 503 });
  await expect(catalog.updatePrice({ id: 'fprice_1' }, call)).rejects.toMatchObject({ code: 14 });
  expect(stopped).toBe(false);
  release();
  expect(await underWay).toMatchObject({ priceId: 'fprice_1' });
  await stopping;
  expect(stopped).toBe(true);
  // An old NATS server is a warning among them.
  const told = log.lines().filter(({ level }) => level === 'info');
  expect(told.map(({ msg }) => msg)).toEqual(['Started', 'Stopping', 'Stopped']);
  await expect(admin(adminPort, '/healthz')).rejects.toThrow();
});

test('a component serves on for the drain delay after it has become not ready [D14.135]', async () => {
  // Long enough for the requests below on a slow machine.
  const environment = { ...catalogEnvironment(database.url), ELIGO_DRAIN_DELAY_MS: '3000' };
  const service = await start(undefined, {}, { environment });
  const { adminPort } = await service.start();
  const gateway = identityOf('gateway');
  const catalog = client(CatalogService, inProcessTransport(service.server), gateway);
  const call = { caller: gateway.callerFor({ accountId: 'facct_1', testMode: true }) };
  const stopping = service.stop();
  expect(await admin(adminPort, '/readyz')).toMatchObject({ status: 503, body: { status: 'unavailable' } });
  expect(await admin(adminPort, '/healthz')).toMatchObject({ status: 200 });
  expect(await catalog.getPrice({ id: 'fprice_1' }, call)).toMatchObject({ priceId: 'fprice_1' });
  await stopping;
  await expect(catalog.getPrice({ id: 'fprice_1' }, call)).rejects.toMatchObject({ code: 14 });
});

test('a component whose events do not get through is degraded, and serves on [D14.135]', async () => {
  const silent: ServiceParts['connectEvents'] = async () => ({
    check: () => Promise.reject(new NotReady('NATS is disconnected: connection refused')),
    startRelay: () => ({ stop: async () => undefined }),
    startConsumer: () => ({ stop: async () => undefined }),
    close: async () => undefined,
  });
  const service = await start(undefined, {}, { connectEvents: silent });
  const { adminPort } = await service.start();
  expect(await admin(adminPort, '/readyz')).toMatchObject({
    status: 200,
    body: {
      ...{ ready: true, status: 'degraded', checks: { postgres: 'ok', nats: 'failed' } },
      reasons: { nats: 'NATS is disconnected: connection refused' },
    },
  });
});

test('a service whose migrations are not all applied is not ready', async () => {
  const missing = { name: 'missing', directory: new URL('./migrations', import.meta.url).pathname };
  const service = await start({}, {}, {}, [eventsMigrations, operatorMigrations, missing]);
  await service.start();
  expect(await service.ready()).toMatchObject({ ready: false, checks: { postgres: 'ok', migrations: 'failed' } });
});

test('an unexpected error is logged with its request id and leaves without its text', async () => {
  const log = logLines();
  const service = await start(
    {
      getPrice: () => {
        throw new Error('secret thing "whsec_c2VjcmV0c2VjcmV0"');
      },
      getProduct: () => {
        throw new Failure('product_not_found');
      },
    },
    {},
    { logger: createLogger({ service: 'catalog', destination: log.destination }) },
  );
  const gateway = identityOf('gateway');
  const catalog = client(CatalogService, inProcessTransport(service.server), gateway);
  const call = { caller: gateway.callerFor({ accountId: 'facct_1', testMode: true }), requestId: 'req_seen' };
  await expect(catalog.getPrice({ id: 'x' }, call)).rejects.toMatchObject({ code: 13, rawMessage: '' });
  await expect(catalog.getProduct({ id: 'x' }, call)).rejects.toMatchObject({ code: 'product_not_found' });
  expect(log.lines().filter(({ level }) => level === 'error')).toEqual([
    expect.objectContaining({ requestId: 'req_seen', method: 'GetPrice', from: 'gateway' }),
  ]);
  expect(log.text()).not.toContain('whsec_');
});

test('a login that Postgres refuses is logged with its role and host, and without its password [D14.220]', async () => {
  const log = logLines();
  const url = new URL(database.url);
  url.password = 'not-the-password';
  const service = await start(
    {},
    {},
    {
      environment: catalogEnvironment(url.href),
      logger: createLogger({ service: 'catalog', destination: log.destination }),
    },
  );
  expect(await service.ready()).toMatchObject({ ready: false });
  expect(await service.ready()).toMatchObject({ ready: false });
  expect(log.lines().filter(({ msg }) => String(msg).includes('refused the login'))).toEqual([
    expect.objectContaining({
      ...{ level: 'error', role: url.username, database: expect.any(String), sqlState: '28P01' },
      host: url.searchParams.get('host') ?? url.hostname,
    }),
  ]);
  expect(log.text()).not.toContain('not-the-password');
});

test('everything that is missing from the environment is reported at once, and no value is repeated', async () => {
  const environment = { ELIGO_ENV: 'prod-like-secret', ELIGO_OPERATOR_PUBLIC_KEY: 'short', GRPC_PORT: 'many' };
  const failed = buildService(composition({}, {}), { environment }).catch((error: unknown) => error);
  const error = (await failed) as EnvironmentProblems;
  expect(error).toBeInstanceOf(EnvironmentProblems);
  expect(error.problems).toEqual([
    'ELIGO_ENV must be one of development, test, production',
    'CATALOG_DATABASE_URL is missing',
    'NATS_URL is missing',
    'GRPC_PORT must be a whole number from 0 to 65535',
    'ELIGO_OPERATOR_PUBLIC_KEY must be an Ed25519 public key in base64 (SPKI)',
    'ELIGO_SERVICE_KEY is missing',
    'ELIGO_SERVICE_PUBLIC_KEYS is missing',
  ]);
  expect(error.message).not.toContain('short');
});

test('an outage of the database takes its own numbers from the metrics, and no others', async () => {
  const nowhere = openDatabase({
    url: 'postgres://eligo_catalog@127.0.0.1:1/none',
    applicationName: 'x',
    onError: () => undefined,
  });
  const service = await start({}, {}, { database: nowhere });
  const { adminPort } = await service.start();
  const metrics = await admin(adminPort, '/metrics');
  expect(metrics.status).toBe(200);
  expect(metrics.text).toMatch(/eligo_rpc_in_flight\{service="catalog"\} 0/);
  expect(metrics.text).toMatch(/eligo_pool_connections\{service="catalog"\} 0/);
  expect(metrics.text).not.toMatch(/^eligo_outbox_waiting\{/m);
  expect(metrics.text).toMatch(/eligo_ready\{service="catalog"\} 0/);
  expect(metrics.text).toMatch(/eligo_readiness_check\{check="postgres",service="catalog"\} 0/);
});

test('failpoints are armed, seen and released over the admin port', async () => {
  const service = await start({
    getPrice: async (request, _call) => {
      await contexts.at(-1)?.failpoint('boot.test');
      return { priceId: request.id };
    },
  });
  const { adminPort } = await service.start();
  const gateway = identityOf('gateway');
  const catalog = client(CatalogService, inProcessTransport(service.server), gateway);
  const call = { caller: gateway.callerFor({ accountId: 'facct_1', testMode: true }) };
  const arm = (body: object) =>
    admin(adminPort, '/failpoints/boot.test', { method: 'PUT', body: JSON.stringify(body) });

  expect(await arm({ action: 'error', skip: 1 })).toMatchObject({ status: 200, body: { armed: { skip: 1 } } });
  expect(await catalog.getPrice({ id: 'a' }, call)).toMatchObject({ priceId: 'a' });
  await expect(catalog.getPrice({ id: 'b' }, call)).rejects.toMatchObject({ code: 13 });
  expect(await catalog.getPrice({ id: 'c' }, call)).toMatchObject({ priceId: 'c' });

  await arm({ action: 'pause' });
  const paused = catalog.getPrice({ id: 'd' }, call);
  expect(await admin(adminPort, '/failpoints/boot.test/reached')).toMatchObject({ body: { waiting: 1 } });
  await admin(adminPort, '/failpoints/boot.test', { method: 'DELETE' });
  expect(await paused).toMatchObject({ priceId: 'd' });

  expect(await arm({ action: 'explode' })).toMatchObject({ status: 422 });
  expect(await admin(adminPort, '/failpoints/no.such')).toMatchObject({ status: 404 });
});

test('a commit wakes the job that it names, and a rollback does not', async () => {
  let runs = 0;
  const first = Promise.withResolvers<void>();
  const second = Promise.withResolvers<void>();
  const run = async () => {
    runs += 1;
    (runs === 1 ? first : second).resolve();
  };
  const service = await start({}, { jobs: [{ name: 'look', everyMs: 3_600_000, run }] });
  await service.start();
  await first.promise;
  const rolledBack = withTx(service.database, null, async (tx) => {
    wakeJobAfterCommit(tx, 'look');
    throw new Error('undone');
  });
  await expect(rolledBack).rejects.toThrow('undone');
  await withTx(service.database, null, () => Promise.resolve());
  expect(runs).toBe(1);
  await withTx(service.database, null, async (tx) => wakeJobAfterCommit(tx, 'look'));
  await second.promise;
});

const contexts: ServiceContext[] = [];

test('with ELIGO_TLS_FOLDER a service takes calls over mutual TLS only, and says when its certificate ends [D14.212] [D14.213]', async () => {
  const home = mkdtempSync(join(tmpdir(), 'eligo-boot-'));
  const authority = testAuthority();
  for (const name of ['catalog', 'gateway']) {
    writeTestCertificate(join(home, name), authority.issue([name]), [authority.certificate]);
  }
  const environment = { ...catalogEnvironment(database.url), ELIGO_TLS_FOLDER: join(home, 'catalog') };
  const service = await start(undefined, {}, { environment });
  const ports = await service.start();
  const gateway = identityOf('gateway');
  const certificate = watchCertificate({ folder: join(home, 'gateway'), component: 'gateway' });
  const address = `https://127.0.0.1:${ports.grpcPort}`;
  const [byTls, plain] = [
    grpcTransport({ address, tls: { certificate, callee: 'catalog' } }),
    grpcTransport({ address }),
  ];
  const ask = (transport: typeof byTls) => {
    const caller = gateway.callerFor({ accountId: 'facct_1', testMode: true });
    return client(CatalogService, transport, gateway).getPrice({ id: 'fprice_1' }, { caller, requestId: 'req_tls' });
  };
  expect(await ask(byTls)).toMatchObject({ priceId: 'fprice_1' });
  await expect(ask(plain)).rejects.toThrow();
  byTls.close();
  plain.close();
  const { text } = await admin(ports.adminPort, '/metrics');
  const [, left] = /eligo_certificate_expires_seconds\{service="catalog"\} (\d+)/.exec(text) ?? [];
  expect(Number(left)).toBeGreaterThan(3_000);

  const misplaced = { ...environment, ELIGO_TLS_FOLDER: join(home, 'gateway') };
  const weak = { ...misplaced, CATALOG_DATABASE_URL: `${database.url}?sslmode=require` };
  await expect(start(undefined, {}, { environment: weak })).rejects.toMatchObject({
    problems: [
      'CATALOG_DATABASE_URL: sslmode must be verify-full or disable',
      'ELIGO_TLS_FOLDER: tls.crt does not have the DNS name catalog',
    ],
  });
  rmSync(home, { recursive: true });
});

test('an address of a peer with https needs a certificate [D14.212]', async () => {
  const build: ServiceComposition['build'] = (context) => {
    context.client(CatalogService);
    return { handlers: [] };
  };
  const environment = { ...catalogEnvironment(database.url), CATALOG_URL: 'https://catalog:9000' };
  const logger = createLogger({ service: 'catalog', level: 'silent' });
  const built = buildService({ ...composition({}, {}), build }, { environment, logger });
  await expect(built).rejects.toThrow('CATALOG_URL is https, which needs ELIGO_TLS_FOLDER');
});

async function start(
  implementation: Parameters<typeof composition>[0] = {
    getPrice: (request, call) => ({ priceId: request.id, productId: call.scope.accountId }),
  },
  rest: Parameters<typeof composition>[1] = {},
  parts: Partial<ServiceParts> = {},
  migrations = [eventsMigrations, operatorMigrations],
): Promise<Service> {
  const service = await buildService(composition(implementation, rest, migrations), {
    environment: catalogEnvironment(database.url),
    logger: createLogger({ service: 'catalog', level: 'silent' }),
    ...parts,
  });
  running.push(service);
  return service;
}

function composition(
  implementation: Parameters<typeof implement<typeof CatalogService>>[1],
  rest: Partial<Pick<BuiltService, 'jobs' | 'stop'>>,
  migrations = [eventsMigrations, operatorMigrations],
): ServiceComposition {
  return {
    name: 'catalog',
    migrations,
    build(context) {
      contexts.push(context);
      return { handlers: [implement(CatalogService, implementation)], ...rest };
    },
  };
}

async function admin(port: number, path: string, init: RequestInit = {}) {
  const headers = { 'content-type': 'application/json', ...init.headers };
  const response = await fetch(`http://127.0.0.1:${port}${path}`, { ...init, headers });
  const text = await response.text();
  const body: unknown = text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : undefined;
  return { status: response.status, text, body };
}

import { randomBytes } from 'node:crypto';
import { Resolver } from 'node:dns/promises';
import { type ConsumerDefinition, handleOnce, handleTogether } from '@eligo/events';
import type { Scope } from '@eligo/postgres';
import { WebhooksService } from '@eligo/proto/webhooks/v1/webhooks';
import { client, generateComponentKeys, inProcessTransport, openIdentity } from '@eligo/rpc';
import { buildService, createLogger, EnvironmentProblems, ForeignKeyring, type Service } from '@eligo/service';
import { type TestDatabase, testDatabase, waitUntil } from '@eligo/testkit';
import { afterAll, afterEach, beforeAll, expect, it, onTestFinished, vi } from 'vitest';
import { webhooksService } from '../src/service.ts';
import { receiver, refundEvent, someScope } from './fixture.ts';

const { privateKeys, publicKeys } = generateComponentKeys(['gateway', 'webhooks']);
const gateway = openIdentity({ name: 'gateway', privateKey: privateKeys.gateway ?? '', publicKeys });
const keyring = newKeyring();
const services: Service[] = [];
const consumers: ConsumerDefinition[] = [];
let place: TestDatabase;

beforeAll(async () => {
  place = await testDatabase(webhooksService);
});
afterEach(async () => {
  for (const service of services.splice(0)) await service.stop();
});
afterAll(() => place?.drop());

it('neither registers an endpoint in a network that the operator denies, nor delivers to one that was registered before [D14.134]', async () => {
  const scope = someScope();
  const to = await receiver();
  onTestFinished(() => to.close());
  const open = await build({ ELIGO_WEBHOOK_TARGETS: 'loopback' });
  await register(open, scope, to.url);
  await open.stop();

  const denied = { ELIGO_WEBHOOK_TARGETS: 'loopback', ELIGO_WEBHOOK_DENIED_NETWORKS: '198.51.100.0/24, 127.0.0.0/8' };
  const strict = await build(denied);
  await expect(register(strict, scope, to.url)).rejects.toMatchObject({
    violations: [{ type: 'webhook_url_not_allowed' }],
  });
  await strict.start();
  const [consumer] = consumers;
  if (consumer === undefined) throw new Error('the service has no consumer');
  await handleOnce(strict.database, consumer.consumer, refundEvent(scope), consumer.handle);
  await strict.jobs.runOnce('deliver');
  const [attempt] = await waitUntil(async () => {
    const rows = await place.admin('select error, response_status from webhooks.attempts where account_id = $1', [
      scope.accountId,
    ]);
    return rows.length > 0 && rows;
  });
  expect(attempt).toMatchObject({ error: 'the host is not public', response_status: null });
  expect(to.received).toEqual([]);
});

it('delivers to a name by a look-up of its own, without the threads of the system [D14.134]', async () => {
  const scope = someScope();
  const to = await receiver();
  onTestFinished(() => to.close());
  const asked: string[] = [];
  const [v4, v6] = [vi.spyOn(Resolver.prototype, 'resolve4'), vi.spyOn(Resolver.prototype, 'resolve6')];
  onTestFinished(() => [v4, v6].forEach((spy) => void spy.mockRestore()));
  v4.mockImplementation((async (host: string) => {
    asked.push(host);
    return [{ address: '127.0.0.1', ttl: 60 }];
  }) as unknown as Resolver['resolve4']);
  v6.mockRejectedValue(Object.assign(new Error('no such record'), { code: 'ENODATA' }));
  consumers.length = 0;
  const service = await build({ ELIGO_WEBHOOK_TARGETS: 'loopback' });
  await register(service, scope, to.url.replace('127.0.0.1', 'shop.example'));
  await service.start();
  const [consumer] = consumers;
  if (consumer === undefined) throw new Error('the service has no consumer');
  await handleOnce(service.database, consumer.consumer, refundEvent(scope), consumer.handle);
  await waitUntil(() => to.received.length === 1);
  expect(asked).toEqual(['shop.example']);
});

it('plans the events that many endpoints want by its job, which the consumer wakes [D14.313]', async () => {
  const scope = someScope();
  consumers.length = 0;
  const service = await build({ ELIGO_WEBHOOK_TARGETS: 'loopback' });
  // They have no lanes, so that nothing is sent to them.
  await place.admin(
    `insert into webhooks.endpoints (account_id, test_mode, id, url, events, status, created_at)
     select $1, true, 'fwh_' || n, 'http://127.0.0.1/', '{*}', 'enabled', now() from generate_series(1, 17) n`,
    [scope.accountId],
  );
  await service.start();
  const [consumer] = consumers;
  const handleAll = consumer?.handleAll;
  if (consumer === undefined || handleAll === undefined) throw new Error('the service has no consumer');
  const planned = async (count: number, withinMs: number) => {
    const isPlanned = async () =>
      (await place.admin('select 1 from webhooks.deliveries where account_id = $1', [scope.accountId])).length ===
      count;
    await waitUntil(isPlanned, { withinMs });
    // What runs has ended.
    for (let runs = 0; runs < 2; runs++) await service.jobs.runOnce('fan-out');
  };
  const batch = () =>
    handleTogether(
      service.database,
      consumer.consumer,
      [refundEvent(scope), ...Array.from({ length: 63 }, () => refundEvent(scope))],
      handleAll,
    );
  await batch();
  await planned(64 * 17, 30_000);
  await batch();
  // Without the wake-up it waits for ten seconds.
  await planned(2 * 64 * 17, 8_000);
});

it.each(['198.51.100.0', 'intranet', '198.51.100.0/24;10.0.0.0/8', '198.51.100.0/33'])(
  'does not start with a list of denied networks that has %s in it [D14.134]',
  async (networks) => {
    await expect(build({ ELIGO_WEBHOOK_DENIED_NETWORKS: networks })).rejects.toMatchObject({
      problems: ['ELIGO_WEBHOOK_DENIED_NETWORKS must be a comma-separated list of networks (203.0.113.0/24)'],
    });
    await expect(build({ ELIGO_WEBHOOK_DENIED_NETWORKS: networks })).rejects.toBeInstanceOf(EnvironmentProblems);
  },
);

it("does not start with a keyring that is not the installation's, and is not ready until it can compare it [D14.224]", async () => {
  await build({});
  await expect(build({ ELIGO_KEYRING: newKeyring() })).rejects.toBeInstanceOf(ForeignKeyring);
  const away = await build({ WEBHOOKS_DATABASE_URL: 'postgres://eligo_webhooks:none@127.0.0.1:1/none' });
  expect(await away.ready()).toMatchObject({ ready: false, checks: { keyring: 'failed' } });
});

async function build(environment: Readonly<Record<string, string>>): Promise<Service> {
  const service = await buildService(webhooksService, {
    environment: {
      ...{ ELIGO_ENV: 'test', ELIGO_KEYRING: keyring, NATS_URL: 'nats://127.0.0.1:1' },
      ...{ ELIGO_SERVICE_KEY: privateKeys.webhooks, ELIGO_SERVICE_PUBLIC_KEYS: JSON.stringify(publicKeys) },
      ...{ WEBHOOKS_DATABASE_URL: place.urlOf('webhooks') },
      ...environment,
    },
    logger: createLogger({ service: 'webhooks', level: 'silent' }),
    connectEvents: async () => ({
      check: async () => undefined,
      startRelay: () => ({ stop: async () => undefined }),
      startConsumer: (_database, definition) => {
        consumers.push(definition);
        return { stop: async () => undefined };
      },
      close: async () => undefined,
    }),
  });
  services.push(service);
  return service;
}

function register(service: Service, scope: Scope, url: string) {
  const webhooks = client(WebhooksService, inProcessTransport(service.server), gateway);
  return webhooks.createEndpoint(
    { url, events: ['refund.created'] },
    { caller: gateway.callerFor(scope), timeoutMs: 30_000 },
  );
}

function newKeyring(): string {
  return `k1:${randomBytes(32).toString('base64')}`;
}

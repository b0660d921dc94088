import { randomBytes } from 'node:crypto';
import type { Database } from '@eligo/postgres';
import { generateComponentKeys, openIdentity } from '@eligo/rpc';
import { createLogger, type DiskWatch, type Logger } from '@eligo/service';
import { type Api, apiClient, type TestDatabase, testDatabase } from '@eligo/testkit';
import { createAccount, createKey, type Gateway, gatewayService, openGateway } from '../src/index.ts';
import { type FakePeers, fakePeers } from './fake-peers.ts';

/** A gateway on a database of its own, with fake peers. */
export interface TestGateway {
  readonly gateway: Gateway;
  readonly url: string;
  readonly peers: FakePeers;
  readonly database: Database;
  readonly databases: TestDatabase;
  readonly accountId: string;
  /** A client with a test key that has no rate limit. */
  readonly api: Api & { keyId: string };
  /** What the gateway has logged. */
  readonly log: string[];
  /** A new key of the account and a client for it. */
  newApi(options?: Partial<Parameters<typeof createKey>[1]>): Promise<Api & { keyId: string }>;
  /** Another gateway on the same database, whose log may go elsewhere and whose disk may be another. */
  another(environment?: Record<string, string>, logger?: Logger, disk?: DiskWatch): Promise<Gateway>;
  stop(): Promise<void>;
}

export const testPageKey = randomBytes(32).toString('base64');

const components = ['gateway', 'catalog', 'checkout', 'billing', 'refunds', 'webhooks'];

export async function openTestGateway(environment: Record<string, string> = {}): Promise<TestGateway> {
  const databases = await testDatabase(gatewayService);
  const database = databases.open('gateway');
  const keys = generateComponentKeys(components);
  const identityOf = (name: string) =>
    openIdentity({ name, privateKey: keys.privateKeys[name] ?? '', publicKeys: keys.publicKeys });
  const account = await createAccount(database, { name: 'A shop' });
  const accountId = account.account_id;
  const peers = fakePeers(accountId, identityOf);
  const log: string[] = [];
  const logger = createLogger({ service: 'gateway', level: 'debug', destination: { write: (line) => log.push(line) } });
  const base = {
    ELIGO_ENV: 'test',
    PORT: '0',
    GATEWAY_DATABASE_URL: databases.urlOf('gateway'),
    NATS_URL: 'nats://127.0.0.1:1',
    ELIGO_PAGE_KEY: testPageKey,
    ELIGO_SANDBOX_PUBLIC_URL: 'https://cards.example',
    ELIGO_SERVICE_KEY: keys.privateKeys.gateway,
    ELIGO_SERVICE_PUBLIC_KEYS: JSON.stringify(keys.publicKeys),
  };
  const opened: Gateway[] = [];
  const another: TestGateway['another'] = async (more = {}, itsLogger = logger, disk) => {
    const gateway = await openGateway({
      environment: { ...base, ...environment, ...more },
      transportTo: peers.transportTo,
      connectEvents: async () => noEvents,
      ...{ logger: itsLogger, disk },
    });
    opened.push(gateway);
    return gateway;
  };
  const gateway = await another();
  const newApi: TestGateway['newApi'] = async (options = {}) => {
    const key = await createKey(database, { accountId, testMode: true, rateLimit: 0, ...options });
    return { ...apiClient(gateway.url, key.api_key), keyId: key.key_id };
  };
  return {
    ...{ gateway, url: gateway.url, peers, database, databases, accountId, log, newApi, another },
    api: await newApi(),
    async stop() {
      for (const one of opened) await one.stop();
      await databases.drop();
    },
  };
}

// The bus is not what these tests are about: nothing is published, and nothing fails.
const nothing = { stop: async () => undefined };
const noEvents = {
  check: async () => undefined,
  startRelay: () => nothing,
  startConsumer: () => nothing,
  close: async () => undefined,
};

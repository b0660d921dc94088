import { installationOf } from '@eligo/postgres/roles';
import { type ComponentName, perComponent } from './components.ts';
import type { Variables } from './environment.ts';
import type { Home } from './home.ts';
import { installationNameOf } from './installation-name.ts';
import { maxFileStore, natsConfiguration } from './nats/configuration.ts';
import { givenNatsUrls, refuseUrlsWithoutShared } from './nats/given-urls.ts';
import { tellIfOldAt } from './nats/old-server.ts';
import { startNats } from './nats/server.ts';
import { databaseUrls, ensureDatabase, socketUrl } from './postgres/database.ts';
import { startPostgres } from './postgres/server.ts';
import type { Preparation } from './preparation.ts';
import type { Processes } from './processes.ts';
import { sandboxEventsUrl, startSandboxProcess } from './sandbox.ts';
import type { Secrets } from './secrets.ts';

/** What the components stand on: embedded, or what the environment names instead. */
export interface Servers {
  readonly postgres: string;
  readonly databases: Readonly<Record<ComponentName, string>>;
  /** Whose the database's roles are; '' for the installation without a name. */
  readonly installation: string;
  readonly nats: string;
  readonly natsUrlOf: (name: ComponentName) => string;
  readonly processor: { readonly url: string; readonly key: string };
  /** What is to be prepared; nothing for databases that were named one by one without DATABASE_URL. */
  readonly toPrepare?: Preparation['database'];
  /** From now on, hears of every server that was started again. */
  onRestarted(listener: () => void): void;
}

interface Context {
  readonly home: Home;
  readonly secrets: Secrets;
  readonly environment: Variables;
  /** The gateway's address, where the sandbox sends its events. */
  readonly gatewayUrl: string;
  readonly processes: Processes;
  readonly onNews: (text: string) => void;
  readonly onTrouble: (text: string) => void;
  readonly longestRestartDelayMs?: number | undefined;
}

const databaseName = 'eligo';

/** Starts Postgres, NATS and the sandbox processor side by side, but for those that the environment names. */
export async function startServers(context: Context): Promise<Servers> {
  let restarted: () => void = () => undefined;
  const hooks = {
    onTrouble: context.onTrouble,
    onRestarted: () => restarted(),
    longestRestartDelayMs: context.longestRestartDelayMs,
  };
  const starting = [openPostgres(context, hooks), openNats(context, hooks), openProcessor(context, hooks)] as const;
  // All are waited for first, so that after a failure nothing is still on its way up.
  await Promise.allSettled(starting);
  const [postgres, nats, processor] = await Promise.all(starting);
  return {
    ...postgres,
    ...nats,
    processor,
    onRestarted: (listener) => {
      restarted = listener;
    },
  };
}

interface Hooks {
  readonly onTrouble: (text: string) => void;
  readonly onRestarted: () => void;
  readonly longestRestartDelayMs: number | undefined;
}

async function openPostgres({ home, secrets, environment, processes }: Context, hooks: Hooks) {
  const given = (name: ComponentName) => environment[`${name.toUpperCase()}_DATABASE_URL`];
  const allGiven = Object.values(perComponent(given)).every(Boolean);
  const isPrepared = !environment.DATABASE_URL && allGiven;
  const url = environment.DATABASE_URL || (isPrepared ? (given('gateway') ?? '') : undefined);
  const { adminUrl, componentUrl } = url === undefined ? await embedded() : { adminUrl: url, componentUrl: url };
  const passwords = secrets.databasePasswords;
  if (isPrepared) return { postgres: adminUrl, databases: perComponent((name) => given(name) ?? ''), installation: '' };
  // A server of the home's own has no other installation beside it, and its passwords are the home's.
  const isEmbedded = !environment.DATABASE_URL;
  const installation = await installationOf(adminUrl, {
    installation: environment.ELIGO_INSTALLATION || undefined,
    newInstallation: isEmbedded ? '' : installationNameOf(home),
  });
  const urls = databaseUrls(componentUrl, passwords, installation);
  return {
    postgres: adminUrl,
    databases: perComponent((name) => given(name) || urls.components[name]),
    installation,
    toPrepare: { adminUrl, passwords, installation, newPasswords: isEmbedded },
  };

  // Over the embedded server's Unix socket a round trip costs less CPU than over TCP; tools are given the TCP address.
  async function embedded(): Promise<{ adminUrl: string; componentUrl: string }> {
    const server = await startPostgres(home, { password: secrets.postgresPassword, ...hooks });
    processes.add(server.process, null);
    const own = await ensureDatabase(server.url, databaseName);
    return { adminUrl: own, componentUrl: server.socketFolder ? socketUrl(own, server.socketFolder) : own };
  }
}

async function openNats({ home, secrets, environment, processes, onNews }: Context, hooks: Hooks) {
  const given = environment.NATS_URL;
  if (given) {
    await tellIfOldAt(given, onNews);
    return { nats: given, natsUrlOf: givenNatsUrls(given, environment, onNews) };
  }
  refuseUrlsWithoutShared(environment);
  const room = { maxFileStore: maxFileStore(environment.ELIGO_NATS_STORE_GB) };
  const server = await startNats(home, {
    configuration: (place) => natsConfiguration({ ...place, ...room }, (name) => secrets.natsPasswords[name]),
    watchUrl: (place) => `nats://admin:${secrets.natsPasswords.admin}@${place.host}:${place.port}`,
    onNews,
    ...hooks,
  });
  processes.add(server.process, null);
  const urlOf = (name: ComponentName | 'admin') =>
    `nats://${name}:${secrets.natsPasswords[name]}@${server.host}:${server.port}`;
  return { nats: urlOf('admin'), natsUrlOf: urlOf };
}

async function openProcessor({ home, secrets, environment, gatewayUrl, processes }: Context, hooks: Hooks) {
  const { ELIGO_SANDBOX_URL: url, ELIGO_SANDBOX_KEY: key } = environment;
  if (url && key) return { url, key };
  const events = { url: sandboxEventsUrl(gatewayUrl), secret: secrets.sandboxEventsSecret };
  const sandbox = await startSandboxProcess(home, { key: secrets.sandboxKey, events, ...hooks });
  processes.add(sandbox.process, sandbox.url);
  return { url: sandbox.url, key: sandbox.key };
}

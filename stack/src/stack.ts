import { createWriteStream } from 'node:fs';
import { gatewayHost, gatewayUrl } from '@eligo/gateway/address';
import { freePorts } from '@eligo/ports';
import { tryLock } from '@eligo/processes/lock';
import { recoverOrphans } from './children/record.ts';
import { type ComponentName, componentNames, perComponent } from './components.ts';
import { componentVariables, type Variables } from './environment.ts';
import { type Home, logFile, makeHome } from './home.ts';
import type { Preparation } from './preparation.ts';
import { startPreparer } from './prepare-apart.ts';
import { Processes, type StackProcess } from './processes.ts';
import { type Secrets, secretsOf } from './secrets.ts';
import type { DemoAccount } from './seed.ts';
import { type Servers, startServers } from './servers.ts';
import { startSplit } from './split.ts';
import { writeStackFile } from './stack-file.ts';

/** How to start a stack. */
export interface StackOptions {
  /** The folder of all state. */
  readonly home: string;
  /** The gateway's port. */
  readonly port: number;
  /** Each component in a process of its own, over gRPC. */
  readonly split?: boolean;
  /** In one process: encode and decode every message on its way, as between processes. */
  readonly encode?: boolean;
  /** DATABASE_URL, NATS_URL, … replace embedded parts; the rest goes to the components. */
  readonly environment?: Variables;
  /** The longest wait before a process that died is started again (10,000); tests that kill many keep it short. */
  readonly longestRestartDelayMs?: number;
  /** Aborts a startup in progress. */
  readonly signal?: AbortSignal;
  /** Holds the started processes, for a caller that must stop them before startup is complete. */
  readonly processes?: Processes;
  /** Hears what happens, in a few words, and what goes wrong. */
  readonly onNews?: (text: string) => void;
  readonly onTrouble?: (text: string) => void;
  /** Told that a component in this process cannot go on (its bus is closed for good), for whoever can end the process; trouble else. */
  readonly onFatal?: (text: string) => void;
}

/** A running stack. */
export interface Stack {
  readonly home: Home;
  /** The gateway's address. */
  readonly url: string;
  readonly processor: { readonly url: string; readonly key: string };
  /** Postgres as the superuser (or the role in DATABASE_URL), and each component's own role. */
  readonly postgres: string;
  readonly databases: Readonly<Record<ComponentName, string>>;
  /** Whose the database's roles are; '' for the installation without a name. */
  readonly installation: string;
  readonly nats: string;
  readonly demo: DemoAccount;
  readonly secrets: Secrets;
  processes(): StackProcess[];
  /** Sends a signal to a part that is a process of its own. */
  kill(name: string, signal?: NodeJS.Signals): void;
  killAll(signal: NodeJS.Signals): void;
  stop(): Promise<void>;
}

/**
 * Brings up the whole of Eligo in a home: what an earlier run left is stopped, the servers are started, the database is
 * prepared, the components follow, and one demo account is there. Resolves when the gateway answers; rejects when another process runs a
 * stack in the same home.
 */
export async function startStack(options: StackOptions): Promise<Stack> {
  const home = makeHome(options.home);
  const lock = tryLock(`${home.run}/stack.lock`);
  if (!lock.release) throw new Error(`A stack is already running in ${home.root} (process ${lock.holder}).`);
  const processes = options.processes ?? new Processes();
  processes.addWork(async () => lock.release());
  try {
    return await bringUp(home, options, processes);
  } catch (error) {
    await processes.stop();
    throw error;
  }
}

async function bringUp(home: Home, options: StackOptions, processes: Processes): Promise<Stack> {
  const signal = options.signal ?? new AbortController().signal;
  const environment = options.environment ?? {};
  const onTrouble = options.onTrouble ?? (() => undefined);
  const left = await recoverOrphans(home.run);
  if (left.length > 0) options.onNews?.(`stopped processes left by an earlier run: ${left.join(', ')}`);
  const secrets = secretsOf(home);
  const { longestRestartDelayMs, onNews = () => undefined } = options;
  const context = { home, secrets, environment, processes, onNews, onTrouble, longestRestartDelayMs };

  // Loading the components' code takes as long as starting the servers: both at once.
  const [servers, prepare] = await Promise.all([startServers(context), loadPreparation(options, processes)]);
  signal.throwIfAborted();
  const demo = await prepare({
    home: home.root,
    database: servers.toPrepare,
    gatewayDatabaseUrl: servers.databases.gateway,
  });
  signal.throwIfAborted();

  const variables = await assignPlaces(home, servers, secrets, environment, options);
  const stackFile = () => writeStackFile(home, { ...parts, processes: processes.list() });
  const parts = {
    url: gatewayUrl(gatewayHost(environment), options.port),
    processor: servers.processor,
    postgres: servers.postgres,
    installation: servers.installation,
    nats: servers.nats,
    demo,
  };
  servers.onRestarted(stackFile);
  if (options.split) {
    await startSplit({
      home,
      variables,
      onTrouble,
      onRestarted: stackFile,
      longestRestartDelayMs: options.longestRestartDelayMs,
      onStarted: (name, process) => processes.add(process, adminUrl(variables[name])),
    });
  } else {
    const log = createWriteStream(logFile(home, 'eligo'), { flags: 'a', mode: 0o600 });
    processes.addWork(() => new Promise((done) => log.end(done)));
    const { startAllInOne } = await import('./all-in-one.ts');
    await startAllInOne({
      variables,
      destination: log,
      encode: options.encode ?? false,
      signal,
      onFatal: (error) => (options.onFatal ?? onTrouble)(error instanceof Error ? error.message : String(error)),
      onStarted: (name, component) => processes.addHere(name, adminUrl(variables[name]), () => component.stop()),
    });
  }
  stackFile();
  return {
    ...parts,
    home,
    secrets,
    databases: servers.databases,
    processes: () => processes.list(),
    kill: (name, with_ = 'SIGKILL') => processes.kill(name, with_),
    killAll: (with_) => processes.killAll(with_),
    stop: () => processes.stop(),
  };
}

// The supervisor of several processes leaves the components' code to another, short-lived one.
async function loadPreparation(
  options: StackOptions,
  processes: Processes,
): Promise<(preparation: Preparation) => Promise<DemoAccount>> {
  if (options.split) {
    const preparer = startPreparer();
    processes.addWork(async () => preparer.stop());
    return (preparation) => preparer.prepare(preparation);
  }
  const { prepareStack } = await import('./preparation.ts');
  const { loadCompositions } = await import('./compositions.ts');
  await loadCompositions();
  return prepareStack;
}

async function assignPlaces(
  home: Home,
  servers: Servers,
  secrets: Secrets,
  environment: Variables,
  options: StackOptions,
): Promise<Record<ComponentName, Variables>> {
  const ports = await freePorts(componentNames.length * 2);
  const adminPorts = perComponent((name) => ports[componentNames.indexOf(name)] ?? 0);
  const grpcPorts = perComponent((name) => ports[componentNames.length + componentNames.indexOf(name)] ?? 0);
  const peers = options.split ? perComponent((name) => `http://127.0.0.1:${grpcPorts[name]}`) : {};
  const portOf = (name: ComponentName) => (options.split ? grpcPorts[name] : undefined);
  return perComponent((name) =>
    componentVariables(
      environment,
      {
        name,
        databaseUrl: servers.databases[name],
        natsUrl: servers.natsUrlOf(name),
        adminPort: adminPorts[name],
        port: name === 'gateway' ? options.port : portOf(name),
      },
      {
        secrets,
        processor: servers.processor,
        peers,
        publicUrl: gatewayUrl(gatewayHost(environment), options.port),
        mailFolder: home.mail,
      },
    ),
  );
}

function adminUrl(variables: Variables): string {
  return `http://127.0.0.1:${variables.ADMIN_PORT}`;
}

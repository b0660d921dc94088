import { gatewayHost, gatewayUrl } from '@eligo/gateway/address';
import { freePorts } from '@eligo/ports';
import { tryLock } from '@eligo/processes/lock';
import { withFilesRead } from '@eligo/service/environment';
import { adminPorts } from './admin-ports.ts';
import { recoverOrphans } from './children/record.ts';
import { type ComponentName, componentNames, perComponent } from './components.ts';
import { componentVariables, type Variables } from './environment.ts';
import { type Home, logFile, makeHome } from './home.ts';
import { openLogFile } from './log-file.ts';
import { natsVariableOf } from './nats/given-urls.ts';
import type { Preparation } from './preparation.ts';
import { startPreparer } from './prepare-apart.ts';
import { Processes, type StackProcess } from './processes.ts';
import { allReplicas, type Replica, type Replicas, replicasOf } from './replicas.ts';
import { type Secrets, secretsOf } from './secrets.ts';
import type { DemoAccount } from './seed.ts';
import { type Servers, startServers } from './servers.ts';
import { type PlacedReplica, startSplit } from './split.ts';
import { writeStackFile } from './stack-file.ts';

/** How to start a stack. */
export interface StackOptions {
  /** The folder of all state. */
  readonly home: string;
  /** The gateway's port. */
  readonly port: number;
  /** The first of the components' admin ports; free ones unless it is given. */
  readonly adminPort?: number;
  /** Each component in a process of its own, over gRPC. */
  readonly split?: boolean;
  /** In processes of their own: how many of each component. */
  readonly replicas?: Replicas;
  /** In one process: encode and decode every message on its way, as between processes. */
  readonly encode?: boolean;
  /** DATABASE_URL, NATS_URL, … replace embedded parts; the rest goes to the components. */
  readonly environment?: Variables;
  /** Variables of one component over those: where each has a folder of its own, as for its certificate. */
  readonly environmentOf?: (component: ComponentName) => Variables;
  /** The longest wait before a process that died is started again (10,000); tests that kill many keep it short. */
  readonly longestRestartDelayMs?: number;
  /** What a new demo account can do beside `food_eligibility`; tests and measurements give the others to accounts of their own. */
  readonly demoFeatures?: readonly string[];
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
  /** The addresses of all its replicas, that one first. */
  readonly urls: readonly string[];
  readonly processor: { readonly url: string; readonly key: string };
  /** Postgres as the superuser (or the role in DATABASE_URL), and each component's own role. */
  readonly postgres: string;
  readonly databases: Readonly<Record<ComponentName, string>>;
  /** Whose the database's roles are; '' for the installation without a name. */
  readonly installation: string;
  readonly nats: string;
  /** Where mails are kept as files; '' where they are not. */
  readonly mailFolder: string;
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

/** What the stack itself reads, also from files; a component reads its own. */
const readHere = [
  ...['DATABASE_URL', 'NATS_URL', 'ELIGO_NATS_STORE_GB', 'ELIGO_SANDBOX_URL', 'ELIGO_SANDBOX_KEY'],
  ...componentNames.flatMap((name) => [`${name.toUpperCase()}_DATABASE_URL`, natsVariableOf(name)]),
];

async function bringUp(home: Home, options: StackOptions, processes: Processes): Promise<Stack> {
  const signal = options.signal ?? new AbortController().signal;
  const environment = withFilesRead(options.environment ?? {}, readHere);
  const onTrouble = options.onTrouble ?? (() => undefined);
  const left = await recoverOrphans(home.run);
  if (left.length > 0) options.onNews?.(`stopped processes left by an earlier run: ${left.join(', ')}`);
  const secrets = secretsOf(home);
  const { longestRestartDelayMs, onNews = () => undefined } = options;
  const url = gatewayUrl(gatewayHost(environment), options.port);
  const context = { home, secrets, environment, gatewayUrl: url, processes, onNews, onTrouble, longestRestartDelayMs };

  // Loading the components' code takes as long as starting the servers: both at once.
  const [servers, prepare] = await Promise.all([startServers(context), loadPreparation(options, processes)]);
  signal.throwIfAborted();
  const prepared = prepare({
    home: home.root,
    database: servers.toPrepare,
    gatewayDatabaseUrl: servers.databases.gateway,
    demoFeatures: options.demoFeatures ?? [],
  }).then((demo) => {
    signal.throwIfAborted();
    return demo;
  });
  // Awaited below, perhaps after something else has failed.
  prepared.catch(() => undefined);

  const replicas = await assignPlaces(home, servers, secrets, environment, options);
  const urls = replicas.flatMap(({ component, variables }) =>
    component === 'gateway' ? [gatewayUrl(gatewayHost(environment), variables.PORT ?? '')] : [],
  );
  let stackFile: () => void = () => undefined;
  // They load their code while the database is prepared.
  if (options.split) {
    await startSplit({
      home,
      replicas,
      prepared,
      onTrouble,
      onRestarted: () => stackFile(),
      longestRestartDelayMs: options.longestRestartDelayMs,
      onStarted: ({ component, variables }, process) =>
        processes.add(process, adminUrl(variables), component === 'gateway' ? 'gateways' : 'services'),
    });
  }
  const parts = {
    url,
    urls,
    processor: servers.processor,
    postgres: servers.postgres,
    installation: servers.installation,
    nats: servers.nats,
    mailFolder: variablesOf(replicas, 'billing').ELIGO_MAIL_FOLDER ?? '',
    demo: await prepared,
  };
  stackFile = () => writeStackFile(home, { ...parts, processes: processes.list() });
  servers.onRestarted(stackFile);
  if (!options.split) {
    const log = openLogFile(logFile(home, 'eligo'));
    processes.addWork(async () => log.close());
    const { startAllInOne } = await import('./all-in-one.ts');
    const variables = perComponent((name) => variablesOf(replicas, name));
    await startAllInOne({
      variables,
      destination: log,
      encode: options.encode ?? false,
      signal,
      onFatal: (error) => (options.onFatal ?? onTrouble)(error instanceof Error ? error.message : String(error)),
      onStarted: (name, component) => processes.addHere(name, adminUrl(variables[name]), component),
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
): Promise<PlacedReplica[]> {
  const counts = options.split ? (options.replicas ?? {}) : {};
  const all = allReplicas(counts);
  const tellTaken = (name: string, port: number) =>
    options.onNews?.(`admin port ${port} is in use; ${name} uses a free port (see stack.json)`);
  const fixed = options.adminPort ? await adminPorts(options.adminPort, counts, tellTaken) : new Map<string, number>();
  const ports = await freePorts(all.length * 2);
  const portsOf = new Map(
    all.map(({ name }, at) => [name, { admin: fixed.get(name) ?? ports[2 * at] ?? 0, own: ports[2 * at + 1] ?? 0 }]),
  );
  const peers = options.split ? perComponent((name) => peerUrls(replicasOf(name, counts))) : {};
  // The first gateway has the port that was asked for; a service in one process has none.
  const portOf = ({ component, name }: Replica) => {
    if (name === 'gateway') return options.port;
    return component === 'gateway' || options.split ? portsOf.get(name)?.own : undefined;
  };
  return all.map((replica) => ({
    ...replica,
    variables: componentVariables(
      { ...environment, ...options.environmentOf?.(replica.component) },
      {
        name: replica.component,
        databaseUrl: servers.databases[replica.component],
        natsUrl: servers.natsUrlOf(replica.component),
        adminPort: portsOf.get(replica.name)?.admin ?? 0,
        port: portOf(replica),
      },
      {
        secrets,
        processor: servers.processor,
        peers,
        publicUrl: gatewayUrl(gatewayHost(environment), options.port),
        home: home.root,
        mailFolder: home.mail,
      },
    ),
  }));

  function peerUrls(replicas: readonly Replica[]): string {
    return replicas.map(({ name }) => `http://127.0.0.1:${portsOf.get(name)?.own}`).join(',');
  }
}

function variablesOf(replicas: readonly PlacedReplica[], component: ComponentName): Variables {
  return replicas.find(({ name }) => name === component)?.variables ?? {};
}

function adminUrl(variables: Variables): string {
  return `http://127.0.0.1:${variables.ADMIN_PORT}`;
}

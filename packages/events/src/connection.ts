import { setTimeout as pause } from 'node:timers/promises';
import {
  type ConnectionOptions,
  connect,
  Events,
  type JetStreamClient,
  type JetStreamManager,
  type NatsConnection,
} from 'nats';
import { type EventLogger, errorLabel } from './logger.ts';
import { inboxPrefixOf } from './names.ts';
import { natsTls } from './nats-tls.ts';
import { isOldServer, leastWellVersion } from './old-server.ts';
import { Reachability } from './reachability.ts';

/** How to reach NATS. */
export interface ConnectOptions {
  /** `nats://user:password@host:port`, several separated by commas; the credentials of the first hold for all. */
  readonly url: string;
  /** The service that connects: its name in the server's lists, and the owner of the subjects that it takes answers on. */
  readonly service: string;
  readonly logger: EventLogger;
  /** A folder with the files of TLS (`natsTls`); undefined: a `tls:` URL is checked by Node's own authorities. */
  readonly tlsFolder?: string | undefined;
  /** How often to log that the server is unreachable (5,000). */
  readonly tellEveryMs?: number;
  /** How long a server may take to accept a connection (5,000). */
  readonly acceptWithinMs?: number;
  /** Told each reason why the server is not reached. */
  readonly onUnreachable?: ((reason: string) => void) | undefined;
  /** Ends the wait for the first connection, with an error. */
  readonly signal?: AbortSignal | undefined;
}

/** A connection to NATS that comes back for as long as the process lives. */
export interface EventConnection {
  readonly nats: NatsConnection;
  readonly jetstream: JetStreamClient;
  readonly manager: JetStreamManager;
  /** Rises with each reconnect: what was known of the server before may no longer hold. */
  readonly incarnation: () => number;
  readonly isConnected: () => boolean;
  /** Calls the listener at each reconnect, before the new connection brings anything. Returns what removes it. */
  readonly onReconnect: (listener: () => void) => () => void;
  /** Why there is no connection, as far as it is known. */
  readonly problem: () => string | undefined;
  /** Settles when the connection is closed for good; with an error if it was not closed on purpose, which is fatal to the process. */
  readonly closed: Promise<Error | undefined>;
  /** Sends what is pending and closes. */
  readonly close: () => Promise<void>;
}

/** Connects, and waits for the server if it is not up yet. */
export async function connectNats(options: ConnectOptions): Promise<EventConnection> {
  const { service, logger, tellEveryMs = 5_000, onUnreachable, signal } = options;
  const client = clientOptions(options);
  const reachability = new Reachability({ service, logger, tellEveryMs, onUnreachable, usesTls: client.tls != null });
  const nats = await firstConnection(client, reachability, signal).catch((error: unknown) => {
    reachability.found();
    throw error;
  });
  let toldVersion: string | undefined;
  // Once for each version: an upgrade of the server is a reconnect.
  const tellIfOld = () => {
    const version = nats.info?.version;
    if (version === undefined || version === toldVersion || !isOldServer(version)) return;
    toldVersion = version;
    logger.warn({ service, version }, `NATS server can lose acknowledged events; use ${leastWellVersion} or newer`);
  };
  tellIfOld();
  let connected = true;
  let incarnation = 1;
  const listeners = new Set<() => void>();
  const lookWhy = () => {
    void tryToConnect(client).then((failed) => {
      if (failed !== undefined && !connected && !nats.isClosed()) reachability.failed(failed.error);
    });
  };
  const watch = async (): Promise<void> => {
    for await (const { type, data } of nats.status()) {
      if (type === Events.Disconnect) {
        connected = false;
        logger.warn({ service }, 'NATS disconnected');
        reachability.lost(lookWhy);
      } else if (type === Events.Reconnect) {
        connected = true;
        incarnation += 1;
        for (const listener of listeners) listener();
        reachability.found();
        logger.info({ service }, 'NATS reconnected');
        tellIfOld();
      } else if (type === Events.Error) {
        logger.error({ service, error: String(data).slice(0, 200) }, 'NATS reported an error');
      }
    }
  };
  watch().catch((error: unknown) =>
    logger.error({ service, error: errorLabel(error) }, 'Stopped watching the NATS connection after an error'),
  );
  let closing: Promise<void> | undefined;
  return {
    nats,
    jetstream: nats.jetstream({ timeout: 5_000 }),
    // Asking for the account's limits first would need one more permission.
    manager: await nats.jetstreamManager({ checkAPI: false, timeout: 5_000 }),
    incarnation: () => incarnation,
    // The client forgets the server's information when it dials. What is sent before the connection is ready goes to the next server.
    isConnected: () => connected && nats.info !== undefined && !nats.isClosed(),
    onReconnect(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    problem: () => reachability.problem,
    closed: nats.closed().then((error) => {
      reachability.found();
      return closing === undefined ? (error ?? new Error('The NATS connection is closed')) : undefined;
    }),
    close() {
      closing ??= drain(nats, connected, logger);
      return closing;
    },
  };
}

function clientOptions({ url, service, tlsFolder, acceptWithinMs = 5_000 }: ConnectOptions): ConnectionOptions {
  const servers = url.split(',').map((part) => new URL(part.trim()));
  const [first] = servers;
  if (first === undefined) throw new Error('NATS_URL names no server');
  const tls = natsTls(servers, tlsFolder);
  return {
    servers: servers.map(({ hostname, port }) => `${hostname}:${port || '4222'}`),
    ...(first.username === ''
      ? {}
      : { user: decodeURIComponent(first.username), pass: decodeURIComponent(first.password) }),
    // The servers that others tell of are addresses: a certificate need not name those.
    ...(tls === undefined ? {} : { tls, ignoreClusterUpdates: true }),
    timeout: acceptWithinMs,
    name: `eligo ${service}`,
    inboxPrefix: inboxPrefixOf(service),
    // The default gives up after ten attempts and closes for good.
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 250,
    // The default of two minutes, twice, would take minutes to see a dead peer.
    pingInterval: 10_000,
    maxPingOut: 2,
    // With traces the client makes two errors for each event that is published, and never throws them: 0.2 ms of CPU time for the events of a confirm.
    noAsyncTraces: true,
  };
}

// The client can wait by itself, but keeps for itself what it waits for.
async function firstConnection(
  client: ConnectionOptions,
  reachability: Reachability,
  signal: AbortSignal | undefined,
): Promise<NatsConnection> {
  reachability.lost();
  for (;;) {
    try {
      const nats = await connect(client);
      reachability.found();
      return nats;
    } catch (error) {
      reachability.failed(error);
      await pause(250 + Math.random() * 250, undefined, { signal });
    }
  }
}

// What a connection fails with; undefined if it does not. The client reconnects by itself and tells no reason.
async function tryToConnect(client: ConnectionOptions): Promise<{ error: unknown } | undefined> {
  try {
    const nats = await connect({ ...client, reconnect: false });
    await nats.close();
    return undefined;
  } catch (error) {
    return { error };
  }
}

async function drain(nats: NatsConnection, connected: boolean, logger: EventLogger): Promise<void> {
  if (nats.isClosed()) return;
  try {
    // Without a server there is nothing to drain to.
    if (connected) await nats.drain();
    else await nats.close();
  } catch (error) {
    logger.warn({ error: errorLabel(error) }, 'NATS connection did not drain in time');
    await nats.close();
  }
}

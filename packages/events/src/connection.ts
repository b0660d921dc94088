import { connect, Events, type JetStreamClient, type JetStreamManager, type NatsConnection } from 'nats';
import { type EventLogger, errorLabel } from './logger.ts';
import { inboxPrefixOf } from './names.ts';

/** How to reach NATS. */
export interface ConnectOptions {
  /** `nats://user:password@host:port`, several separated by commas; the credentials of the first hold for all. */
  readonly url: string;
  /** The service that connects: its name in the server's lists, and the owner of the subjects that it takes answers on. */
  readonly service: string;
  readonly logger: EventLogger;
  /** How often to log that the server is unreachable at startup (5,000). */
  readonly tellEveryMs?: number;
}

/** A connection to NATS that comes back for as long as the process lives. */
export interface EventConnection {
  readonly nats: NatsConnection;
  readonly jetstream: JetStreamClient;
  readonly manager: JetStreamManager;
  /** Rises with each reconnect: what was known of the server before may no longer hold. */
  readonly incarnation: () => number;
  readonly isConnected: () => boolean;
  /** Settles when the connection is closed for good; with an error if it was not closed on purpose, which is fatal to the process. */
  readonly closed: Promise<Error | undefined>;
  /** Sends what is pending and closes. */
  readonly close: () => Promise<void>;
}

/** Connects, and waits for the server if it is not up yet. */
export async function connectNats({
  url,
  service,
  logger,
  tellEveryMs = 5_000,
}: ConnectOptions): Promise<EventConnection> {
  const servers = url.split(',').map((part) => new URL(part.trim()));
  const [first] = servers;
  if (first === undefined) throw new Error('NATS_URL names no server');
  // The client says nothing while it waits, and nothing else of the component is up yet to be asked.
  const waiting = setInterval(() => logger.warn({ service }, 'NATS is unreachable; waiting'), tellEveryMs);
  const nats = await connect({
    servers: servers.map(({ hostname, port }) => `${hostname}:${port || '4222'}`),
    ...(first.username === ''
      ? {}
      : { user: decodeURIComponent(first.username), pass: decodeURIComponent(first.password) }),
    ...(first.protocol === 'tls:' ? { tls: {} } : {}),
    name: `eligo ${service}`,
    inboxPrefix: inboxPrefixOf(service),
    waitOnFirstConnect: true,
    // The default gives up after ten attempts and closes for good.
    maxReconnectAttempts: -1,
    reconnectTimeWait: 250,
    reconnectJitter: 250,
    // The default of two minutes, twice, would take minutes to see a dead peer.
    pingInterval: 10_000,
    maxPingOut: 2,
  }).finally(() => clearInterval(waiting));
  let connected = true;
  let incarnation = 1;
  const watch = async (): Promise<void> => {
    for await (const { type, data } of nats.status()) {
      if (type === Events.Disconnect) {
        connected = false;
        logger.warn({ service }, 'NATS disconnected');
      } else if (type === Events.Reconnect) {
        connected = true;
        incarnation += 1;
        logger.info({ service }, 'NATS reconnected');
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
    isConnected: () => connected && !nats.isClosed(),
    closed: nats
      .closed()
      .then((error) => (closing === undefined ? (error ?? new Error('The NATS connection is closed')) : undefined)),
    close() {
      closing ??= drain(nats, connected, logger);
      return closing;
    },
  };
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

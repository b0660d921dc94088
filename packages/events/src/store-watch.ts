import { connect } from 'nats';

/** Looks at a server's JetStream as a user without limits. */
export interface StoreWatch {
  /** Rejects when JetStream is off or does not answer: a server turns it off when its disk is full. */
  look(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Connects to a server to look after it. Rejects when the server does not answer within two seconds. A connection that
 * is lost later comes back by itself.
 */
export async function watchStore(url: string): Promise<StoreWatch> {
  const { hostname, port, username, password } = new URL(url);
  const nats = await connect({
    ...{ servers: `${hostname}:${port}`, user: decodeURIComponent(username), pass: decodeURIComponent(password) },
    ...{ name: 'eligo watch', timeout: 2_000, maxReconnectAttempts: -1, reconnectTimeWait: 250 },
  });
  const manager = await nats.jetstreamManager({ checkAPI: false, timeout: 2_000 });
  return {
    look: async () => void (await manager.getAccountInfo()),
    close: () => nats.close(),
  };
}

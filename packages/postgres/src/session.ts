import pg from 'pg';
import { connectionConfig, type Database } from './database.ts';
import { translateError } from './errors.ts';

/** A connection of its own, outside the pool: for what belongs to a session, that is LISTEN and session advisory locks. */
export interface Session {
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** Settles when the connection is closed by either side. */
  readonly closed: Promise<void>;
  /** Says goodbye to the server. A server that does not answer has two seconds for it. */
  close(): Promise<void>;
}

/** Opens a session with the database's own settings; `onNotification` is called for each NOTIFY on a channel that it listens to. */
export async function openSession(
  database: Database,
  applicationName: string,
  onNotification?: (channel: string, payload: string) => void,
): Promise<Session> {
  const client = new pg.Client({
    ...connectionConfig({ ...database.options, applicationName }),
    connectionTimeoutMillis: 5_000,
  });
  const closed = new Promise<void>((resolve) => client.once('end', resolve));
  client.on('error', (error) => database.report(error, applicationName));
  if (onNotification !== undefined) {
    client.on('notification', ({ channel, payload }) => onNotification(channel, payload ?? ''));
  }
  try {
    await client.connect();
  } catch (error) {
    database.reportLogin(error);
    throw translateError(error);
  }
  return {
    async query<Row extends object>(text: string, values: readonly unknown[] = []) {
      try {
        return (await client.query<Row>(text, [...values])).rows;
      } catch (error) {
        throw translateError(error);
      }
    },
    closed,
    async close() {
      // A goodbye ends with the server's own close, which a silent peer never sends.
      const goodbye = setTimeout(() => client.connection.stream.destroy(), GOODBYE_MS);
      try {
        await client.end();
      } finally {
        clearTimeout(goodbye);
      }
    },
  };
}

/** A server that answers closes within milliseconds, or once the statement that it carries out is over. */
const GOODBYE_MS = 2_000;

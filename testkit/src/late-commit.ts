import type { Database } from '@eligo/postgres';

/** A COMMIT that is on its way to the server while its client has lost the connection. */
export interface LateCommit {
  /** Has the server carry it out. Until then its pool cannot be closed. */
  arrive(): Promise<void>;
}

/**
 * Loses the connection of the next transaction of a pool when that sends COMMIT: its outcome is unknown to the client, and nothing is written before the COMMIT
 * arrives.
 */
export function loseNextCommit(database: Database): LateCommit {
  const checkOut = database.checkOut.bind(database);
  let arrive: (() => Promise<void>) | undefined;
  database.checkOut = async (scope) => {
    database.checkOut = checkOut;
    const client = await checkOut(scope);
    const query = client.query.bind(client) as (...args: unknown[]) => unknown;
    const release = client.release.bind(client);
    let isLost = false;
    const queryUntilLost = (...args: unknown[]) => {
      if (args[0] !== 'commit') return query(...args);
      isLost = true;
      return Promise.reject(new Error('Connection terminated unexpectedly'));
    };
    Object.assign(client, {
      query: queryUntilLost,
      release: (destroys?: boolean) => {
        if (!isLost) release(destroys);
      },
    });
    arrive = async () => {
      arrive = async () => undefined;
      await query('commit');
      release(true);
    };
    return client;
  };
  return {
    async arrive() {
      if (arrive === undefined) throw new Error('No transaction has begun');
      await arrive();
    },
  };
}

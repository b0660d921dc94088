import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/**
 * Where ports are looked for: below the range that systems take the near ends of outgoing connections from, so that no
 * connection can hold a port between its being found and its being listened on.
 */
const lowest = 15_000;
const highest = 32_000;
const mostAttempts = 1_000;

/** Ports that were free a moment ago, all different: they are held together and then let go. */
export async function freePorts(count: number, host = '127.0.0.1'): Promise<number[]> {
  const held: Held[] = [];
  try {
    for (let attempt = 0; held.length < count; attempt += 1) {
      if (attempt === mostAttempts) throw new Error(`no ${count} free ports between ${lowest} and ${highest}`);
      const one = await hold(randomInt(lowest, highest), host);
      if (one) held.push(one);
    }
    return held.map(({ port }) => port);
  } finally {
    await Promise.all(held.map(({ letGo }) => letGo()));
  }
}

/** One port that was free a moment ago. */
export async function freePort(host?: string): Promise<number> {
  const [port] = await freePorts(1, host);
  if (port === undefined) throw new Error('no free port');
  return port;
}

/** Whether nobody listens on a port. */
export async function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  const held = await hold(port, host);
  await held?.letGo();
  return held !== undefined;
}

interface Held {
  readonly port: number;
  letGo(): Promise<void>;
}

function hold(port: number, host: string): Promise<Held | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen(port, host, () => {
      resolve({ port, letGo: () => new Promise((done) => server.close(() => done())) });
    });
  });
}

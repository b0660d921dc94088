import { randomInt } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

/**
 * Where ports are looked for: below the range that systems take the near ends of outgoing connections from, so that no
 * connection can hold a port between its being found and its being listened on.
 */
const lookedFor: PortRange = { lowest: 15_000, highest: 32_000 };
const mostAttempts = 1_000;

/** Ports from `lowest` up to `highest`, both included. */
export interface PortRange {
  readonly lowest: number;
  readonly highest: number;
}

/**
 * Distinct free ports. They are reserved as long as this process lives: another process that looks for
 * ports by this function, in any process, passes them over, also while what was to listen there is being started again.
 * A reservation is the UDP port of the same number, which nothing here uses and which the system takes back by itself.
 */
export async function freePorts(count: number, host = '127.0.0.1', range = lookedFor): Promise<number[]> {
  const found: number[] = [];
  for (let attempt = 0; found.length < count; attempt += 1) {
    if (attempt === mostAttempts)
      throw new Error(`No ${count} free ports between ${range.lowest} and ${range.highest}`);
    const port = randomInt(range.lowest, range.highest + 1);
    const reservation = await reserve(port, host);
    if (!reservation) continue;
    if (await isFree(port, host)) found.push(port);
    else reservation.giveUp();
  }
  return found;
}

/** One free port, reserved as long as this process lives. */
export async function freePort(host?: string): Promise<number> {
  const [port] = await freePorts(1, host);
  if (port === undefined) throw new Error('No free port');
  return port;
}

/** Reserves a port of this number as `freePorts` does; false if it is taken. */
export async function reservePort(port: number, host = '127.0.0.1'): Promise<boolean> {
  const reservation = await reserve(port, host);
  if (reservation === undefined) return false;
  if (await isFree(port, host)) return true;
  reservation.giveUp();
  return false;
}

/** Whether a port is free. */
export function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, host, () => server.close(() => resolve(true)));
  });
}

function reserve(port: number, host: string): Promise<{ giveUp(): void } | undefined> {
  return new Promise((resolve) => {
    const socket = createSocket(host.includes(':') ? 'udp6' : 'udp4');
    socket.once('error', () => {
      socket.close();
      resolve(undefined);
    });
    // Not shared by the workers of a cluster, and no reason for the process to live on.
    socket.bind({ port, address: host, exclusive: true }, () => {
      socket.unref();
      resolve({ giveUp: () => socket.close() });
    });
  });
}

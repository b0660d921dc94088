import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { clientNetwork } from './client-network.ts';

/** How many connections may be open. */
export interface ConnectionLimits {
  readonly total: number;
  /** From one address, of IPv6 from one /64. */
  readonly perNetwork: number;
  /** Proxies, behind which are many clients, count in total only. */
  readonly isProxy: (address: string) => boolean;
}

/** Connections without a request, the one that has been idle longest first. */
type Idle = Set<Socket>;

interface Network {
  open: number;
  readonly idle: Idle;
}

/**
 * Makes room for a new connection by closing the one that has been idle longest, of the same address if that has too many. A connection is
 * refused only when none is idle. Without this, ten thousand connections that say nothing close the port to everyone.
 */
export function limitConnections(server: Server, limits: ConnectionLimits): void {
  const networks = new Map<string, Network>();
  const allIdle: Idle = new Set();
  let open = 0;

  server.on('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? '';
    const name = clientNetwork(address);
    const network = networks.get(name) ?? { open: 0, idle: new Set() };
    networks.set(name, network);
    const isOwnFull = network.open >= limits.perNetwork && !limits.isProxy(address);
    if (isOwnFull && !closeOldest(network.idle)) return void socket.destroy();
    if (!isOwnFull && open >= limits.total && !closeOldest(allIdle)) return void socket.destroy();
    open += 1;
    network.open += 1;
    const isIdle = (idle: boolean) => {
      for (const set of [network.idle, allIdle]) {
        set.delete(socket);
        if (idle) set.add(socket);
      }
    };
    isIdle(true);
    idleOf.set(socket, isIdle);
    socket.once('close', () => {
      isIdle(false);
      open -= 1;
      network.open -= 1;
      if (network.open === 0) networks.delete(name);
    });
  });

  server.prependListener('request', (request, response) => {
    const isIdle = idleOf.get(request.socket);
    isIdle?.(false);
    response.once('close', () => {
      if (!request.socket.destroyed) isIdle?.(true);
    });
  });
}

const idleOf = new WeakMap<Socket, (idle: boolean) => void>();

// Its place is free at once, although its end is reported later.
function closeOldest(idle: Idle): boolean {
  const [oldest] = idle;
  if (oldest === undefined) return false;
  idle.delete(oldest);
  oldest.destroy();
  return true;
}

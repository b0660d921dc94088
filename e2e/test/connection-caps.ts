import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { type Constellation, waitUntil } from '@eligo/testkit';
import { afterEach, describe, expect, it } from 'vitest';

/** So few that a test can use them up, and more than all other tests of the constellation have open. */
export const connectionCaps = { ELIGO_MAX_CONNECTIONS: '400', ELIGO_MAX_CONNECTIONS_PER_ADDRESS: '160' };
const total = Number(connectionCaps.ELIGO_MAX_CONNECTIONS);
const ofAddress = Number(connectionCaps.ELIGO_MAX_CONNECTIONS_PER_ADDRESS);

/** That idle connections without a key close the port to nobody, at a gateway that is a process of its own and was started with `connectionCaps`. */
export function describeConnectionCaps(started: () => Constellation): void {
  describe('idle connections without a key', () => {
    const sockets: Socket[] = [];
    afterEach(async () => {
      const closed = sockets.splice(0).map((socket) => socket.destroyed || once(socket.destroy(), 'close'));
      await Promise.all(closed);
    });

    async function open(address: string): Promise<Socket> {
      const { hostname, port } = new URL(started().url);
      const socket = connect({ host: hostname, port: Number(port), localAddress: address });
      socket.on('error', () => socket.destroy());
      sockets.push(socket);
      await once(socket, 'connect');
      return socket;
    }

    // One after the other, so that the order in which they became idle is known. A connection that has had an answer may stay idle for a minute.
    async function openIdle(address: string, count: number): Promise<Socket[]> {
      const opened: Socket[] = [];
      for (let i = 0; i < count; i++) {
        const socket = await open(address);
        expect(await ask(socket)).toContain('200 OK');
        opened.push(socket);
      }
      return opened;
    }

    it('of one address lose the one that has been idle longest, and no other client notices [D14.136]', async () => {
      const shop = (await openIdle('127.0.0.2', 1))[0] as Socket;
      const idle = await openIdle('127.0.0.3', ofAddress);
      // It was the oldest, and is idle since just now.
      expect(await ask(idle[0] as Socket)).toContain('200 OK');
      await openIdle('127.0.0.3', 40);
      const [used, ...others] = idle;
      await waitUntil(() => others.slice(0, 40).every(isClosed), { what: 'that the oldest are closed' });
      expect([used as Socket, ...others.slice(40)].filter(isClosed)).toEqual([]);
      expect(await ask(shop)).toContain('200 OK');
    });

    it('of many addresses lose those that have been idle longest, and a request under way and new clients are answered [D14.136]', async () => {
      const { key } = started().api();
      const busy = await open('127.0.0.2');
      const body = JSON.stringify({ product: { name: 'A thermometer' } });
      const headers = `Host: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;
      busy.write(`POST /v1/products HTTP/1.1\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body.slice(0, 5)}`);
      const idle: Socket[] = [];
      for (let at = 0; at < 4; at++) idle.push(...(await openIdle(`127.0.0.${10 + at}`, ofAddress - 20)));
      expect(idle.length).toBeGreaterThan(total);
      const [newcomer] = await openIdle('127.0.0.20', 1);
      // Those of the constellation's other clients may be open beside them.
      await waitUntil(() => idle.filter((socket) => !isClosed(socket)).length < total, {
        what: 'that some are closed',
      });
      const firstOpen = idle.findIndex((socket) => !isClosed(socket));
      expect(firstOpen).toBeGreaterThan(idle.length - total);
      // Only the oldest are gone.
      expect(idle.slice(firstOpen).filter(isClosed)).toEqual([]);
      expect(await ask(newcomer as Socket)).toContain('200 OK');
      const answer = once(busy, 'data');
      busy.write(body.slice(5));
      expect(String(await answer)).toContain('200 OK');
    });
  });
}

function isClosed({ destroyed, readyState }: Socket): boolean {
  return destroyed || readyState !== 'open';
}

async function ask(socket: Socket): Promise<string> {
  const answer = Promise.race([once(socket, 'data'), once(socket, 'close').then(() => ['closed'])]);
  socket.write('GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n');
  return String((await answer)[0]);
}

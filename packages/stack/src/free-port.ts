import { createServer } from 'node:net';

/** Ports that were free a moment ago, all different: they are held together and then let go. */
export async function freePorts(count: number, host = '127.0.0.1'): Promise<number[]> {
  const servers = await Promise.all(Array.from({ length: count }, () => listen(host)));
  const ports = servers.map(({ port }) => port);
  await Promise.all(servers.map(({ close }) => close()));
  return ports;
}

/** One port that was free a moment ago. */
export async function freePort(host?: string): Promise<number> {
  const [port] = await freePorts(1, host);
  if (port === undefined) throw new Error('no free port');
  return port;
}

function listen(host: string): Promise<{ port: number; close: () => Promise<void> }> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, host, () => {
      const address = server.address();
      if (address === null || typeof address === 'string') return reject(new Error('a listening socket has no port'));
      resolve({ port: address.port, close: () => new Promise<void>((done) => server.close(() => done())) });
    });
  });
}

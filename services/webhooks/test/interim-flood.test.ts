import { Worker } from 'node:worker_threads';
import { expect, it, onTestFinished } from 'vitest';
import type { Outcome } from '../src/domain/attempt.ts';
import { openPoster } from '../src/jobs/delivery/post.ts';

// In a thread of its own, so that its work does not count.
const receiver = `
const { parentPort, workerData: { head, part, parts } } = require('node:worker_threads');
const flood = Buffer.from(part.repeat(parts));
const server = require('node:net').createServer((socket) => {
  socket.on('error', () => undefined).once('data', () => {
    socket.write(head);
    const more = () => { while (!socket.destroyed && socket.write(flood)); };
    socket.on('drain', more);
    more();
  });
});
server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

// The bound of milliseconds stands last; an attempt took 5 and 15 when the parser went through all of a read, and 50 and more without the bounds of the code.
const floods: [string, Outcome['kind'], { head: string; part: string; parts: number }, number][] = [
  ['interim responses', 'no_answer', { head: '', part: 'HTTP/1.1 103 Early Hints\r\n\r\n', parts: 2_000 }, 4],
  [
    'chunks of one byte',
    'answered',
    { head: 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n', part: '1\r\na\r\n', parts: 10_000 },
    4,
  ],
];

it.each(floods)(
  'an attempt against a flood of %s takes little processor time, so that deliveries need no process of their own [D14.134, D14.316, D14.382]',
  async (_flood, outcome, workerData, mostMs) => {
    const worker = new Worker(receiver, { eval: true, workerData });
    onTestFinished(() => void worker.terminate());
    const port = await new Promise<number>((resolve) => worker.once('message', resolve));
    const poster = openPoster({
      rules: { reach: 'loopback', ports: [443] },
      resolver: async () => ['127.0.0.1'],
      timeoutMs: 5_000,
    });
    const attempt = () =>
      poster.post({
        ...{ asker: { accountId: 'facct_1', webhookId: 'fwh_1' }, url: `http://127.0.0.1:${port}/` },
        ...{ headers: {}, body: Buffer.from('{}') },
      });
    await attempt();
    const attempts = 64;
    const before = process.threadCpuUsage();
    // As many at once as an endpoint has.
    for (let count = 0; count < attempts; count += 16) {
      const outcomes = await Promise.all(Array.from({ length: 16 }, attempt));
      expect(new Set(outcomes.map(({ kind }) => kind))).toEqual(new Set([outcome]));
    }
    const { user, system } = process.threadCpuUsage(before);
    const msEach = (user + system) / 1_000 / attempts;
    console.log(`an attempt against a flood took ${msEach.toFixed(2)} ms`);
    expect(msEach).toBeLessThan(mostMs);
  },
  60_000,
);

import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { AnswerReader } from '../src/answer-reader.ts';
import { openConnections } from '../src/connections.ts';
import { fileForm } from '../src/file-form.ts';
import { formOf } from '../src/form.ts';
import { createHttpClient } from '../src/http-client.ts';

const ok = 'HTTP/1.1 200 OK\r\n';
const hello = `${ok}content-length: 5\r\n\r\nhello`;

describe('an answer', () => {
  const whole: [string, string, object][] = [
    ['with a length', `${ok}Request-Id: req_1\r\nContent-Length: 6\r\n\r\nhé is`, { body: 'hé is', status: 200 }],
    ['that is empty', `${ok}content-length: 0\r\n\r\n`, { body: '' }],
    ['without content', 'HTTP/1.1 204 No Content\r\n\r\n', { body: '', status: 204 }],
    ['in chunks', `${ok}transfer-encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=1\r\nlo\r\n0\r\n\r\n`, { body: 'hello' }],
    ['with trailers', `${ok}Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\nx: y\r\n\r\n`, { body: 'hello' }],
    ['behind an interim one', `HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n${hello}`, { body: 'hello', status: 200 }],
    ['without words', 'HTTP/1.1 402\r\ncontent-length: 0\r\n\r\n', { status: 402 }],
    [
      'with a header twice',
      `${ok}a: 1\r\nA: 2\r\ncontent-length: 0\r\n\r\n`,
      { headers: { a: '1, 2', 'content-length': '0' } },
    ],
    ['with odd names', `${ok}__proto__: x\r\nconstructor: y\r\ncontent-length: 0\r\n\r\n`, { body: '' }],
    ['that is the last', `${ok}connection: Close\r\ncontent-length: 0\r\n\r\n`, { keepMs: 0 }],
    ['of HTTP/1.0', 'HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n', { keepMs: 0 }],
    ['with a time', `${ok}keep-alive: timeout=75\r\ncontent-length: 0\r\n\r\n`, { keepMs: 74_000 }],
  ];

  test.each(whole)('%s is read, in one piece and byte by byte', (_, text, expected) => {
    const bytes = Buffer.from(text);
    expect(new AnswerReader().push(bytes)).toMatchObject(expected);
    const reader = new AnswerReader();
    for (const [at, byte] of bytes.entries()) {
      const answer = reader.push(Buffer.from([byte]));
      if (at < bytes.length - 1) expect(answer).toBeUndefined();
      else expect(answer).toMatchObject(expected);
    }
  });

  test.each([
    ['of no protocol', 'SSH-2.0-x\r\n'],
    ['of another one', 'HTTP/2 200\r\n\r\n'],
    ['of no status', 'HTTP/1.1 099 x\r\n\r\n'],
    ['that switches', 'HTTP/1.1 101 Switching\r\ncontent-length: 0\r\n\r\n'],
    ['of unknown length', `${ok}\r\n{}`],
    ['of two lengths', `${ok}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`],
    ['of a length and chunks', `${ok}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
    ['of a negative length', `${ok}content-length: -2\r\n\r\n{}`],
    ['in another encoding', `${ok}transfer-encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
    ['with a chunk of no size', `${ok}transfer-encoding: chunked\r\n\r\nzz\r\n`],
    ['with a chunk of another size', `${ok}transfer-encoding: chunked\r\n\r\n1\r\nabc\r\n0\r\n\r\n`],
    ['with a folded line', `${ok}a: 1\r\n b\r\ncontent-length: 0\r\n\r\n`],
    ['with another behind it', hello + hello],
    ['with a head without end', `${ok}${'a: 1\r\n'.repeat(12_000)}`],
    ['that is too long', `${ok}content-length: 90000000\r\n\r\n${'x'.repeat(8_400_000)}`],
  ])('%s is none', (_, text) => {
    expect(() => new AnswerReader().push(Buffer.from(text))).toThrow();
  });
});

/** A server that notes the requests of each of its connections; it answers what `answer` gives. */
async function newServer(answer: (request: string, socket: Socket) => string | undefined) {
  const seen: string[][] = [];
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    const requests: string[] = [];
    seen.push(requests);
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    socket.on('data', (data) => {
      requests.push(data.toString());
      const text = answer(data.toString(), socket);
      if (text !== undefined) socket.write(text);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const connections = openConnections({ protocol: 'http', host: '127.0.0.1', port });
  onTestFinished(() => {
    connections.close();
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { seen, sockets, connections, port, server };
}

describe('connections', () => {
  test('are used again, one request at a time on each', async () => {
    const { seen, connections } = await newServer(() => hello);
    for (let turn = 0; turn < 3; turn++) expect((await connections.exchange(`${turn}`, 20_000)).body).toBe('hello');
    expect(seen).toEqual([['0', '1', '2']]);
  });

  test('are not used again once the server said that it closes them', async () => {
    const { seen, connections } = await newServer(() => hello.replace('OK\r\n', 'OK\r\nConnection: close\r\n'));
    for (let turn = 0; turn < 2; turn++) await connections.exchange(`${turn}`, 20_000);
    expect(seen).toEqual([['0'], ['1']]);
  });

  test('are 64 at the most; what waits longer than it may was never sent', async () => {
    const held: Socket[] = [];
    const { seen, connections } = await newServer((_, socket) => void held.push(socket));
    const first = Array.from({ length: 64 }, () => connections.exchange('first', 20_000));
    await expect.poll(() => held.length).toBe(64);
    const late = connections.exchange('late', 100);
    await expect(late).rejects.toMatchObject({ reason: 'timeout', neverSent: true });
    const next = connections.exchange('next', 20_000);
    for (const socket of held.splice(0)) socket.write(hello);
    await Promise.all(first);
    await expect.poll(() => held.length).toBe(1);
    held[0]?.write(hello);
    expect((await next).body).toBe('hello');
    expect(seen).toHaveLength(64);
    expect(seen.flat().filter((request) => request !== 'first')).toEqual(['next']);
  });

  test('that break make room for what waits, and nothing is sent twice', async () => {
    const held: Socket[] = [];
    const { seen, connections } = await newServer((request, socket) => {
      if (request === 'next') return hello;
      held.push(socket);
      return undefined;
    });
    const first = Promise.allSettled(Array.from({ length: 64 }, () => connections.exchange('first', 20_000)));
    await expect.poll(() => held.length).toBe(64);
    const next = connections.exchange('next', 20_000);
    held[0]?.destroy();
    expect((await next).body).toBe('hello');
    for (const socket of held) socket.destroy();
    for (const outcome of await first)
      expect(outcome).toMatchObject({ reason: { reason: 'connection', neverSent: false } });
    expect(seen.flat()).toHaveLength(65);
  });

  test('give up at the deadline, and take no late answer for that of another request', async () => {
    const { sockets, connections } = await newServer((request) => (request === 'slow' ? undefined : hello));
    // What has no connection yet when its time is over was never sent.
    await connections.exchange('first', 20_000);
    const slow = connections.exchange('slow', 100);
    await expect(slow).rejects.toMatchObject({ reason: 'timeout', neverSent: false });
    await expect.poll(() => sockets.size).toBe(0);
    expect((await connections.exchange('next', 20_000)).body).toBe('hello');
  });

  test('that receive unexpected bytes are closed', async () => {
    const { seen, sockets, connections } = await newServer(() => hello);
    await connections.exchange('0', 20_000);
    for (const socket of sockets) socket.write(hello);
    await expect.poll(() => sockets.size).toBe(0);
    await connections.exchange('1', 20_000);
    expect(seen).toEqual([['0'], ['1']]);
  });

  test('that are refused were never made', async () => {
    const { server, connections } = await newServer(() => hello);
    server.close();
    await once(server, 'close');
    await expect(connections.exchange('0', 20_000)).rejects.toMatchObject({ reason: 'connection', neverSent: true });
  });
});

describe('a body that is sent as it is read', () => {
  const bodyOf = (length: number, pieces: () => AsyncGenerator<Buffer>) => ({ length, pieces });

  test('arrives whole, waits for a slow reader, and its connection is used again', async () => {
    let received = 0;
    const whole = 6 + 200 * 65_536;
    const { seen, connections } = await newServer((text, socket) => {
      received += Buffer.byteLength(text);
      socket.pause();
      setImmediate(() => socket.resume());
      return received === whole || text === 'next' ? hello : undefined;
    });
    let mostWaiting = 0;
    let read = 0;
    const body = bodyOf(200 * 65_536, async function* () {
      for (let piece = 0; piece < 200; piece++) {
        read += 65_536;
        mostWaiting = Math.max(mostWaiting, read - received);
        yield Buffer.alloc(65_536, 'x');
      }
    });
    expect((await connections.exchange('head\r\n', 20_000, body)).body).toBe('hello');
    expect(received).toBe(whole);
    // Sockets hold some megabytes; without waiting it would be all 13.
    expect(mostWaiting).toBeLessThan(whole * 0.8);
    await connections.exchange('next', 20_000);
    expect(seen).toHaveLength(1);
  });

  test('that cannot be read, or whose connection breaks, fails, and no other request follows it', async () => {
    const { seen, connections } = await newServer((text, socket) => {
      if (text === 'next') return hello;
      if (text.includes('break')) socket.destroy();
      return undefined;
    });
    const unread = bodyOf(10, async function* () {
      yield Buffer.from('half');
      throw new Error('gone');
    });
    await expect(connections.exchange('head', 20_000, unread)).rejects.toMatchObject({ reason: 'connection' });
    const endless = bodyOf(10, async function* () {
      yield Buffer.from('break');
      for (let piece = 0; piece < 100; piece++) yield Buffer.alloc(1_048_576);
    });
    await expect(connections.exchange('head', 20_000, endless)).rejects.toMatchObject({ reason: 'connection' });
    expect((await connections.exchange('next', 20_000)).body).toBe('hello');
    expect(seen).toHaveLength(3);
  });

  test('that is answered before its end is not sent to its end, and the connection is closed', async () => {
    const { sockets, connections } = await newServer((text) => (/^(?:head|next)/.test(text) ? hello : undefined));
    let isRead = false;
    const body = bodyOf(1_000_000_000, async function* () {
      for (let piece = 0; piece < 1_000; piece++) yield Buffer.alloc(1_000_000);
      isRead = true;
    });
    expect((await connections.exchange('head', 20_000, body)).body).toBe('hello');
    await expect.poll(() => sockets.size).toBe(0);
    expect((await connections.exchange('next', 20_000)).body).toBe('hello');
    expect(isRead).toBe(false);
  });

  test('must be as long as it says', async () => {
    const piece = async function* () {
      yield Buffer.from('abc');
    };
    for (const sizeBytes of [2, 4]) {
      const { body } = fileForm(
        { purpose: 'x' },
        { name: 'a.pdf', mediaType: 'application/pdf', sizeBytes, pieces: piece },
      );
      await expect(buffer(body.pieces())).rejects.toThrow('not as long as it says');
    }
    const { body } = fileForm(
      { purpose: 'x' },
      { name: 'a.pdf', mediaType: 'application/pdf', sizeBytes: 3, pieces: piece },
    );
    expect(await buffer(body.pieces())).toHaveLength(body.length);
  });
});

test('a line break in a header or a path is not sent', async () => {
  const { seen, port } = await newServer(() => hello);
  const client = createHttpClient();
  onTestFinished(() => client.close());
  const send = (path: string, key: string) =>
    client.makeRequest('127.0.0.1', String(port), path, 'GET', { 'Idempotency-Key': key }, '', 'http', 20_000);
  await expect(send('/v1/x', 'k\r\nStripe-Account: acct_2')).rejects.toThrow();
  await expect(send('/v1/x HTTP/1.1\r\nx: y', 'k')).rejects.toThrow();
  expect((await send('/v1/x', 'k')).getStatusCode()).toBe(200);
  expect(seen).toHaveLength(1);
});

test('a form is written as Stripe reads it', () => {
  const written = formOf({
    amount: 100,
    none: undefined,
    unset: null,
    metadata: { 'a b': 'é&=+ %', 'x[y]': '~ok' },
    types: ['card', 'x'],
    on: true,
  });
  expect(written).toBe(
    'amount=100&unset=&metadata[a%20b]=%C3%A9%26%3D%2B%20%25&metadata[x%5By%5D]=~ok&types[0]=card&types[1]=x&on=true',
  );
});

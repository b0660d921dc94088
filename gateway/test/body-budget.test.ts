import { once } from 'node:events';
import { type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { limits } from '@eligo/contract';
import { waitUntil } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { BodyBudget, defaultLimits } from '../src/http/body-budget.ts';
import { joinedChunks } from '../src/http/joined-chunks.ts';
import { readBody } from '../src/http/read-body.ts';
import { toFailure } from '../src/http/to-failure.ts';
import { writeFailure, writeJson } from '../src/http/write-answer.ts';
import { createHttpServer, type HttpServer } from '../src/server.ts';

const kilobyte = 1_024;
const nothing = () => undefined;

describe('the memory of request bodies', () => {
  test('is shared so that the account with the most leaves as much free [D14.136]', () => {
    const budget = new BodyBudget({ totalBytes: 100 });
    const one = budget.room('facct_1', nothing);
    one.take(50);
    expect(() => one.take(1)).toThrow('rate_limited');
    const two = budget.room('facct_2', nothing);
    two.take(25);
    expect(() => budget.room('facct_3', nothing).take(26)).toThrow('service_unavailable');
    one.release();
    expect(budget.takenBytes).toBe(25);
    budget.room('facct_1', nothing).take(37);
  });
});

describe('a server whose clients stall', () => {
  let http: HttpServer;
  let port = 0;
  const budget = new BodyBudget({
    totalBytes: 512 * kilobyte,
    body: { bytesPerSecond: 4_096, graceMs: 1_000 },
    upload: { bytesPerSecond: 32_768, graceMs: 1_000 },
  });

  beforeAll(async () => {
    http = createHttpServer(
      async (incoming, response) => {
        const accountId = String(incoming.headers['x-account']);
        const room = budget.room(accountId, () => incoming.destroy());
        try {
          if (incoming.url === '/upload') {
            room.awaitsUpload(() => incoming.socket.bytesRead);
            for await (const _ of incoming);
            room.arrived();
          } else {
            await readBody(incoming, room);
          }
          writeJson(response, 200, '{}', 'req_1');
        } catch (error) {
          writeFailure(response, toFailure(error), 'req_1');
        } finally {
          room.release();
        }
      },
      { total: 1_000, perNetwork: 1_000, isProxy: () => false },
    );
    port = await http.listen(0, '127.0.0.1');
  });
  afterAll(() => http.close(0));

  test('takes no more than its budget, serves other accounts, and cuts the stalled ones off [D14.136]', async () => {
    const stalled = Array.from({ length: 60 }, () => upload('facct_bad', 64 * kilobyte, 16 * kilobyte));
    await waitUntil(() => stalled.some(({ status }) => status === 429), { what: 'a refusal' });
    expect(budget.takenBytes).toBeLessThanOrEqual(256 * kilobyte);
    const good = upload('facct_good', 64 * kilobyte, 64 * kilobyte);
    await waitUntil(() => good.status !== 0);
    expect(good.status).toBe(200);
    await waitUntil(() => stalled.every(({ status }) => status !== 0), { what: 'the end of all', withinMs: 15_000 });
    expect(new Set(stalled.map(({ status }) => status))).toEqual(new Set([429, -1]));
    await waitUntil(() => budget.takenBytes === 0);
    expect((http.server as Server).listening).toBe(true);
  });

  test('cuts off a body of which nothing comes, and an upload that is slower than a body may be [D14.136]', async () => {
    const silent = upload('facct_bad', 64 * kilobyte, 0);
    const slowUpload = upload('facct_bad', 640 * kilobyte, 1 * kilobyte, '/upload');
    const [slow, steady] = [trickle('/', 8), trickle('/upload', 64)];
    await waitUntil(() => silent.status === -1 && slowUpload.status === -1, { what: 'both to be cut off' });
    await waitUntil(() => slow.status !== 0 && steady.status !== 0, { what: 'the others to arrive' });
    expect([slow.status, steady.status]).toEqual([200, 200]);
  });

  test('cuts off no body that arrived while the gateway stood still [D14.136]', async () => {
    const text = `"${'x'.repeat(16 * kilobyte)}"`;
    const headers = { 'content-type': 'application/json', 'content-length': text.length, 'x-account': 'facct_good' };
    const options = { port, host: '127.0.0.1', method: 'POST', headers: { ...headers, expect: '100-continue' } };
    const outgoing = request({ ...options, agent: false });
    // The server says so as it begins to wait for the body.
    outgoing.on('continue', () => {
      outgoing.end(text);
      const until = performance.now() + 2_000;
      while (performance.now() < until);
    });
    outgoing.flushHeaders();
    const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(200);
  });

  test('gives the largest body and the largest upload the time that they take at their least rates [D14.126] [D14.136]', () => {
    const { body, upload: ofUpload } = defaultLimits;
    const longestMs = Math.max(
      limits.bodyBytes / body.bytesPerSecond,
      (limits.fileBytes + 65_536) / ofUpload.bytesPerSecond,
    );
    expect((http.server as Server).requestTimeout).toBeGreaterThan(longestMs * 1_000);
  });

  // For three seconds, so many kilobytes a second.
  function trickle(path: string, kilobytesPerSecond: number): { status: number } {
    const end = { status: 0 };
    const headers = { 'content-type': 'application/json', 'transfer-encoding': 'chunked', 'x-account': 'facct_good' };
    const outgoing = request({ port, host: '127.0.0.1', path, method: 'POST', headers, agent: false }, (response) => {
      end.status = response.statusCode ?? 0;
      response.resume();
    });
    outgoing.on('error', () => {
      end.status = -1;
    });
    outgoing.write('"');
    let sent = 0;
    const startedAt = performance.now();
    const timer = setInterval(() => {
      // By the time that has passed: a timer of a busy machine comes late.
      const ms = Math.min(performance.now() - startedAt, 3_000);
      const due = Math.ceil((ms * kilobytesPerSecond * kilobyte) / 1_000);
      outgoing.write('x'.repeat(Math.max(0, due - sent)));
      sent = Math.max(due, sent);
      if (ms < 3_000) return;
      clearInterval(timer);
      outgoing.end('"');
    }, 50);
    return end;
  }

  // Sends a part of what it announces; -1 stands for a connection that was cut.
  function upload(account: string, announced: number, sent: number, path = '/'): { status: number } {
    const end = { status: 0 };
    const headers = { 'content-type': 'application/json', 'content-length': announced, 'x-account': account };
    const options = { port, host: '127.0.0.1', path, method: 'POST', headers, agent: false };
    const outgoing = request(options, (response) => {
      end.status = response.statusCode ?? 0;
      response.resume();
      outgoing.destroy();
    });
    outgoing.on('error', () => {
      if (end.status === 0) end.status = -1;
    });
    const text = `"${'x'.repeat(announced - 2)}"`;
    if (sent === 0) outgoing.flushHeaders();
    else outgoing.write(text.slice(0, sent));
    if (sent === announced) outgoing.end();
    return end;
  }
});

describe('a body in tiny chunks', () => {
  let http: HttpServer;
  let port = 0;
  const arrived: { incoming: IncomingMessage; answer(text: string): void }[] = [];

  beforeAll(async () => {
    const serve = (incoming: IncomingMessage, response: ServerResponse) => {
      arrived.push({ incoming, answer: (text) => void response.end(text) });
    };
    http = createHttpServer(serve, { total: 100, perNetwork: 100, isProxy: () => false });
    port = await http.listen(0, '127.0.0.1');
  });
  afterAll(() => http.close(0));

  /** The request once its whole body is at the server, which has not read any of it. */
  async function send(chunks: readonly string[]) {
    const socket = connect(port, '127.0.0.1');
    socket.write('POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n');
    socket.write(chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join(''));
    socket.write('0\r\n\r\n');
    await waitUntil(() => arrived[0]?.incoming.complete === true);
    const one = arrived.shift();
    if (one === undefined) throw new Error('No request arrived');
    const end = async () => {
      socket.resume();
      one.answer('');
      await once(socket, 'close');
    };
    return { incoming: one.incoming, end };
  }

  async function buffersOf(incoming: IncomingMessage): Promise<Buffer[]> {
    const buffers: Buffer[] = [];
    const rules = { arrived: nothing, broken: 'invalid_json' } as const;
    for await (const joined of joinedChunks(incoming, rules)) buffers.push(joined);
    return buffers;
  }

  test('is dropped after a thousand of them, also while it waits for its reader, and is refused [D14.136]', async () => {
    for (const chunks of [tiny(5_000), ['x'.repeat(50_000), ...tiny(5_000)]]) {
      const { incoming, end } = await send(chunks);
      // 64 of them give back the credit of one.
      expect(incoming.readableLength % 50_000).toBe(1_041);
      await expect(buffersOf(incoming)).rejects.toThrow('invalid_json');
      await end();
    }
  });

  test('is read if they are a thousand, or if larger ones are between them [D14.136]', async () => {
    for (const chunks of [tiny(1_024), Array.from({ length: 20 }, () => ['x'.repeat(2_000), ...tiny(30)]).flat()]) {
      const { incoming, end } = await send(chunks);
      expect(Buffer.concat(await buffersOf(incoming)).toString()).toBe(chunks.join(''));
      await end();
    }
  });

  test('is kept in few buffers [D14.136]', async () => {
    const chunks = Array.from({ length: 10_000 }, () => Buffer.alloc(100));
    const incoming = { iterator: () => chunks.values() } as unknown as IncomingMessage;
    const buffers = await buffersOf(incoming);
    expect(buffers.map(({ length }) => length)).toEqual([...Array(15).fill(65_600), 16_000]);
  });

  const tiny = (count: number) => Array.from({ length: count }, () => 'x');
});

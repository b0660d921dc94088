import { once } from 'node:events';
import { connect } from 'node:net';
import { limits } from '@eligo/contract';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTestGateway, type TestGateway } from './open-test-gateway.ts';
import { securityHeaders } from './security-headers.ts';

let stack: TestGateway;

beforeAll(async () => {
  stack = await openTestGateway({ ELIGO_SANDBOX_EVENTS_SECRET: 'whsec_1' });
});

afterAll(() => stack?.stop());

const path = () => `/v1/prices/${stack.peers.samples.price.priceId}`;

describe('HTTP by hand', () => {
  const exchange = (bytes: string) =>
    new Promise<string>((resolve, reject) => {
      const { hostname, port } = new URL(stack.url);
      let text = '';
      const socket = connect(Number(port), hostname, () => socket.write(bytes));
      socket.on('data', (chunk) => {
        text += chunk;
      });
      socket.on('close', () => resolve(text));
      socket.on('error', reject);
    });

  test.each([
    ['nonsense', 'nonsense\r\n\r\n', 400],
    ['a header block of more than 16 kB', `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['no host', 'GET /v1/prices HTTP/1.1\r\nConnection: close\r\n\r\n', 400],
    ['two hosts', 'GET /v1/prices HTTP/1.1\r\nHost: a\r\nhost: b\r\nConnection: close\r\n\r\n', 400],
    ['a tunnel', 'CONNECT api.shop.example:443 HTTP/1.1\r\nHost: a\r\n\r\n', 404],
    ['two lengths', 'POST /v1/prices HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', 400],
    [
      'a length and a transfer encoding',
      'POST /v1/prices HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
  ])('%s is refused in the contract’s shape [ERR-1, D14.60]', async (_what, bytes, status) => {
    const text = await exchange(bytes);
    expect(text).toContain(`HTTP/1.1 ${status} `);
    expect(JSON.parse(text.slice(text.indexOf('\r\n\r\n')))).toMatchObject({ code: expect.any(String) });
    const headers = text.slice(0, text.indexOf('\r\n\r\n')).toLowerCase().split('\r\n');
    expect(headers).toEqual(
      expect.arrayContaining(Object.entries(securityHeaders).map(([name, value]) => `${name}: ${value}`)),
    );
    expect(headers.find((line) => line.startsWith('request-id: '))).toMatch(/^request-id: freq_[0-9a-z]{26}$/);
  });

  test('who speaks HTTP/1.0 names no host', async () => {
    const head = `GET ${path()} HTTP/1.0\r\nAuthorization: Bearer ${stack.api.key}\r\n\r\n`;
    expect(await exchange(head)).toContain('HTTP/1.1 200 ');
  });

  test('a body that is announced too large is refused before any of it has come', async () => {
    const head = `POST /v1/customers HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${stack.api.key}\r\n`;
    expect(await exchange(`${head}Content-Length: ${limits.bodyBytes + 1}\r\n\r\n`)).toContain('HTTP/1.1 413 ');
  });

  test.each(['application/json', 'multipart/form-data; boundary=b'])(
    'a body of %s with an unknown key is refused before any of it has come [D14.136]',
    async (type) => {
      const head = 'POST /v1/files HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer fsk_test_none\r\n';
      const text = await exchange(`${head}Content-Type: ${type}\r\nContent-Length: 1000000\r\n\r\n`);
      expect(text).toContain('HTTP/1.1 401 ');
    },
  );

  const json = `{"name":"${'x'.repeat(2_000)}"}`;
  const file = `--b\r\nContent-Disposition: form-data; name=file; filename=a\r\n\r\n%PDF-1.4${'x'.repeat(2_000)}\r\n--b--\r\n`;
  test.each([
    ['with a key', 'v1/customers', 'application/json', json, 'invalid_json'],
    ['of a processor, before its signature is checked', 'processors/sandbox/events', '', json, 'invalid_json'],
    ['with a file', 'v1/files', 'multipart/form-data; boundary=b', file, 'invalid_multipart'],
  ])('a body in chunks of one byte %s is refused [D14.136]', async (_whose, route, type, body, code) => {
    const head = `POST /${route} HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${stack.api.key}\r\n`;
    const chunks = [...body].map((byte) => `1\r\n${byte}\r\n`).join('');
    const text = await exchange(`${head}Content-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`);
    expect(text).toContain('HTTP/1.1 400 ');
    expect(text).toContain(`"${code}"`);
  });

  test('a client that keeps sending a body that is too large reads the error, and is not reset', async () => {
    const { hostname, port } = new URL(stack.url);
    const socket = connect(Number(port), hostname);
    const length = 2 * limits.bodyBytes;
    socket.write(`POST /v1/customers HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${stack.api.key}\r\n`);
    socket.write(`Content-Length: ${length}\r\n\r\n`);
    const [refusal] = (await once(socket, 'data')) as [Buffer];
    expect(String(refusal)).toContain('HTTP/1.1 413 ');
    const ended = once(socket, 'end');
    socket.resume();
    // The body comes after the answer, in parts, so that a reset would meet one of them.
    for (let sent = 0; sent < length; sent += length / 8) {
      await new Promise<void>((resolve, reject) => {
        socket.write(Buffer.alloc(length / 8), (error) => (error == null ? resolve() : reject(error)));
      });
      await new Promise(setImmediate);
    }
    await ended;
    socket.destroy();
  });

  test('a request line may name the whole address, as for a proxy', async () => {
    const head = `HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAuthorization: Bearer ${stack.api.key}\r\n\r\n`;
    expect(await exchange(`GET http://api.shop.example${path()} ${head}`)).toContain('HTTP/1.1 200 ');
    expect(await exchange(`GET http://api.shop.example ${head}`)).toContain('HTTP/1.1 404 ');
  });
});

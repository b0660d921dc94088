import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Failure } from '@eligo/failures';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectNodeHandler, implement, rpcServer } from '../src/index.ts';
import { ProbeService } from './probe.ts';
import { identityOf } from './stage.ts';

const token = 'the-operator-token-of-this-test';
let http: Server;
let origin: string;

beforeAll(async () => {
  const server = rpcServer({
    identity: identityOf('probe'),
    handlers: [
      implement(ProbeService, {
        echo: ({ text, amount }, call) => {
          if (text === 'fail') throw new Failure('price_not_found');
          if (text === 'break') throw new Error('password=hunter2');
          return { text: `${call.from} ${call.scope.accountId} ${call.scope.testMode}`, amount };
        },
        open: () => ({}),
        async *count({ count }) {
          for (let at = 0; at < count; at += 1) yield { count: at };
        },
      }),
    ],
  });
  const options = {
    operatorToken: token,
    fallback: (_request: unknown, response: { writeHead(status: number): { end(): void } }) =>
      response.writeHead(404).end(),
  };
  http = createServer(connectNodeHandler(server, options));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
});
afterAll(() => {
  http.close();
  http.closeAllConnections();
});

const operator = { authorization: `Bearer ${token}`, 'eligo-account': 'facct_7' };

test('an operator calls with JSON and is identified as operator', async () => {
  const answer = await call('Echo', { amount: '9007199254740993' }, operator);
  expect(answer).toMatchObject({ status: 200, body: { text: 'operator facct_7 true', amount: '9007199254740993' } });
  expect((await call('Echo', {}, { ...operator, 'eligo-test-mode': 'false' })).body).toMatchObject({
    text: 'operator facct_7 false',
  });
});

test.each([
  ['no token', {}, 401],
  ['another token', { ...operator, authorization: 'Bearer something-else' }, 401],
  ['a token without its scheme', { ...operator, authorization: token }, 401],
  ['a credential of a component', { 'eligo-credential': identityOf('gateway').credentialFor('probe') }, 401],
  ['no account', { authorization: `Bearer ${token}` }, 400],
])('%s is refused', async (_, headers, status) => {
  expect(await call('Echo', {}, headers as Record<string, string>)).toMatchObject({ status });
});

test('an operator reaches what the gateway may reach, and no more', async () => {
  expect(await call('Open', {}, operator)).toMatchObject({ status: 403, body: { code: 'permission_denied' } });
});

test('a failure shows its code and text, anything else shows nothing', async () => {
  const failed = await call('Echo', { text: 'fail' }, operator);
  expect(failed).toMatchObject({
    status: 404,
    body: { code: 'not_found', message: new Failure('price_not_found').detail },
  });
  const broken = await call('Echo', { text: 'break' }, operator);
  expect(broken.status).toBe(500);
  expect(broken.text).not.toContain('hunter2');
});

test('bodies that are no JSON, of another type, or too large are refused', async () => {
  expect((await call('Echo', '{', operator)).status).toBe(400);
  expect((await call('Echo', { amount: 'x' }, operator)).status).toBe(400);
  expect((await call('Echo', { text: 'x'.repeat(5 * 1024 * 1024) }, operator)).status).toBe(429);
  expect((await fetch(`${origin}/eligo.probe.v1.ProbeService/Nothing`, { method: 'POST' })).status).toBe(404);
});

test('a server stream is served in envelopes', async () => {
  const body = enveloped(JSON.stringify({ count: 3 }));
  const response = await fetch(`${origin}/eligo.probe.v1.ProbeService/Count`, {
    method: 'POST',
    headers: { ...operator, 'content-type': 'application/connect+json' },
    body,
  });
  const text = await response.text();
  expect(text.match(/"count":\d/g)).toEqual(['"count":1', '"count":2']);
});

async function call(method: string, body: object | string, headers: Record<string, string>) {
  const response = await fetch(`${origin}/eligo.probe.v1.ProbeService/${method}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
  const text = await response.text();
  return { status: response.status, text, body: JSON.parse(text) as unknown };
}

function enveloped(text: string): Buffer {
  const data = Buffer.from(text);
  const head = Buffer.alloc(5);
  head.writeUInt32BE(data.length, 1);
  return Buffer.concat([head, data]);
}

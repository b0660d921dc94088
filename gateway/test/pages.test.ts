import { Code, ConnectError } from '@connectrpc/connect';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openTestGateway, type TestGateway } from './open-test-gateway.ts';

let stack: TestGateway;

beforeAll(async () => {
  stack = await openTestGateway();
});

afterEach(() => stack.peers.restore());

afterAll(() => stack?.stop());

describe('the public pages', () => {
  test('need no key: the description, health and readiness [D10.6]', async () => {
    const page = (at: string) => fetch(stack.url + at);
    expect(await (await page('/v1/openapi.json')).json()).toMatchObject({ openapi: '3.1.0' });
    expect(await (await page('/healthz')).json()).toEqual({ status: 'ok' });
    expect(await (await page('/readyz')).json()).toEqual({
      status: 'ok',
      checks: { postgres: 'ok', catalog: 'ok', checkout: 'ok', billing: 'ok', refunds: 'ok', webhooks: 'ok' },
    });
    const wrong = await fetch(`${stack.url}/healthz`, { method: 'POST' });
    expect(wrong.status).toBe(405);
    expect(wrong.headers.get('allow')).toBe('GET, HEAD');
  });

  test('say when a peer is gone [D10.6]', async () => {
    const gateway = await stack.another();
    stack.peers.answer('listInvoices', () => {
      throw new ConnectError('gone', Code.Unavailable);
    });
    const reply = await fetch(`${gateway.url}/readyz`);
    expect(reply.status).toBe(503);
    expect(await reply.json()).toMatchObject({ status: 'unavailable', checks: { billing: 'failed', catalog: 'ok' } });
  });

  test('what is not there is a 404 in the contract’s shape, without a key outside /v1', async () => {
    const reply = await fetch(`${stack.url}/`);
    expect(reply.status).toBe(404);
    expect(await reply.json()).toMatchObject({ code: 'not_found' });
  });
});

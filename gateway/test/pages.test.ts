import { Code, ConnectError } from '@connectrpc/connect';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
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
    // A check gives up after a second or so, which a busy machine may take.
    const readiness = async () => (await page('/readyz')).json();
    await expect.poll(readiness).toEqual({
      status: 'ok',
      checks: {
        postgres: 'ok',
        migrations: 'ok',
        services: 'ok',
        catalog: 'ok',
        checkout: 'ok',
        billing: 'ok',
        refunds: 'ok',
        webhooks: 'ok',
        nats: 'ok',
      },
    });
    const wrong = await fetch(`${stack.url}/healthz`, { method: 'POST' });
    expect(wrong.status).toBe(405);
    expect(wrong.headers.get('allow')).toBe('GET, HEAD');
  });

  const reads = ['listShippingRates', 'listCharges', 'listInvoices', 'listRefunds', 'listEndpoints'];

  test.each([
    { gone: ['listInvoices'], status: 200, checks: { services: 'ok', billing: 'failed', catalog: 'ok' } },
    { gone: reads.slice(1), status: 200, checks: { services: 'ok', billing: 'failed', catalog: 'ok' } },
    { gone: reads, status: 503, checks: { services: 'failed', billing: 'failed', catalog: 'failed' } },
  ])(
    'say on both ports what is gone: degraded without $gone.length services, unavailable without any [D14.135, D14.210]',
    async (told) => {
      const gateway = await stack.another();
      for (const method of told.gone) {
        stack.peers.answer(method, () => {
          throw new ConnectError('gone', Code.Unavailable);
        });
      }
      const ask = async (base: string) => {
        const reply = await fetch(`${base}/readyz`);
        const { status, checks } = (await reply.json()) as Record<string, unknown>;
        return { code: reply.status, status, checks };
      };
      const status = told.status === 200 ? 'degraded' : 'unavailable';
      await vi.waitFor(
        async () => {
          const replies = await Promise.all([gateway.url, `http://127.0.0.1:${gateway.adminPort}`].map(ask));
          expect(replies[0]).toMatchObject({ code: told.status, status, checks: told.checks });
          expect(replies[1]).toEqual(replies[0]);
        },
        { timeout: 30_000, interval: 100 },
      );
    },
  );

  test.each([
    {
      what: 'has pending migrations',
      parts: ['catalog'],
      health: { status: 'unavailable', failedChecks: ['migrations'] },
      reason: 'unavailable: migrations',
      check: 'failed',
    },
    {
      what: 'serves without events, as all do',
      parts: ['catalog', 'checkout', 'billing', 'refunds', 'webhooks'],
      health: { status: 'degraded', failedChecks: ['nats', 'disk'] },
      reason: 'degraded: nats, disk',
      check: 'degraded',
    },
  ])(
    'say that a service which answers reads $what: degraded, and the admin port says why [D14.392]',
    async ({ parts, health, reason, check }) => {
      const gateway = await stack.another();
      const ask = async (base: string) => (await fetch(`${base}/readyz`)).json() as Promise<Record<string, unknown>>;
      for (const part of parts) stack.peers.answer(`${part}.check`, () => health);
      const told = Object.fromEntries(parts.map((part) => [part, check]));
      await vi.waitFor(
        async () => {
          expect(await ask(gateway.url)).toMatchObject({ status: 'degraded', checks: { services: 'ok', ...told } });
          expect(await ask(`http://127.0.0.1:${gateway.adminPort}`)).toMatchObject({
            ...{ ready: true, status: 'degraded', checks: { services: 'ok', ...told } },
            reasons: Object.fromEntries(parts.map((part) => [part, reason])),
          });
          const metrics = await (await fetch(`http://127.0.0.1:${gateway.adminPort}/metrics`)).text();
          // What a degraded service lacks is an alert of its own.
          const gauge = check === 'failed' ? 0 : 1;
          expect(metrics).toMatch(new RegExp(`^eligo_readiness_check\\{[^}]*check="catalog"[^}]*\\} ${gauge}$`, 'm'));
        },
        { timeout: 30_000, interval: 100 },
      );
    },
  );

  test('what is not there is a 404 in the contract’s shape, without a key outside /v1', async () => {
    const reply = await fetch(`${stack.url}/`);
    expect(reply.status).toBe(404);
    expect(await reply.json()).toMatchObject({ code: 'not_found' });
  });
});

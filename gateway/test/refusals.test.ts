import { Code, ConnectError } from '@connectrpc/connect';
import { limits } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { KeyCache } from '../src/accounts/key-cache.ts';
import { createAccount, createKey, createOrganization, revokeKey, rollKey, updateAccount } from '../src/index.ts';
import { openTestGateway, type TestGateway } from './open-test-gateway.ts';
import { securityHeaders } from './security-headers.ts';

let stack: TestGateway;

beforeAll(async () => {
  stack = await openTestGateway();
});

afterEach(() => stack.peers.restore());

afterAll(() => stack?.stop());

const path = () => `/v1/prices/${stack.peers.samples.price.priceId}`;

describe('every answer', () => {
  test('carries a request id, security headers and no CORS headers [D10.3]', async () => {
    for (const answer of [await stack.api.get(path()), await stack.api.get('/nothing')]) {
      expect(answer.headers.get('request-id')).toMatch(/^freq_[0-9a-z]{26}$/);
      expect(Object.fromEntries(answer.headers)).toMatchObject(securityHeaders);
      expect([...answer.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
      expect(answer.headers.get('x-powered-by')).toBeNull();
    }
  });

  test('is JSON, and the body of a read is the same for HEAD but for the body [API-2, D1.3]', async () => {
    const head = await fetch(stack.url + path(), {
      method: 'HEAD',
      headers: { authorization: `Bearer ${stack.api.key}` },
    });
    expect(head.status).toBe(200);
    expect(await head.text()).toBe('');
  });

  test('its request id travels to the peers with the caller [AUTH-2]', async () => {
    stack.peers.seen.length = 0;
    const answer = await stack.api.get(path());
    const [seen] = stack.peers.seen;
    expect(seen?.call.requestId).toBe(answer.headers.get('request-id'));
    expect(seen?.call.caller).toMatchObject({ accountId: stack.accountId, testMode: true, issuer: 'gateway' });
    expect(stack.peers.seen).toHaveLength(1);
  });
});

describe('a browser that asks whether it may', () => {
  const ask = (headers: Record<string, string>) =>
    fetch(stack.url + path(), {
      method: 'OPTIONS',
      headers: { origin: 'https://shop.example', 'access-control-request-method': 'GET', ...headers },
    });

  test('is refused as anybody without a key, and is allowed nothing with one', async () => {
    const without = await ask({});
    expect(without.status).toBe(401);
    const refused = await ask({ authorization: `Bearer ${stack.api.key}` });
    expect(refused.status).toBe(405);
    expect(refused.headers.get('allow')).toBe('GET, HEAD, PATCH, POST');
    for (const { headers } of [without, refused]) {
      expect([...headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });
});

describe('keys', () => {
  test('are refused when they are expired, as unknown ones are [AUTH-5, D2.1]', async () => {
    const expired = await stack.newApi({ expiresAt: new Date(Date.now() - 1_000) });
    const answer = await expired.get(path());
    expect(answer.status).toBe(401);
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    expect(answer.text).toBe(await fetch(stack.url + path()).then((reply) => reply.text()));
  });

  test('with a wrong check make no query [AUTH-1, D2.1]', async () => {
    const key = stack.api.key.slice(0, -1) + (stack.api.key.endsWith('0') ? '1' : '0');
    const lookedUp = vi.spyOn(KeyCache.prototype, 'find');
    onTestFinished(() => lookedUp.mockRestore());
    for (let i = 0; i < 20; i += 1) {
      const reply = await fetch(stack.url + path(), { headers: { authorization: `Bearer ${key}` } });
      expect(reply.status).toBe(401);
    }
    expect(lookedUp).not.toHaveBeenCalled();
    const unseen = await stack.newApi();
    expect((await unseen.get(path())).status).toBe(200);
    expect(lookedUp).toHaveBeenCalledOnce();
  });

  test('that are revoked end on every gateway within 5 s [AUTH-5, D2.1]', async () => {
    const second = await stack.another();
    const api = await stack.newApi();
    const ask = async (url: string) =>
      (await fetch(url + path(), { headers: { authorization: `Bearer ${api.key}` } })).status;
    expect(await Promise.all([ask(stack.url), ask(second.url)])).toEqual([200, 200]);
    await revokeKey(stack.database, api.keyId);
    const revokedAt = performance.now();
    while ((await Promise.all([ask(stack.url), ask(second.url)])).some((status) => status !== 401)) {
      expect(performance.now() - revokedAt).toBeLessThan(5_000);
    }
  });

  test('both live while one replaces the other', async () => {
    const old = await stack.newApi();
    const rolled = await rollKey(stack.database, old.keyId, { overlapMs: 60_000 });
    const reply = await fetch(stack.url + path(), { headers: { authorization: `Bearer ${rolled.api_key}` } });
    expect(reply.status).toBe(200);
    expect((await old.get(path())).status).toBe(200);
  });

  test('take a scope with a colon for the one with an underscore [D2.2]', async () => {
    const api = await stack.newApi({ scopes: ['prices:read'] });
    expect((await api.get(path())).status).toBe(200);
    // Whoever is refused is told which scope is missing.
    expect((await api.patch(path(), { price: {} })).body).toMatchObject({
      code: 'insufficient_scope',
      detail: expect.stringContaining('does not have the scope prices_write. Use a key'),
    });
  });

  test('carry features and siblings, and a change of them counts at once', async () => {
    const organization = await createOrganization(stack.database, { name: 'A group' });
    const organizationId = organization.organization_id;
    const sibling = await createAccount(stack.database, { name: 'Sibling', organizationId });
    const member = await createAccount(stack.database, { name: 'Member', organizationId });
    const key = await createKey(stack.database, { accountId: member.account_id, testMode: true, rateLimit: 0 });
    const callerOf = async () => {
      stack.peers.seen.length = 0;
      await fetch(`${stack.url}/v1/prices`, { headers: { authorization: `Bearer ${key.api_key}` } });
      return stack.peers.seen[0]?.call.caller;
    };
    expect(await callerOf()).toMatchObject({ features: [], siblingAccountIds: [sibling.account_id] });
    await updateAccount(stack.database, member.account_id, { addFeatures: ['food_eligibility'] });
    const changedAt = performance.now();
    while ((await callerOf())?.features.includes('food_eligibility') !== true) {
      expect(performance.now() - changedAt).toBeLessThan(3_000);
    }
  });

  test('are never logged', async () => {
    await stack.api.get(path());
    expect(stack.log.join('')).not.toContain(stack.api.key);
    expect(stack.log.join('')).not.toMatch(/fsk_/);
  });
});

describe('the order of refusals', () => {
  test('a path that names nothing goes before a body that is wrong [ERR-3, D13.5]', async () => {
    const answer = await stack.api.patch(`/v1/products/${newId('product')}`, { product: { name: 5 } });
    expect(answer.body).toMatchObject({ code: 'product_not_found' });
    const malformed = await stack.api.patch(`/v1/products/${newId('product')}`, '{');
    expect(malformed.status).toBe(404);
    const owner = await stack.api.patch(`/v1/products/${stack.peers.samples.product.productId}`, {
      product: { name: 5 },
    });
    expect(owner.status).toBe(422);
  });

  test('a price of a sibling account can be read, and to a change that is wrong it is not there', async () => {
    const { price } = stack.peers.samples;
    const id = newId('price');
    stack.peers.answer('getPrice', () => ({ ...price, priceId: id }));
    stack.peers.answer('batchGetPrices', () => ({ prices: [] }));
    expect((await stack.api.get(`/v1/prices/${id}`)).status).toBe(200);
    const answer = await stack.api.patch(`/v1/prices/${id}`, { price: { active: 'yes' } });
    expect(answer.status).toBe(404);
    expect(answer.body).toMatchObject({ code: 'price_not_found' });
  });

  test('a confirm judges its header and body before it looks for the session [STATE-2, D13.5]', async () => {
    const confirm = `/v1/checkout/sessions/${newId('checkout_session')}/confirm`;
    expect((await stack.api.post(confirm, { checkout_session: {} })).body).toMatchObject({
      code: 'idempotency_key_required',
    });
    const empty = { headers: { 'idempotency-key': '' } };
    expect((await stack.api.post(confirm, { checkout_session: {} }, empty)).body).toMatchObject({
      code: 'idempotency_key_required',
    });
    const key = { idempotencyKey: 'k1' };
    expect((await stack.api.post(confirm, { checkout_session: { payment_method: 1 } }, key)).status).toBe(422);
    expect((await stack.api.post(confirm, { checkout_session: {} }, key)).status).toBe(404);
  });

  test('a confirm does so too when its path is not an identifier, and leaves that to the service [D14.59]', async () => {
    const confirm = '/v1/checkout/sessions/fcs_1/confirm';
    expect((await stack.api.post(confirm, { checkout_session: {} })).body).toMatchObject({
      code: 'idempotency_key_required',
    });
    const key = { idempotencyKey: 'k1' };
    expect((await stack.api.post(confirm, { checkout_session: { payment_method: 1 } }, key)).status).toBe(422);
    stack.peers.answer('confirmSession', ({ id }) => {
      expect(id).toBe('fcs_1');
      throw new Failure('checkout_session_not_found');
    });
    expect((await stack.api.post(confirm, { checkout_session: {} }, key)).status).toBe(404);
  });

  test('a parameter name that would change the prototype is refused however it is written, and a value is a text', async () => {
    for (const name of ['__proto__', '%5F_proto__', 'metadata[%5f%5fproto__]', 'metadata%5B__proto__%5D']) {
      const refused = await stack.api.get(`/v1/prices?${name}=1`);
      expect(refused.body.detail, name).toMatchObject([{ type: 'invalid_key' }]);
    }
    expect((await stack.api.get('/v1/prices?lookup_keys[]=__proto__')).status).toBe(200);
  });

  test('the errors of body and query are returned in one list [ERR-2]', async () => {
    const answer = await stack.api.post('/v1/shipping_rates', { shipping_rate: { amount: -1 } });
    expect(answer.body.detail).toEqual([
      { loc: ['body', 'shipping_rate', 'display_name'], msg: 'Field required', type: 'missing' },
      { loc: ['body', 'shipping_rate', 'amount'], msg: expect.any(String), type: 'too_small' },
    ]);
  });
});

describe('the idempotency key', () => {
  test.each(['with space', 'ü', 'x'.repeat(256)])('%j is refused', async (key) => {
    const answer = await stack.api.post('/v1/customers', { customer: {} }, { headers: { 'idempotency-key': key } });
    expect(answer.status).toBe(422);
    expect(answer.body.detail).toMatchObject([{ loc: ['header', 'idempotency-key'] }]);
  });

  test('is passed on with a hash that the order of keys does not change and the body, the query and the path do', async () => {
    const hashOf = async (url: string, body: string) => {
      stack.peers.seen.length = 0;
      await stack.api.post(url, body, { idempotencyKey: 'k' });
      const seen = stack.peers.seen.at(-1);
      const idempotency = seen?.request.idempotency as { key: string; requestHash: Uint8Array } | undefined;
      expect(idempotency?.key).toBe('k');
      return Buffer.from(idempotency?.requestHash ?? []).toString('hex');
    };
    const base = await hashOf('/v1/customers', '{"customer":{"first_name":"A","last_name":"B"}}');
    expect(base).toHaveLength(64);
    expect(await hashOf('/v1/customers', '{"customer": {"last_name":"B","first_name":"A"}}')).toBe(base);
    expect(await hashOf('/v1/customers', '{"customer":{"first_name":"A","last_name":"C"}}')).not.toBe(base);
    expect(await hashOf('/v1/customers?expand=x', '{"customer":{"first_name":"A","last_name":"B"}}')).not.toBe(base);
    const refundOf = (id: string) => hashOf(`/v1/checkout/sessions/${id}/refund`, '{}');
    expect(await refundOf(newId('checkout_session'))).not.toBe(await refundOf(newId('checkout_session')));
  });

  test('is ignored on catalog and webhook routes, whatever it holds [D1.1]', async () => {
    const headers = { 'idempotency-key': 'with space' };
    expect(
      (await stack.api.post('/v1/webhooks', { webhook: { url: 'https://a.example', events: ['*'] } }, { headers }))
        .status,
    ).toBe(200);
  });
});

describe('what the peers say', () => {
  const confirm = () =>
    stack.api.post(
      `/v1/checkout/sessions/${stack.peers.samples.checkout_session.checkoutSessionId}/confirm`,
      { checkout_session: {} },
      { idempotencyKey: 'k' },
    );

  test('a refusal crosses as it is [ERR-1]', async () => {
    stack.peers.answer('confirmSession', () => {
      throw new Failure('card_declined', { declineCode: 'generic_decline' });
    });
    const answer = await confirm();
    expect(answer.status).toBe(402);
    expect(answer.body).toMatchObject({ code: 'card_declined', decline_code: 'generic_decline' });
  });

  test('a wait crosses as Retry-After', async () => {
    stack.peers.answer('confirmSession', () => {
      throw new Failure('lock_timeout', { retryAfterSeconds: 2 });
    });
    expect((await confirm()).headers.get('retry-after')).toBe('2');
    stack.peers.answer('confirmSession', () => {
      throw new Failure('service_unavailable');
    });
    expect((await confirm()).headers.get('retry-after')).toBe('1');
  });

  test('sends Retry-After only when a retry can succeed', async () => {
    stack.peers.answer('confirmSession', () => {
      throw new Failure('processor_not_configured');
    });
    const answer = await confirm();
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBeNull();
  });

  test('anything else is a 500 without its text, and is logged [ERR-1]', async () => {
    stack.peers.answer('getPrice', () => {
      throw new Error('secret inner text');
    });
    const answer = await stack.api.get(path());
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain('secret');
    expect(Object.keys(answer.body)).toEqual(['code', 'detail']);
    expect(stack.log.some((line) => line.includes('Request failed with an unexpected error'))).toBe(true);
  });

  test('a peer that cannot be reached or is too late is a 503 that says when to come again', async () => {
    for (const code of [Code.Unavailable, Code.DeadlineExceeded]) {
      stack.peers.answer('createCustomer', () => {
        throw new ConnectError('gone', code);
      });
      const answer = await stack.api.post('/v1/customers', { customer: {} });
      expect(answer.status).toBe(503);
      expect(answer.headers.get('retry-after')).toBe('1');
    }
  });

  test('a confirm that is too late says that its key is in use', async () => {
    stack.peers.answer('confirmSession', () => {
      throw new ConnectError('late', Code.DeadlineExceeded);
    });
    const answer = await confirm();
    expect(answer.status).toBe(503);
    expect(answer.body).toMatchObject({ code: 'idempotency_key_in_use' });
  });
});

describe('a deprecated endpoint', () => {
  const intent = () => stack.peers.samples.payment_intent.paymentIntentId;
  const endpoints: [name: string, path: () => string, body: () => object, successor: string][] = [
    ['refund', () => '/v1/refunds', () => ({ refund: { payment_intent_id: intent() } }), 'refund'],
    ['capture', () => `/v1/payment_intents/${intent()}/capture`, () => ({}), 'capture'],
  ];

  test.each(endpoints)(
    '%s says that it is, until when, and what replaces it [VER-2, VER-3, API-7, D10.5]',
    async (_, path, body) => {
      const answer = await stack.api.post(path(), body());
      expect(answer.status).toBe(200);
      expect(answer.headers.get('deprecation')).toMatch(/^@\d+$/);
      expect(answer.headers.get('sunset')).toBe('Tue, 30 Jun 2026 23:59:59 GMT');
      expect(answer.headers.get('link')).toContain('rel="successor-version"');
    },
  );

  test.each(endpoints)('%s can be turned off, and is then gone [D10.5]', async (_, path, body, successor) => {
    const gateway = await stack.another({ ELIGO_DEPRECATED_ENDPOINTS: 'off' });
    const reply = await fetch(`${gateway.url}${path()}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${stack.api.key}`, 'content-type': 'application/json' },
      body: JSON.stringify(body()),
    });
    expect(reply.status).toBe(410);
    expect(await reply.json()).toMatchObject({ code: 'endpoint_removed' });
    expect(reply.headers.get('sunset')).toBe('Tue, 30 Jun 2026 23:59:59 GMT');
    expect(reply.headers.get('link')).toBe(`</v1/checkout/sessions/{id}/${successor}>; rel="successor-version"`);
  });
});

describe('a body that is too large', () => {
  const send = (body: ReadableStream<Uint8Array> | string) =>
    fetch(`${stack.url}/v1/customers`, {
      method: 'POST',
      headers: { authorization: `Bearer ${stack.api.key}`, 'content-type': 'application/json' },
      body,
      ...(typeof body === 'string' ? {} : { duplex: 'half' }),
    });

  test('is refused by its announced length before it is read', async () => {
    const reply = await send(`{"a":"${'x'.repeat(limits.bodyBytes)}"}`);
    expect(reply.status).toBe(413);
    expect(reply.headers.get('connection')).toBe('close');
  });

  test('is refused while it arrives when it announces none [D10.2]', async () => {
    const chunk = new TextEncoder().encode('x'.repeat(100_000));
    let sent = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        sent += 1;
        if (sent > 11) controller.close();
        else controller.enqueue(chunk);
      },
    });
    const reply = await send(body);
    expect(reply.status).toBe(413);
    expect(await reply.json()).toMatchObject({ code: 'payload_too_large' });
  });

  test('is accepted up to the limit [D10.2]', async () => {
    const padding = 'x'.repeat(limits.bodyBytes - 30);
    expect((await send(`{"customer":{},"b":"${padding}"}`)).status).toBe(200);
  });
});

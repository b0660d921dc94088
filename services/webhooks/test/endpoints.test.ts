import type { Scope } from '@eligo/postgres';
import { WebhooksService } from '@eligo/proto/webhooks/v1/webhooks';
import {
  type Client,
  client,
  generateComponentKeys,
  type Identity,
  implement,
  inProcessTransport,
  openIdentity,
  rpcServer,
} from '@eligo/rpc';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endpointHandlers } from '../src/rpc/endpoints.ts';
import { eventHandlers } from '../src/rpc/events.ts';
import { type Fixture, openFixture, type Receiver, receiver, refundEvent, someScope } from './fixture.ts';

let on: Fixture;
let shop: Receiver;
let gateway: Identity;
let webhooks: Client<typeof WebhooksService>;
let refunds: Identity;
let asRefunds: Client<typeof WebhooksService>;

beforeAll(async () => {
  on = await openFixture();
  shop = await receiver();
  const keys = generateComponentKeys(['gateway', 'webhooks', 'refunds']);
  const identityOf = (name: string) =>
    openIdentity({ name, privateKey: keys.privateKeys[name] ?? '', publicKeys: keys.publicKeys });
  gateway = identityOf('gateway');
  const handlers = implement(WebhooksService, { ...endpointHandlers(on.webhooks), ...eventHandlers(on.webhooks) });
  const transport = inProcessTransport(rpcServer({ handlers: [handlers], identity: identityOf('webhooks') }), {
    encode: true,
  });
  webhooks = client(WebhooksService, transport, gateway);
  refunds = identityOf('refunds');
  asRefunds = client(WebhooksService, transport, refunds);
});
afterAll(async () => {
  await shop.close();
  await on.close();
});

const as = (scope: Scope) => ({ caller: gateway.callerFor(scope), timeoutMs: 30_000 });
const ids = (list: { webhooks: { webhookId: string }[] }) => list.webhooks.map(({ webhookId }) => webhookId);

describe('an endpoint', () => {
  it('beyond the thousandth of an account and mode is refused, until one is deleted [D14.61]', async () => {
    const scope = someScope();
    await on.admin(
      `insert into webhooks.endpoints (account_id, test_mode, id, url, events, status, created_at)
       select $1, true, 'fwh_' || n, 'http://127.0.0.1/', '{*}', 'enabled', now() from generate_series(1, 999) n`,
      [scope.accountId],
    );
    const create = (where = scope) => webhooks.createEndpoint({ url: shop.url }, as(where));
    const { webhookId: id } = await create();
    await expect(create()).rejects.toMatchObject({ code: 'conflict', detail: expect.stringContaining('1000') });
    await create({ ...scope, testMode: false });
    await webhooks.deleteEndpoint({ id }, as(scope));
    await create();
  });

  it('shows its secret at creation and at a roll, and never else', async () => {
    const scope = someScope();
    const made = await webhooks.createEndpoint({ url: shop.url, events: ['refund.created'] }, as(scope));
    expect(made).toMatchObject({ status: 'enabled', events: ['refund.created'], testMode: true });
    expect(made.signingSecret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const id = made.webhookId;
    const rolled = await webhooks.rollEndpointSecret({ id }, as(scope));
    expect(rolled.signingSecret).toMatch(/^whsec_/);
    expect(rolled.signingSecret).not.toBe(made.signingSecret);
    expect((await webhooks.getEndpoint({ id }, as(scope))).signingSecret).toBeUndefined();
    expect((await webhooks.updateEndpoint({ id }, as(scope))).signingSecret).toBeUndefined();
    const { webhooks: listed } = await webhooks.listEndpoints({}, as(scope));
    expect(listed.map(({ signingSecret }) => signingSecret)).toEqual([undefined]);
  });

  it('may have the URL of another, and wants every type when none is named [D13.9]', async () => {
    const scope = someScope();
    const one = await webhooks.createEndpoint({ url: shop.url }, as(scope));
    const two = await webhooks.createEndpoint({ url: shop.url, events: ['*', 'refund.created'] }, as(scope));
    expect([one.events, two.events]).toEqual([['*'], ['*']]);
    expect(ids(await webhooks.listEndpoints({}, as(scope)))).toEqual([two.webhookId, one.webhookId]);
  });

  it('keeps well-formed types that Eligo does not emit, each once [D14.22]', async () => {
    const events = ['partner.updated', 'refund.created', 'refund.created'];
    const made = await webhooks.createEndpoint({ url: shop.url, events }, as(someScope()));
    expect(made.events).toEqual(['partner.updated', 'refund.created']);
  });

  it.each([
    [{ url: 'ftp://127.0.0.1/' }, 'url', 'webhook_url_not_allowed'],
    [{ url: '' }, 'url', 'webhook_url_not_allowed'],
    [{ url: 'http://10.0.0.1/' }, 'url', 'webhook_url_not_allowed'],
    [{ url: 'http://user:pw@127.0.0.1/' }, 'url', 'webhook_url_not_allowed'],
    [{ url: 'http://127.0.0.1/', events: ['refund.created', 'Refund'] }, 'events.1', 'event_type_invalid'],
    [{ url: 'http://127.0.0.1/', events: Array.from({ length: 201 }, (_, i) => `a.b${i}`) }, 'events', 'too_long'],
  ])('is refused at its field: %j', async (request, field, type) => {
    const refused = { violations: [{ loc: ['body', 'webhook', ...field.split('.')], type }] };
    const scope = someScope();
    await expect(webhooks.createEndpoint(request, as(scope))).rejects.toMatchObject(refused);
    expect((await webhooks.listEndpoints({}, as(scope))).webhooks).toEqual([]);
  });

  it('changes only what is given', async () => {
    const scope = someScope();
    const { webhookId: id } = await webhooks.createEndpoint({ url: shop.url, events: ['refund.created'] }, as(scope));
    const url = `${shop.url}/new`;
    expect(await webhooks.updateEndpoint({ id, url }, as(scope))).toMatchObject({ url, events: ['refund.created'] });
    const events = { values: ['customer.created'] };
    expect(await webhooks.updateEndpoint({ id, events }, as(scope))).toMatchObject({ url, events: events.values });
    const refused = { violations: [{ loc: ['body', 'webhook', 'url'] }] };
    await expect(webhooks.updateEndpoint({ id, url: 'http://10.0.0.1/' }, as(scope))).rejects.toMatchObject(refused);
  });

  it('is gone when it is deleted, and gets nothing more', async () => {
    const scope = someScope();
    const { webhookId: id } = await webhooks.createEndpoint({ url: `${shop.url}/gone` }, as(scope));
    expect(await webhooks.deleteEndpoint({ id }, as(scope))).toMatchObject({ webhookId: id, deleted: true });
    const unknown = { code: 'webhook_not_found' };
    await expect(webhooks.getEndpoint({ id }, as(scope))).rejects.toMatchObject(unknown);
    await expect(webhooks.deleteEndpoint({ id }, as(scope))).rejects.toMatchObject(unknown);
    expect(ids(await webhooks.listEndpoints({}, as(scope)))).toEqual([]);
    await on.consume(refundEvent(scope));
    await on.worker.idle();
    expect(await on.admin('select 1 from webhooks.endpoint_secrets where endpoint_id = $1', [id])).toEqual([]);
    expect(await on.admin('select 1 from webhooks.deliveries where endpoint_id = $1', [id])).toEqual([]);
  });

  it('belongs to its account and mode alone, in every method', async () => {
    const scope = someScope();
    const { webhookId: id } = await webhooks.createEndpoint({ url: shop.url }, as(scope));
    for (const other of [someScope(), { ...scope, testMode: false }]) {
      const unknown = { code: 'webhook_not_found' };
      await expect(webhooks.getEndpoint({ id }, as(other))).rejects.toMatchObject(unknown);
      await expect(webhooks.updateEndpoint({ id }, as(other))).rejects.toMatchObject(unknown);
      await expect(webhooks.deleteEndpoint({ id }, as(other))).rejects.toMatchObject(unknown);
      await expect(webhooks.rollEndpointSecret({ id }, as(other))).rejects.toMatchObject(unknown);
      await expect(webhooks.testEndpoint({ id }, as(other))).rejects.toMatchObject(unknown);
      await expect(webhooks.listDeliveries({ webhookId: id }, as(other))).rejects.toMatchObject(unknown);
      expect(ids(await webhooks.listEndpoints({}, as(other)))).toEqual([]);
      await expect(webhooks.listEndpoints({ page: { limit: 1n, startingAfter: id } }, as(other))).rejects.toMatchObject(
        {
          violations: [{ loc: ['query', 'starting_after'] }],
        },
      );
    }
    expect((await webhooks.getEndpoint({ id }, as(scope))).webhookId).toBe(id);
  });

  it('is the business of the gateway alone', async () => {
    const call = { caller: refunds.callerFor(someScope()) };
    await expect(asRefunds.getEndpoint({ id: 'fwh_x' }, call)).rejects.toMatchObject({ code: 7 });
  });
});

describe('deliveries and events', () => {
  it('say what was sent, and how that went', async () => {
    const scope = someScope();
    const { webhookId } = await webhooks.createEndpoint(
      { url: `${shop.url}/said`, events: ['refund.created'] },
      as(scope),
    );
    const first = refundEvent(scope);
    await on.consume(first);
    await on.worker.idle();
    shop.answerWith((_request, response) => void response.writeHead(404).end());
    const second = refundEvent(scope);
    await on.consume(second);
    await on.worker.idle();
    shop.answerWith((_request, response) => void response.end());
    const { deliveries } = await webhooks.listDeliveries({ webhookId }, as(scope));
    expect(deliveries).toMatchObject([
      { eventId: second.eventId, status: 'failed', attempts: 1, lastResponseStatus: 404, lastError: 'answered 404' },
      {
        eventId: first.eventId,
        status: 'succeeded',
        attempts: 1,
        lastResponseStatus: 200,
        eventType: 'refund.created',
      },
    ]);
    expect(deliveries[0]?.nextAttemptAtMs).toBeDefined();
    expect(deliveries[1]?.deliveredAtMs).toBeDefined();

    const event = await webhooks.getEvent({ id: first.eventId }, as(scope));
    expect(Buffer.from(event.body).toString()).toBe(
      shop.received.find(({ headers }) => headers['webhook-id'] === first.eventId)?.body,
    );
    const all = await webhooks.listEvents({}, as(scope));
    expect(all.events.map(({ eventId }) => eventId)).toEqual([second.eventId, first.eventId]);
    expect((await webhooks.listEvents({ eventType: 'refund.updated' }, as(scope))).events).toEqual([]);
    expect((await webhooks.listEvents({ eventType: 'refund.created' }, as(scope))).events).toHaveLength(2);
  });

  it('belong to their account and mode alone', async () => {
    const scope = someScope();
    const event = refundEvent(scope);
    await on.consume(event);
    for (const other of [someScope(), { ...scope, testMode: false }]) {
      await expect(webhooks.getEvent({ id: event.eventId }, as(other))).rejects.toMatchObject({
        code: 'event_not_found',
      });
      await expect(webhooks.retryEvent({ id: event.eventId }, as(other))).rejects.toMatchObject({
        code: 'event_not_found',
      });
      expect((await webhooks.listEvents({}, as(other))).events).toEqual([]);
    }
  });
});

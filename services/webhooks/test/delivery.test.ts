import type { IncomingHttpHeaders } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { claimDeliveries } from '../src/actions/claim-deliveries.ts';
import { rollSecret } from '../src/actions/roll-secret.ts';
import { testEndpoint } from '../src/actions/test-endpoint.ts';
import { listEventsOfRecords } from '../src/store/events-of-records.ts';
import {
  asleep,
  type Fixture,
  openFixture,
  type Receiver,
  receiver,
  refundEvent,
  rowsOf,
  someScope,
} from './fixture.ts';

let on: Fixture;
let shop: Receiver;

beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
beforeEach(async () => {
  shop = await receiver();
});
afterEach(() => shop.close());

afterEach(() => on.clock.reset());

const waitOf = (delivery: Record<string, unknown> | undefined): number =>
  delivery?.next_attempt_at instanceof Date ? delivery.next_attempt_at.getTime() - on.clock.now().getTime() : -1;

const textHeaders = (headers: IncomingHttpHeaders = {}): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));

const verify = (secret: string, at: number) => {
  const got = shop.received[at];
  if (got === undefined) throw new Error(`nothing was received at ${at}`);
  return new Webhook(secret).verify(got.body, textHeaders(got.headers));
};

describe('a delivered event', () => {
  it('is sent once, signed, with the body of the event [HOOK-1]', async () => {
    const scope = someScope();
    const { secret } = await on.endpoint(scope, shop.url, ['refund.created']);
    const event = refundEvent(scope);
    expect(await on.consume(event)).toBe(true);
    expect(await on.consume(event)).toBe(false);
    await on.worker.idle();

    expect(shop.received).toHaveLength(1);
    const body = verify(secret, 0) as Record<string, unknown>;
    expect(body).toMatchObject({ event_id: event.eventId, event_type: 'refund.created', test_mode: true });
    expect(shop.received[0]?.headers['webhook-id']).toBe(event.eventId);
    expect(await rowsOf(on, 'deliveries', scope)).toMatchObject([{ status: 'succeeded', attempts: 1 }]);
    expect(await rowsOf(on, 'deliveries', scope)).toMatchObject([
      { last_response_status: 200, last_error: null, last_duration_ms: expect.any(Number) },
    ]);
    // Attempts that failed have rows of their own.
    expect(await rowsOf(on, 'attempts', scope)).toEqual([]);
  });

  it('goes to every endpoint of its account and mode that wants its type, and to no other [D1.11]', async () => {
    const [scope, other] = [someScope(), someScope()];
    const live = { ...scope, testMode: false };
    const paths = async (where: typeof scope, path: string, events: string[]) =>
      on.endpoint(where, `${shop.url}/${path}`, events);
    await paths(scope, 'type', ['refund.updated', 'refund.created']);
    await paths(scope, 'all', ['*']);
    await paths(scope, 'all-again', []);
    await paths(scope, 'another-type', ['customer.created', 'something.new']);
    await paths(other, 'another-account', ['*']);
    await paths(live, 'another-mode', ['*']);
    await on.consume(refundEvent(scope));
    await on.worker.idle();
    const sent = await rowsOf(on, 'deliveries', scope);
    expect(sent).toHaveLength(3);
    expect(shop.received).toHaveLength(3);
    expect(new Set(shop.received.map(({ body }) => body)).size).toBe(1);
    expect([...(await rowsOf(on, 'deliveries', other)), ...(await rowsOf(on, 'deliveries', live))]).toEqual([]);
  });

  it('is kept without subscribers, and an internal event is not', async () => {
    const scope = someScope();
    await on.consume(refundEvent(scope));
    await on.consume(refundEvent(scope, 'command.refund'));
    expect(await rowsOf(on, 'events', scope)).toHaveLength(1);
  });
});

describe('during a roll', () => {
  it('verifies with the old secret alone, which signs first, and with the new one [D1.11]', async () => {
    const scope = someScope();
    const { webhookId, secret: old } = await on.endpoint(scope, shop.url);
    const { signingSecret: fresh } = await rollSecret(on.webhooks, scope, webhookId);
    await on.consume(refundEvent(scope));
    await on.worker.idle();
    verify(old, 0);
    verify(fresh, 0);
    const [got] = shop.received;
    const [first] = String(got?.headers['webhook-signature']).split(' ');
    const headers = { ...textHeaders(got?.headers), 'webhook-signature': first ?? '' };
    new Webhook(old).verify(got?.body ?? '', headers);
    expect(() => new Webhook(fresh).verify(got?.body ?? '', headers)).toThrow();
  });

  it('has two live secrets at most, and the old one ends after 24 hours', async () => {
    const scope = someScope();
    const { webhookId, secret: first } = await on.endpoint(scope, shop.url);
    const { signingSecret: second } = await rollSecret(on.webhooks, scope, webhookId);
    const { signingSecret: third } = await rollSecret(on.webhooks, scope, webhookId);
    await on.consume(refundEvent(scope));
    await on.worker.idle();
    expect(String(shop.received[0]?.headers['webhook-signature']).split(' ')).toHaveLength(2);
    expect(() => verify(first, 0)).toThrow();
    verify(second, 0);
    verify(third, 0);

    await on.admin(`update webhooks.endpoint_secrets set expires_at = now() where expires_at is not null`);
    await on.consume(refundEvent(scope));
    await on.worker.idle();
    expect(() => verify(second, 1)).toThrow();
    verify(third, 1);
  });

  it('that is large is not held while it waits, and is sent and signed like any other', async () => {
    const scope = someScope();
    const { webhookId, secret } = await on.endpoint(scope, shop.url);
    const event = refundEvent(scope);
    if (event.object.case === 'refund') event.object.value.metadata = { note: 'x'.repeat(40_000) };
    on.webhooks.sender = asleep;
    await on.consume(event);
    on.webhooks.sender = on.worker;
    const request = { webhookId, inHand: [], room: 1 };
    const claimant = { owner: 'looking', at: on.clock.now(), leaseMs: 0 };
    const { deliveries } = await claimDeliveries(on.database, scope, [request], claimant);
    expect(deliveries).toMatchObject([{ eventId: event.eventId, body: undefined }]);
    await on.worker.sweep();
    await on.worker.idle();
    expect(verify(secret, 0)).toMatchObject({ event_id: event.eventId });
    expect(shop.received[0]?.body.length).toBeGreaterThan(40_000);
    expect(await rowsOf(on, 'deliveries', scope)).toMatchObject([{ status: 'succeeded', attempts: 1 }]);
  });

  it('keeps secrets sealed, each bound to its account and mode', async () => {
    const scope = someScope();
    const { secret } = await on.endpoint(scope, shop.url);
    const [row] = await rowsOf(on, 'endpoint_secrets', scope);
    expect(JSON.stringify(row)).not.toContain(secret.slice('whsec_'.length));
    const sealed = String(row?.sealed);
    expect(on.webhooks.secrets.open(scope, sealed)).toBe(secret);
    expect(() => on.webhooks.secrets.open(someScope(), sealed)).toThrow();
    expect(() => on.webhooks.secrets.open({ ...scope, testMode: false }, sealed)).toThrow();
  });
});

describe('a failed attempt', () => {
  it.each([301, 302, 400, 404, 500, 503])('that was answered %i is tried again under the same id', async (status) => {
    const scope = someScope();
    await on.endpoint(scope, shop.url);
    shop.answerWith((_request, response) => void response.writeHead(status, { location: shop.url }).end());
    const event = refundEvent(scope);
    const before = on.clock.now().getTime();
    await on.consume(event);
    await on.worker.idle();
    const after = on.clock.now().getTime();
    const [waiting] = await rowsOf(on, 'deliveries', scope);
    expect(waiting).toMatchObject({ status: 'pending', attempts: 1, last_response_status: status });
    expect(await rowsOf(on, 'attempts', scope)).toMatchObject([
      { response_status: status, error: `answered ${status}` },
    ]);
    const next = Number(waiting?.next_attempt_at);
    expect(next).toBeGreaterThanOrEqual(before + 4_500);
    expect(next).toBeLessThanOrEqual(after + 5_500);
    expect(await rowsOf(on, 'endpoints', scope)).toMatchObject([{ failing_since: expect.any(Date) }]);

    await on.worker.sweep();
    await on.worker.idle();
    expect(shop.received).toHaveLength(1);
    shop.answerWith((_request, response) => void response.writeHead(204).end());
    on.clock.advance(6_000);
    await on.worker.sweep();
    await on.worker.idle();
    expect(shop.received.map(({ headers }) => headers['webhook-id'])).toEqual([event.eventId, event.eventId]);
    expect(shop.received[0]?.body).toBe(shop.received[1]?.body);
    expect(shop.received[0]?.headers['webhook-timestamp']).not.toBe(shop.received[1]?.headers['webhook-timestamp']);
    expect(await rowsOf(on, 'deliveries', scope)).toMatchObject([{ status: 'succeeded', attempts: 2 }]);
    // One success clears what was held against the endpoint.
    expect(await rowsOf(on, 'endpoints', scope)).toMatchObject([{ failures_in_row: 0, failing_since: null }]);
  });

  it('is given up after the tenth', async () => {
    const scope = someScope();
    await on.endpoint(scope, shop.url);
    shop.answerWith((_request, response) => void response.writeHead(400).end());
    await on.consume(refundEvent(scope));
    await on.worker.idle();
    for (let i = 0; i < 12; i++) {
      on.clock.advance(27 * 3_600_000);
      // Not a whole outage: only this event is refused, so the endpoint stays enabled.
      await on.admin(`update webhooks.endpoints set failing_since = null, open_until = null`);
      await on.worker.sweep();
      await on.worker.idle();
    }
    expect(shop.received).toHaveLength(10);
    expect(await rowsOf(on, 'deliveries', scope)).toMatchObject([{ status: 'exhausted', attempts: 10 }]);
  });

  it('waits as long as the receiver asks', async () => {
    const scope = someScope();
    await on.endpoint(scope, shop.url);
    shop.answerWith((_request, response) => void response.writeHead(429, { 'retry-after': '3600' }).end());
    await on.consume(refundEvent(scope));
    await on.worker.idle();
    const [waiting] = await rowsOf(on, 'deliveries', scope);
    expect(waitOf(waiting)).toBeGreaterThan(3_590_000);
  });
});

describe('a disabled endpoint', () => {
  it('is one that answered 410; an event tells the others, and nothing more is sent to it', async () => {
    const scope = someScope();
    const { webhookId } = await on.endpoint(scope, shop.url);
    shop.answerWith((_request, response) => void response.writeHead(410).end());
    await on.consume(refundEvent(scope));
    await on.worker.idle();
    expect(await rowsOf(on, 'endpoints', scope)).toMatchObject([{ id: webhookId, status: 'disabled' }]);
    expect(await rowsOf(on, 'deliveries', scope)).toMatchObject([{ status: 'exhausted' }]);
    expect(await on.admin(`select type from webhooks.outbox where account_id = $1`, [scope.accountId])).toEqual([
      { type: 'webhook.disabled' },
    ]);
    await on.consume(refundEvent(scope));
    await on.worker.sweep();
    await on.worker.idle();
    expect(shop.received).toHaveLength(1);
  });

  it('is one without a success for five days', async () => {
    const scope = someScope();
    await on.endpoint(scope, shop.url);
    shop.answerWith((_request, response) => void response.writeHead(500).end());
    for (let day = 0; day <= 5; day++) {
      await on.consume(refundEvent(scope));
      await on.worker.sweep();
      await on.worker.idle();
      expect(await rowsOf(on, 'endpoints', scope)).toMatchObject([{ status: day < 5 ? 'enabled' : 'disabled' }]);
      on.clock.advance(24 * 3_600_000 + 1_000);
    }
    expect(await on.admin(`select type from webhooks.outbox where account_id = $1`, [scope.accountId])).toHaveLength(1);
  });
});

describe('the events of a record', () => {
  it('come newest first, each with what became of its deliveries, and no others [D14.141]', async () => {
    const scope = someScope();
    await on.endpoint(scope, shop.url, ['refund.created']);
    const [told, untold, other] = [refundEvent(scope), refundEvent(scope, 'refund.updated'), refundEvent(scope)];
    untold.aggregateId = told.aggregateId;
    shop.answerWith((_request, response) => {
      response.statusCode = 500;
      response.end();
    });
    for (const event of [told, untold, other]) await on.consume(event);
    await on.worker.idle();
    const { events, hasMore } = await listEventsOfRecords(on.database, scope, [told.aggregateId, 'fre_none']);
    expect(hasMore).toBe(false);
    expect(events).toMatchObject([
      { eventId: untold.eventId, eventType: 'refund.updated', deliveries: [] },
      { eventId: told.eventId, deliveries: [{ status: 'pending', attempts: 1, lastResponseStatus: 500 }] },
    ]);
    const stranger = await listEventsOfRecords(on.database, someScope(), [told.aggregateId]);
    expect(stranger).toEqual({ events: [], hasMore: false });
  });

  it('are shown with five deliveries each, and say that there are more [D14.141]', async () => {
    const scope = someScope();
    for (let endpoint = 0; endpoint < 6; endpoint++) await on.endpoint(scope, shop.url, ['refund.created']);
    const event = refundEvent(scope);
    await on.consume(event);
    await on.worker.idle();
    const { events, hasMore } = await listEventsOfRecords(on.database, scope, [event.aggregateId]);
    expect([events[0]?.deliveries.length, hasMore]).toEqual([5, true]);
  });
});

describe('webhook.test', () => {
  it('is sent to its endpoint alone, whatever that wants, and can be verified', async () => {
    const scope = someScope();
    const { webhookId, secret } = await on.endpoint(scope, shop.url, ['customer.created']);
    await on.endpoint(scope, `${shop.url}/other`, ['*']);
    const delivery = await testEndpoint(on.webhooks, scope, webhookId, 'req_1');
    expect(delivery).toMatchObject({ webhookId, eventType: 'webhook.test', status: 'pending' });
    await on.worker.idle();
    expect(shop.received).toHaveLength(1);
    expect(verify(secret, 0)).toMatchObject({
      event_type: 'webhook.test',
      object: { webhook: { webhook_id: webhookId, events: ['customer.created'] } },
    });
    expect(shop.received[0]?.body).not.toContain('whsec_');
  });
});

describe('a webhooks service', () => {
  it('reported no error of its own', () => expect(on.errors).toEqual([]));
});

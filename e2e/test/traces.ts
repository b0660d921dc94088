import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Constellation, type Receiver, startReceiver, waitUntil } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Collector, Span } from '../src/collector.ts';
import { text } from '../src/records.ts';
import { confirm, make, newCard, newCustomer, newSession, openShop } from '../src/shop.ts';

/** A request that can be followed through an Eligo that sends its traces to the collector. */
export function describeTraces(started: () => { eligo: Constellation; collector: Collector }): void {
  describe('one request, followed', () => {
    let eligo: Constellation;
    let collector: Collector;
    let receiver: Receiver;

    beforeAll(async () => {
      ({ eligo, collector } = started());
      receiver = await startReceiver();
    });
    afterAll(() => receiver?.close());

    it('is one trace from the gateway through the services and their events to the webhook', async () => {
      const api = eligo.api();
      const shop = await openShop(api);
      const customer = await newCustomer(api);
      const card = await newCard(api, customer, 'hsa');
      const session = await newSession(api, shop, { customer });
      await make(api, '/v1/webhooks', 'webhook', { url: receiver.url, events: ['checkout.session.completed'] });
      const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
      const answer = await api.post(
        `/v1/checkout/sessions/${text(session, 'checkout_session_id')}/confirm`,
        { checkout_session: { payment_method: card } },
        { idempotencyKey: 'traced', headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` } },
      );
      expect(answer.status, answer.text).toBe(200);
      await receiver.next('checkout.session.completed');
      const expected = [
        'gateway checkout_sessions.confirm',
        'checkout eligo.checkout.v1.CheckoutService/ConfirmSession',
        'checkout sandbox payment_intents.confirm',
        'webhooks consume checkout.session.completed',
        'webhooks deliver checkout.session.completed',
      ];
      const names = () => ofTrace(traceId).map((span) => `${span.service} ${span.name}`);
      const hasStatements = () => names().some((name) => name.startsWith('checkout checkout.'));
      await waitUntil(() => hasStatements() && expected.every((name) => names().includes(name)), {
        withinMs: 20_000,
        what: `the spans of statements, ${expected.join(', ')}`,
      });
    });

    it('answers with the request id that its events carry, which no client chooses', async () => {
      const api = eligo.api();
      const answer = await api.post(
        '/v1/customers',
        { customer: { email: 'ada@example.com' } },
        { headers: { 'request-id': 'freq_of_the_client' } },
      );
      const requestId = answer.headers.get('request-id') ?? '';
      expect(requestId).toMatch(/^freq_[0-9a-zA-Z]{10,}$/);
      const events = await eligo.database.admin(
        `select type from checkout.outbox where position(convert_to($1, 'UTF8') in payload) > 0`,
        [requestId],
      );
      expect(events).toEqual([{ type: 'customer.created' }]);
    });

    it('leads by its request id to its line at the gateway and to the reason of a decline, at debug to each call of a service, and to the lines of the sandbox [D14.220, D14.360]', async () => {
      const api = eligo.api();
      const shop = await openShop(api);
      const customer = await newCustomer(api);
      const card = await newCard(api, customer, 'declined');
      const recordId = text(await newSession(api, shop, { customer }), 'checkout_session_id');
      const answer = await confirm(api, recordId, card);
      expect(answer.status, answer.text).toBe(402);
      const requestId = answer.headers.get('request-id') ?? '';
      const account = { accountId: eligo.account, testMode: true };
      const ended = { requestId, durationMs: expect.any(Number) };
      const expected = [
        {
          ...{ level: 'info', service: 'gateway', msg: 'Request completed', route: 'checkout_sessions.confirm' },
          ...{ ...ended, ...account, recordId, status: 402, code: 'card_declined' },
          keyId: expect.stringMatching(/^fakey_/),
        },
        {
          ...{ level: 'info', service: 'checkout', msg: 'Card was declined', code: 'card_declined' },
          ...{ ...account, requestId, recordId, declineCode: 'generic_decline' },
        },
        {
          ...{ level: 'debug', service: 'checkout', msg: 'Call completed', method: 'ConfirmSession' },
          ...{ ...ended, ...account, from: 'gateway', code: 'card_declined' },
        },
        {
          ...{
            service: 'sandbox',
            msg: 'Request completed',
            route: 'payment_intents.confirm',
            code: 'generic_decline',
          },
          ...{ ...ended, status: 402, processorRequestId: expect.stringMatching(/^req_/) },
        },
      ];
      const lines = expected.map((line) => expect.objectContaining(line));
      await expect.poll(() => linesWith(requestId)).toEqual(expect.arrayContaining(lines));
    });

    function linesWith(requestId: string): Record<string, unknown>[] {
      return readdirSync(eligo.home.logs)
        .flatMap((name) => readFileSync(join(eligo.home.logs, name), 'utf8').split('\n'))
        .filter((line) => line.includes(requestId))
        .map((line) => JSON.parse(line) as Record<string, unknown>);
    }

    function ofTrace(traceId: string): Span[] {
      return collector.spans.filter((span) => span.traceId === traceId);
    }
  });
}

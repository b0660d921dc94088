import { type Constellation, waitUntil } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Collector, Span } from '../src/collector.ts';
import { type Receiver, startReceiver } from '../src/receiver.ts';
import { type Json, record, text } from '../src/records.ts';
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

    it('answers with the request id that logs and events carry', async () => {
      const answer = await confirm(eligo.api(), 'fcs_unknown', 'fpm_unknown');
      expect(answer.headers.get('request-id')).toMatch(/^freq_/);
      const given = await eligo.api().get('/v1/prices', { headers: { 'request-id': 'mine-1234' } });
      expect(given.headers.get('request-id')).toEqual(expect.any(String));
      expect(record({ body: given.body as Json }, 'body')).toHaveProperty('prices');
    });

    function ofTrace(traceId: string): Span[] {
      return collector.spans.filter((span) => span.traceId === traceId);
    }
  });
}

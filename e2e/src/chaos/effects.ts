import { type MissingEvent, missingEvents } from '@eligo/events';
import { type Constellation, type Receiver, startReceiver, waitUntil } from '@eligo/testkit';
import { type Json, record, text } from '../records.ts';
import { make } from '../shop.ts';

/** What must come of each payment: an event that the webhooks service has dealt with, and a delivery to the partner's server. */
const paymentEvents = [
  'checkout.session.completed',
  'payment_intent.created',
  'payment_intent.succeeded',
  'payment_intent.payment_failed',
  'payment_intent.canceled',
  'charge.succeeded',
  'charge.failed',
];

/** Subscribes a receiver to completed sessions. */
export async function subscribe(eligo: Constellation): Promise<Receiver> {
  const receiver = await startReceiver();
  await make(eligo.api(), '/v1/webhooks', 'webhook', { url: receiver.url, events: ['checkout.session.completed'] });
  return receiver;
}

/** Waits until every event has had its effect: none missing in the inbox, and each paid session announced, under one event id. */
export async function effectsMatch(eligo: Constellation, receiver: Receiver, paid: ReadonlySet<string>): Promise<void> {
  await waitUntil(async () => (await missed(eligo)).length === 0, {
    withinMs: 60_000,
    what: 'every event in the inbox',
  });
  const announced = () => receiver.ofType('checkout.session.completed').map(({ body }) => sessionOf(body));
  await waitUntil(() => [...paid].every((id) => announced().includes(id)), {
    withinMs: 60_000,
    what: 'a delivery for every paid session',
  });
  const wrongly = announced().filter((id) => !paid.has(id));
  if (wrongly.length > 0) throw new Error(`announced as complete without being so: ${wrongly.join()}`);
  const idsOf = Map.groupBy(receiver.received, ({ body }) => sessionOf(body));
  for (const [session, deliveries] of idsOf) {
    const ids = new Set(deliveries.map(({ body }) => body.event_id));
    if (ids.size !== 1) throw new Error(`session ${session} was announced by ${ids.size} events`);
  }
}

function missed(eligo: Constellation): Promise<MissingEvent[]> {
  return missingEvents({
    url: eligo.database.adminUrl,
    from: 'checkout',
    service: 'webhooks',
    consumer: 'public-events',
    types: paymentEvents,
    graceSeconds: 0,
  });
}

function sessionOf(body: Json): string {
  return text(record(record(body, 'object'), 'checkout_session'), 'checkout_session_id');
}

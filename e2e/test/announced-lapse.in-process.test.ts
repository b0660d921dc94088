import { type Api, type Constellation, startConstellation } from '@eligo/testkit';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import { stopWithBooks } from '../src/books.ts';
import { type Receiver, startReceiver } from '../src/receiver.ts';
import { record, text } from '../src/records.ts';
import { make, newCard, newCustomer, newSession, openShop } from '../src/shop.ts';

let eligo: Constellation;
let api: Api;
let receiver: Receiver;
beforeAll(async () => {
  [eligo, receiver] = await Promise.all([startConstellation({ topology: 'in-process' }), startReceiver()]);
  api = eligo.api();
}, 180_000);
afterEach(() => void vi.useRealTimers());
afterAll(async () => {
  await receiver?.close();
  await stopWithBooks(eligo);
}, 60_000);

it('delivers a webhook a day before a hold lapses, with the payment intent as GET shows it [D14.363]', async () => {
  await make(api, '/v1/webhooks', 'webhook', { url: receiver.url, events: ['payment_intent.hold_will_lapse'] });
  const shop = await openShop(api);
  const customer = await newCustomer(api);
  const session = text(await newSession(api, shop, { customer, capture_method: 'manual' }), 'checkout_session_id');
  await api.ok('POST', `/v1/test_helpers/checkout/sessions/${session}/complete`, {
    body: {
      checkout_session: {
        payment_method: await newCard(api, customer, 'hsa'),
        second_payment_method: await newCard(api, customer, 'credit'),
      },
    },
  });
  const { payment_intents } = (await api.ok('GET', `/v1/payment_intents?checkout_session=${session}`)) as {
    payment_intents: { payment_intent_id: string; capture_before: string }[];
  };
  const lapsesAt = Math.min(...payment_intents.map(({ capture_before: at }) => Date.parse(at)));
  expect(receiver.received).toEqual([]);
  // The clock that Eligo reads. Nothing else tells the job: it looks once a minute.
  vi.useFakeTimers({ toFake: ['Date'], shouldAdvanceTime: true, now: lapsesAt - 20 * 3_600_000 });
  for (const { payment_intent_id: id } of payment_intents) {
    const { body } = await receiver.next(
      'payment_intent.hold_will_lapse',
      (one) => record(record(one, 'object'), 'payment_intent').payment_intent_id === id,
      // The job sleeps for up to a minute.
      120_000,
    );
    expect(body.object).toEqual(await api.ok('GET', `/v1/payment_intents/${id}`));
  }
  expect(receiver.ofType('payment_intent.hold_will_lapse')).toHaveLength(2);
}, 180_000);

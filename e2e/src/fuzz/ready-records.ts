import type { SeededRecords } from '@eligo/gateway/probes';
import type { Api } from '@eligo/testkit';
import { type Json, record, text } from '../records.ts';
import { make, newCard, newCustomer } from '../shop.ts';

/**
 * Records in the state that a route asks for, by the route's id: a hold to capture, an open invoice, a pending refund, a letter in review, a dispute that
 * waits for evidence. Most records of their kind are in another state, or another request ends them first, so that random requests would only be refused.
 */
export async function makeReadyRecords(
  api: Api,
  { price, recurring_price, customer, payment_method }: SeededRecords['references'],
): Promise<Readonly<Record<string, readonly string[]>>> {
  const cart = { line_items: [{ price, quantity: 1 }], customer, success_url: 'https://shop.example/ok' };

  async function pay(session: Json, card: string): Promise<Json> {
    const made = await make(api, '/v1/checkout/sessions', 'checkout_session', { ...cart, ...session });
    const path = `/v1/test_helpers/checkout/sessions/${text(made, 'checkout_session_id')}/complete`;
    return make(api, path, 'checkout_session', { payment_method: card });
  }
  const openSession = async (fields: Json = {}) =>
    text(await make(api, '/v1/checkout/sessions', 'checkout_session', { ...cart, ...fields }), 'checkout_session_id');
  const hold = () => pay({ capture_method: 'manual' }, payment_method);
  const sessionOf = (paid: Json) => text(paid, 'checkout_session_id');

  async function openInvoice(): Promise<string> {
    const subscription = await make(api, '/v1/subscriptions', 'subscription', {
      customer,
      items: [{ price: recurring_price, quantity: 1 }],
      default_payment_method: await newCard(api, customer, 'declined'),
    });
    return text(subscription, 'latest_invoice');
  }

  async function pendingRefund(): Promise<string> {
    const paid = await pay({}, 'refund_pending');
    const refunded = await make(api, `/v1/checkout/sessions/${sessionOf(paid)}/refund`, 'checkout_session', {
      amount: 100,
    });
    return (refunded.refunds as string[])[0] ?? '';
  }

  const massager = { name: 'Massage gun', hsa_fsa_eligibility: 'letter_of_medical_necessity' };
  const prescribed = text(
    await make(api, '/v1/prices', 'price', { product_data: massager, unit_amount: 19_900 }),
    'price_id',
  );
  async function letterInReview(): Promise<string> {
    const held = await pay({ line_items: [{ price: prescribed, quantity: 1 }] }, payment_method);
    const { letters } = await api.ok('GET', `/v1/letters?checkout_session=${sessionOf(held)}`);
    return text((letters as Json[])[0] ?? {}, 'letter_id');
  }

  // No other route is given it.
  async function openDispute(): Promise<string> {
    const path = `/v1/payment_intents/${text(await pay({}, payment_method), 'payment_intent')}`;
    const charge = text(record(await api.ok('GET', path), 'payment_intent'), 'latest_charge');
    return text(await make(api, '/v1/test_helpers/disputes', 'dispute', { charge, amount: 100 }), 'dispute_id');
  }

  return {
    'checkout_sessions.confirm': [await openSession()],
    'checkout_sessions.cancel': [await openSession()],
    'checkout_sessions.expire': [await openSession()],
    'test_helpers.expire_checkout_session': [await openSession()],
    // Of a customer whom no request deletes: a session takes no card once its customer is deleted.
    'test_helpers.complete_checkout_session': [await openSession({ customer: await newCustomer(api) })],
    'checkout_sessions.capture': [sessionOf(await hold())],
    'checkout_sessions.preview_capture': [sessionOf(await hold())],
    'payment_intents.capture': [text(await hold(), 'payment_intent')],
    'checkout_sessions.refund': [sessionOf(await pay({}, payment_method))],
    'checkout_sessions.preview_refund': [sessionOf(await pay({}, payment_method))],
    'disputes.update': [await openDispute()],
    'invoices.pay': [await openInvoice()],
    'invoices.void': [await openInvoice()],
    'test_helpers.fail_refund': [await pendingRefund()],
    'test_helpers.succeed_refund': [await pendingRefund()],
    'test_helpers.approve_letter': [await letterInReview()],
    'test_helpers.deny_letter': [await letterInReview()],
  };
}

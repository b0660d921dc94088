import { Failure } from '@eligo/failures';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openTestGateway, type TestGateway } from './open-test-gateway.ts';

let stack: TestGateway;

beforeAll(async () => {
  stack = await openTestGateway();
});

beforeEach(() => {
  stack.peers.seen.length = 0;
});

afterEach(() => stack.peers.restore());

afterAll(() => stack?.stop());

const methods = () => stack.peers.seen.map(({ method }) => method);
const lastRequest = () => stack.peers.seen.at(-1)?.request as Record<string, unknown>;

describe('the timeline of a session', () => {
  const timeline = (api = stack.api) =>
    api.get(`/v1/checkout/sessions/${stack.peers.samples.checkout_session.checkoutSessionId}/timeline`);
  const typesOf = (body: Record<string, unknown>) => (body.timeline as { type: string }[]).map(({ type }) => type);

  test('is one read of each service, newest first, and asks for the events of the records that it names [D14.141]', async () => {
    const { samples } = stack.peers;
    const { status, body } = await timeline();
    expect(status).toBe(200);
    expect(typesOf(body).sort()).toEqual(['event.created', 'letter.denied', 'refund.created', 'webhook.succeeded']);
    expect(methods().sort()).toEqual(['getSessionTimeline', 'listEventsOfRecords', 'listRefunds']);
    expect(lastRequest().recordIds).toEqual([
      samples.checkout_session.checkoutSessionId,
      samples.letter.letterId,
      samples.refund.refundId,
    ]);
  });

  test('shows a key only the kinds of records that it may read [AUTH-5, D14.141]', async () => {
    const denied = { type: 'session.canceled', recordId: stack.peers.samples.checkout_session.checkoutSessionId };
    const { letter } = stack.peers.samples;
    stack.peers.answer('getSessionTimeline', () => ({
      entries: [
        { atMs: 2n, ...denied, code: 'letter_denied' },
        { atMs: 1n, type: 'letter.denied', recordId: letter.letterId },
      ],
    }));
    const api = await stack.newApi({ scopes: ['checkout_sessions_read'] });
    const { body } = await timeline(api);
    expect(body.timeline).toMatchObject([{ type: 'session.canceled', code: null }]);
    expect(methods()).toEqual(['getSessionTimeline']);
    const reader = await stack.newApi({ scopes: ['checkout_sessions_read', 'letters_read'] });
    expect((await timeline(reader)).body.timeline).toMatchObject([
      { code: 'letter_denied' },
      { type: 'letter.denied' },
    ]);
  });
});

describe('a confirm', () => {
  const confirm = (query = '') =>
    stack.api.post(
      `/v1/checkout/sessions/${stack.peers.samples.checkout_session.checkoutSessionId}/confirm${query}`,
      { checkout_session: {} },
      { idempotencyKey: 'k' },
    );

  test('answers with the payment intent expanded, in one hop [CONF-1]', async () => {
    const { body } = await confirm();
    expect(body.checkout_session).toMatchObject({
      payment_intent: { status: 'succeeded', payment_method: expect.any(String) },
    });
    expect(methods()).toEqual(['confirmSession']);
  });

  test('answers with null when nothing was charged', async () => {
    const { checkout_session: session } = stack.peers.samples;
    const { paymentIntentId, ...bare } = session;
    stack.peers.answer('confirmSession', () => ({ session: bare }));
    expect((await confirm()).body.checkout_session).toMatchObject({ payment_intent: null });
  });

  test('shows what was stored with the response, and calls no other service', async () => {
    const { checkout_session: session, payment_intent, customer, payment_method } = stack.peers.samples;
    stack.peers.answer('confirmSession', () => ({
      session,
      paymentIntent: payment_intent,
      customer,
      paymentMethod: payment_method,
    }));
    const { body } = await confirm('?expand=customer,payment_method');
    expect(body.checkout_session).toMatchObject({
      customer: { customer_id: customer.customerId },
      payment_intent: { payment_method: { payment_method_id: payment_method.paymentMethodId } },
    });
    expect(methods()).toEqual(['confirmSession']);
    expect((lastRequest().expand as string[]).sort()).toEqual(['customer', 'payment_method']);
  });
});

describe('bodies as partners send them', () => {
  test('a session with everything reaches checkout whole [VER-4, D4.2, D4.4]', async () => {
    const { price, product, customer, coupon } = stack.peers.samples;
    const answer = await stack.api.post(
      '/v1/checkout/sessions',
      {
        checkout_session: {
          mode: 'subscription',
          line_items: [
            { price: price.priceId, quantity: 2 },
            { product: product.productId },
            {
              price_data: {
                product_data: { name: 'Inline', gtin: '4242424242424242' },
                unit_amount: 0,
                recurring: { interval: 'monthly' },
              },
              quantity: 1,
            },
          ],
          success_url: 'https://shop.example/ok?s={CHECKOUT_SESSION_ID}',
          customer: customer.customerId,
          customer_email: '',
          defaults: { email: '', first_name: 'Ada', phone: null },
          shipping_options: { shipping_rate_data: { display_name: 'Ground', amount: 500 } },
          tax_rate: { amount: 100 },
          discounts: [
            { coupon_id: coupon.couponId },
            { promo_code: 'SPRING' },
            { coupon_data: { name: 'rounding adjustment', amount_off: 1 } },
            { coupon_data: { percent_off: 12.5, applies_to: [] } },
          ],
          fees: [{ amount: 1, name: 'rounding' }],
          subscription_data: {
            trial_end: 1_767_323_045,
            trial_settings: { end_behavior: { missing_payment_method: 'cancel' } },
          },
          selling_plans: [{ id: 42, name: 'Monthly', billing_interval: { interval: 'month', interval_count: 1 } }],
          custom_text: { submit: { message: 'Pay' } },
          shopify_payment_details: { gateway: 'g', card: { brand: 'visa', last4: '4242' } },
          expires_at: '2036-01-01T00:00:00Z',
          metadata: [],
          amount_total: 5,
          status: 'complete',
        },
      },
      { headers: { origin: 'https://shop.example' } },
    );
    expect(answer.status, answer.text).toBe(200);
    expect(lastRequest()).toMatchObject({
      mode: 'subscription',
      lines: [
        { item: { case: 'priceId', value: price.priceId }, quantity: 2n },
        { item: { case: 'productId', value: product.productId }, quantity: 1n },
        {
          item: {
            case: 'priceData',
            value: {
              owner: { case: 'productData', value: { name: 'Inline', gtin: '4242424242424242' } },
              unitAmountCents: 0n,
              recurring: { interval: 'month', intervalCount: 1 },
            },
          },
        },
      ],
      defaults: { firstName: 'Ada' },
      shipping: { case: 'shippingRateData', value: { displayName: 'Ground', amountCents: 500n } },
      taxAmountCents: 100n,
      discounts: [
        { source: { case: 'couponId' } },
        { source: { case: 'promoCode', value: 'SPRING' } },
        { source: { case: 'couponData', value: { amountOffCents: 1n } } },
        { source: { case: 'couponData', value: { percentOffBasisPoints: 1250 } } },
      ],
      fees: [{ amountCents: 1n, name: 'rounding' }],
      subscriptionData: { trialEndMs: 1_767_323_045_000n, missingPaymentMethod: 'cancel' },
      sellingPlans: [{ id: '42', interval: 'month', intervalCount: 1 }],
      storefrontPaymentDetails: { gateway: 'g', cardBrand: 'visa', cardLast4: '4242' },
      origin: 'https://shop.example',
      metadata: {},
    });
    expect(lastRequest().customerEmail).toBeUndefined();
  });

  test('a fetched price posted back changes nothing but what may change [D1.2, D1.8]', async () => {
    const { price } = stack.peers.samples;
    const fetched = await stack.api.get(`/v1/prices/${price.priceId}`);
    const answer = await stack.api.post(`/v1/prices/${price.priceId}`, fetched.body);
    expect(answer.status, answer.text).toBe(200);
    expect(lastRequest()).toMatchObject({ id: price.priceId, active: true, metadata: { entries: price.metadata } });
    expect(lastRequest().unitAmountCents).toBeUndefined();
  });

  test('a bad reference in a body is a 422 whose first entry names it [ERR-2]', async () => {
    const answer = await stack.api.post('/v1/checkout/sessions', {
      checkout_session: {
        line_items: [{ price: stack.peers.samples.price.priceId }, { price: 'x<script>' }],
        success_url: 'https://shop.example',
      },
    });
    expect(answer.body.detail).toEqual([
      {
        loc: ['body', 'checkout_session', 'line_items', '1', 'price'],
        msg: expect.stringMatching(/^price_not_found: No such price\. Check the identifier/),
        type: 'price_not_found',
      },
    ]);
  });

  test('a product that the body names and that is not there is a 422 at its place [D1.9]', async () => {
    const id = newId('product');
    const answer = await stack.api.patch('/v1/products', { product: { product_id: id, name: 'x' } });
    expect(answer.body.detail).toEqual([
      { loc: ['body', 'product', 'product_id'], msg: `product_not_found: ${id}`, type: 'product_not_found' },
    ]);
  });

  test('the helper that completes a session takes its fields with an envelope and without [RUN-3]', async () => {
    const url = `/v1/test_helpers/checkout/sessions/${stack.peers.samples.checkout_session.checkoutSessionId}/complete`;
    const cards = { payment_method: 'hsa', second_payment_method: 'credit' };
    for (const body of [{ checkout_session: cards }, cards]) {
      expect((await stack.api.post(url, body)).status).toBe(200);
      const seen = stack.peers.seen.find(({ method }) => method === 'completeSession');
      expect(seen?.request).toMatchObject({ paymentMethod: 'hsa', secondPaymentMethod: 'credit' });
      stack.peers.seen.length = 0;
    }
    expect((await stack.api.post(url, { card: 'hsa' })).status).toBe(422);
  });

  test('a refund is refused without its envelope rather than taken for a refund of everything [REF-3]', async () => {
    const url = `/v1/checkout/sessions/${stack.peers.samples.checkout_session.checkoutSessionId}/refund`;
    expect((await stack.api.post(url, { amount: 100 })).status).toBe(422);
    expect((await stack.api.post(url)).status).toBe(200);
    expect((await stack.api.post(url, [])).status).toBe(200);
    expect((await stack.api.post(url, { checkout_session: null })).status).toBe(200);
  });

  test('a refund allocated to payment methods needs the feature [SREF-4]', async () => {
    const { checkout_session: session, payment_method } = stack.peers.samples;
    const answer = await stack.api.post(`/v1/checkout/sessions/${session.checkoutSessionId}/refund`, {
      checkout_session: { payment_methods: [{ payment_method_id: payment_method.paymentMethodId, amount: 1 }] },
    });
    expect(answer.status).toBe(403);
    expect(answer.body).toMatchObject({ code: 'payment_method_allocation_not_enabled' });
    expect(methods()).toEqual([]);
  });

  test('an empty body is JSON for a client that cannot bear less: DELETE answers the record [API-2, D1.3]', async () => {
    const { coupon, webhook } = stack.peers.samples;
    const deleted = await stack.api.delete(`/v1/coupons/${coupon.couponId}`);
    expect(deleted.body).toMatchObject({ coupon: { coupon_id: coupon.couponId } });
    expect((await stack.api.delete(`/v1/webhooks/${webhook.webhookId}`)).status).toBe(200);
  });
});

test('the answer of a completed subscription session waits until billing has the subscription', async () => {
  const { checkout_session: session } = stack.peers.samples;
  stack.peers.answer('completeSession', () => ({ ...session, mode: 'subscription', status: 'complete' }));
  const url = `/v1/test_helpers/checkout/sessions/${session.checkoutSessionId}/complete`;
  await stack.api.post(url, { checkout_session: { payment_method: 'hsa' } });
  expect(methods()).toEqual(['completeSession', 'awaitSubscription']);
  stack.peers.answer('awaitSubscription', () => {
    throw new Failure('subscription_not_found');
  });
  expect((await stack.api.post(url, { checkout_session: { payment_method: 'hsa' } })).status).toBe(200);
});

test('a gateway that stops is not ready, and answers the requests in flight before it does', async () => {
  const gateway = await stack.another();
  const { promise: held, resolve: release } = Promise.withResolvers<void>();
  const { price } = stack.peers.samples;
  const arrived = new Promise<void>((resolve) => {
    stack.peers.answer('getPrice', async () => {
      resolve();
      await held;
      return price;
    });
  });
  const pending = fetch(`${gateway.url}/v1/prices/${price.priceId}`, {
    headers: { authorization: `Bearer ${stack.api.key}` },
  });
  await arrived;
  const isReady = async () => (await fetch(`http://127.0.0.1:${gateway.adminPort}/readyz`)).status === 200;
  // A check gives up after a second or so, which a busy machine may take.
  await expect.poll(isReady).toBe(true);
  const stopped = gateway.stop();
  expect(await isReady()).toBe(false);
  release();
  expect((await pending).status).toBe(200);
  await stopped;
  await expect(fetch(`${gateway.url}/healthz`)).rejects.toThrow();
});

import { setImmediate } from 'node:timers/promises';
import { allRoutes, readScopeOf } from '@eligo/contract';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { pathOf } from '../test-support/send.ts';
import { idsOf } from './fake-peers.ts';
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

describe('expansion', () => {
  test('makes one batch call per record type, whatever the number of rows [GEN-8, D3.7]', async () => {
    const { subscription, invoice } = stack.peers.samples;
    stack.peers.answer('listSubscriptions', () => ({
      subscriptions: Array.from({ length: 50 }, () => ({
        ...subscription,
        subscriptionId: newId('subscription'),
        latestInvoiceId: invoice.invoiceId,
      })),
    }));
    const answer = await stack.api.get('/v1/subscriptions?expand=customer,invoice,payment_method,product,nothing');
    expect(methods().sort()).toEqual([
      'batchGetCustomers',
      'batchGetInvoices',
      'batchGetPaymentMethods',
      'batchGetPrices',
      'listSubscriptions',
    ]);
    const rows = answer.body.subscriptions as Record<string, unknown>[];
    expect(rows).toHaveLength(50);
    expect(rows[49]).toMatchObject({
      customer: { customer_id: expect.any(String) },
      latest_invoice: { invoice_id: invoice.invoiceId },
      default_payment_method: { payment_method_id: expect.any(String) },
      items: [{ price: { price_id: expect.any(String) } }],
    });
    expect(answer.body.has_more).toBe(false);
  });

  test('fetches at most 200 records by one call, one call after the other [D3.7]', async () => {
    const { dispute, balance_transaction: transaction } = stack.peers.samples;
    const idsOfDispute = () => Array.from({ length: 5 }, () => newId('balance_transaction'));
    const disputes = Array.from({ length: 100 }, () => ({ ...dispute, balanceTransactionIds: idsOfDispute() }));
    stack.peers.answer('listDisputes', () => ({ disputes }));
    const sizes: number[] = [];
    let underWay = 0;
    stack.peers.answer('batchGetBalanceTransactions', async ({ ids }) => {
      sizes.push((ids as string[]).length);
      expect(++underWay).toBe(1);
      await setImmediate();
      underWay -= 1;
      const found = (ids as string[]).map((balanceTransactionId) => ({ ...transaction, balanceTransactionId }));
      return { balanceTransactions: found };
    });
    const { body } = await stack.api.get('/v1/disputes?limit=100&expand=balance_transaction');
    const rows = body.disputes as { balance_transactions: { balance_transaction_id: string }[] }[];
    expect(rows.flatMap((row) => row.balance_transactions.map((one) => one.balance_transaction_id))).toEqual(
      disputes.flatMap(({ balanceTransactionIds }) => balanceTransactionIds),
    );
    expect(sizes).toEqual([200, 200, 100]);
  });

  test('takes expand_<type>=true, and combines it with a list [GEN-8, GEN-9]', async () => {
    const { checkout_session: session } = stack.peers.samples;
    const url = `/v1/checkout/sessions/${session.checkoutSessionId}`;
    const { body } = await stack.api.get(`${url}?expand_customer=true&expand=subscription&expand_nothing=true`);
    expect(body.checkout_session).toMatchObject({
      customer: { customer_id: session.customerId },
      subscription: { subscription_id: session.subscriptionId },
      invoice: session.invoiceId,
    });
  });

  test.each([
    ['charges', 'charge', 'balance_transaction'],
    ['refunds', 'refund', 'balance_transaction'],
    ['disputes', 'dispute', 'balance_transactions'],
    ['payouts', 'payout', 'balance_transaction'],
  ] as const)(
    'shows the balance transaction in the place of its identifier in %s [VER-5]',
    async (path, kind, field) => {
      const { samples } = stack.peers;
      const { balanceTransactionId: id } = samples.balance_transaction;
      const { charge, refund, dispute, payout } = samples;
      const [record, method] = {
        charge: [charge.chargeId, 'getCharge'],
        refund: [refund.refundId, 'getRefund'],
        dispute: [dispute.disputeId, 'getDispute'],
        payout: [payout.payoutId, 'getPayout'],
      }[kind] as [string, string];
      stack.peers.answer(method, () => ({ ...samples[kind], balanceTransactionId: id, balanceTransactionIds: [id] }));
      const { body } = await stack.api.get(`/v1/${path}/${record}?expand=balance_transaction`);
      const shown = (body[kind] as Record<string, unknown>)[field];
      expect(Array.isArray(shown) ? shown[0] : shown).toMatchObject({
        balance_transaction_id: id,
        fee: 85,
        net: 1_814,
      });
      expect(methods()).toEqual([method, 'batchGetBalanceTransactions']);
    },
  );

  test('shows the identifier of what is not found [GEN-10]', async () => {
    stack.peers.answer('batchGetCustomers', () => ({ customers: [] }));
    const { checkout_session: session } = stack.peers.samples;
    const { body } = await stack.api.get(`/v1/checkout/sessions/${session.checkoutSessionId}?expand=customer`);
    expect(body.checkout_session).toMatchObject({ customer: session.customerId });
  });

  const expanding = allRoutes.filter(({ method, expansion }) => method === 'GET' && expansion.size > 0);

  test.each(expanding.map((route) => [route.id, route] as const))(
    'of %s shows a key only the kinds of records that it may read [AUTH-5, D3.7]',
    async (_id, route) => {
      const { samples } = stack.peers;
      const { price, product } = samples;
      stack.peers.answer('getPrice', ({ expandProduct }) => ({
        ...price,
        product: expandProduct ? product : undefined,
      }));
      stack.peers.answer('listPrices', ({ expandProduct }) => ({
        prices: [{ ...price, product: expandProduct ? product : undefined }],
      }));
      const url = pathOf(route, (route.seed && idsOf(samples)[route.seed as 'price']) || '');
      const everything = `${url}?expand=${[...route.expansion.keys()].join(',')}`;
      const kinds = new Set([...route.expansion.values()].flatMap(({ kind }) => (kind === undefined ? [] : [kind])));
      const textFor = async (scopes: string[], path = everything) => {
        const answer = await (await stack.newApi({ scopes })).get(path);
        expect(answer.status, answer.text).toBe(200);
        return answer.text;
      };
      const plain = await textFor([route.scope], url);
      stack.peers.seen.length = 0;
      expect(await textFor([route.scope])).toBe(plain);
      expect(methods(), 'nothing is fetched that is not shown').toHaveLength(1);
      const whole = await stack.api.get(everything);
      expect(await textFor([route.scope, ...[...kinds].map(readScopeOf)])).toBe(whole.text);
      if (kinds.size > 1) {
        const [first] = [...kinds].map(readScopeOf);
        expect(await textFor([route.scope, first ?? ''])).not.toBe(whole.text);
      }
    },
  );

  test('of what a write answers shows a key only the kinds of records that it may read [AUTH-5, D3.7]', async () => {
    const { checkout_session: session, price, product, coupon } = stack.peers.samples;
    stack.peers.answer('updatePrice', () => ({ ...price, product }));
    const scopes = ['checkout_sessions_write', 'prices_write'];
    const [narrow, wider] = [
      await stack.newApi({ scopes }),
      await stack.newApi({ scopes: [...scopes, 'customers_read', 'coupons_read', 'products_read'] }),
    ];
    const change = (api: typeof narrow) =>
      api.post(
        `/v1/checkout/sessions/${session.checkoutSessionId}?expand=customer,invoice,discounts,coupons&expand_payment_intent=true`,
        { checkout_session: { client_reference_id: 'x' } },
      );
    const couponOf = (coupon: unknown) => ({ breakdown: { discounts: [{ discount: { source: { coupon } } }] } });
    const { customerId, invoiceId, paymentIntentId } = session;
    expect((await change(narrow)).body.checkout_session).toMatchObject({
      ...{ customer: customerId, invoice: invoiceId, payment_intent: paymentIntentId },
      total_details: couponOf(coupon.couponId),
    });
    expect(methods()).toEqual(['updateSession']);
    expect((await change(wider)).body.checkout_session).toMatchObject({
      ...{ customer: { customer_id: customerId }, invoice: invoiceId, payment_intent: paymentIntentId },
      total_details: couponOf({ coupon_id: coupon.couponId }),
    });
    const archive = (api: typeof narrow) =>
      api.post(`/v1/prices/${price.priceId}?expand=product`, { price: { active: false } });
    expect((await archive(narrow)).body.price).toMatchObject({ product: product.productId });
    expect((await archive(wider)).body.price).toMatchObject({ product: { product_id: product.productId } });
  });

  test('of unknown keys gives the same bytes as none [GEN-11, ERR-12, D3.7]', async () => {
    const { subscription } = stack.peers.samples;
    const plain = await stack.api.get(`/v1/subscriptions/${subscription.subscriptionId}`);
    const odd = await stack.api.get(`/v1/subscriptions/${subscription.subscriptionId}?expand=moon,,toString`);
    expect(odd.text).toBe(plain.text);
  });

  test('of a single price takes one hop', async () => {
    const { price, product } = stack.peers.samples;
    stack.peers.answer('getPrice', (request) => ({ ...price, product: request.expandProduct ? product : undefined }));
    const answer = await stack.api.get(`/v1/prices/${price.priceId}?expand_product=true`);
    expect(answer.body.price).toMatchObject({ product: { product_id: product.productId } });
    expect(methods()).toEqual(['getPrice']);
  });
});

describe('the stored answer of a confirm', () => {
  const confirmWith = async (scopes: string[]) => {
    const { checkout_session: session } = stack.peers.samples;
    const api = await stack.newApi({ scopes: ['checkout_sessions_write', ...scopes] });
    const { body } = await api.post(
      `/v1/checkout/sessions/${session.checkoutSessionId}/confirm?expand=customer,payment_method,payment_intent`,
      { checkout_session: {} },
      { idempotencyKey: 'k' },
    );
    return body.checkout_session;
  };

  test('has only the records that the key of the first request may read, and the payment intent [CONF-1, AUTH-5, D3.7]', async () => {
    const { payment_intent: intent } = stack.peers.samples;
    expect(await confirmWith([])).toMatchObject({ payment_intent: { payment_intent_id: intent.paymentIntentId } });
    expect(lastRequest().expand).toEqual([]);
    await confirmWith(['customers_read']);
    expect(lastRequest().expand).toEqual(['customer']);
  });

  test('shows a key that replays it no more than that key may read [AUTH-5, D3.7]', async () => {
    const { checkout_session: session, payment_intent, customer, payment_method } = stack.peers.samples;
    stack.peers.answer('confirmSession', () => ({
      ...{ session, paymentIntent: payment_intent, customer, paymentMethod: payment_method, replayed: true },
    }));
    const { customerId } = customer;
    const { paymentMethodId } = payment_method;
    expect(await confirmWith([])).toMatchObject({
      ...{ customer: customerId, payment_intent: { customer: customerId, payment_method: paymentMethodId } },
    });
    expect(await confirmWith(['customers_read'])).toMatchObject({
      ...{ customer: { customer_id: customerId }, payment_intent: { payment_method: paymentMethodId } },
    });
    expect(await confirmWith(['payment_methods_read'])).toMatchObject({
      ...{ customer: customerId, payment_intent: { payment_method: { payment_method_id: paymentMethodId } } },
    });
  });
});

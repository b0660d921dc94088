import { Failure } from '@eligo/failures';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openTestGateway, type TestGateway } from './open-test-gateway.ts';

let stack: TestGateway;

beforeAll(async () => {
  stack = await openTestGateway();
});

afterEach(() => stack.peers.restore());

afterAll(() => stack?.stop());

describe('a bad reference in a body is a 422 at its place', () => {
  test('the customer of a promo code, whom another service keeps, and nothing is made [D14.35]', async () => {
    const { customer, coupon } = stack.peers.samples;
    const create = (customerId: string) =>
      stack.api.post('/v1/promo_codes', {
        promo_code: { coupon_id: coupon.couponId, code: 'SPRING', customer: customerId },
      });
    expect((await create(customer.customerId)).status).toBe(200);
    stack.peers.seen.length = 0;
    const stranger = newId('customer');
    const refused = await create(stranger);
    expect(refused.status).toBe(422);
    expect(refused.body.detail).toEqual([
      {
        loc: ['body', 'promo_code', 'customer'],
        msg: `customer_not_found: ${stranger}`,
        type: 'customer_not_found',
      },
    ]);
    expect(stack.peers.seen.map(({ method }) => method)).toEqual(['getCustomer']);
  });

  test('the coupon of a promo code, by the name that the caller gave it', async () => {
    stack.peers.answer('createPromoCode', () => {
      throw Failure.invalid(['body', 'promo_code', 'coupon_id'], 'coupon_not_found', 'coupon_not_found: x');
    });
    const id = newId('coupon');
    for (const name of ['coupon', 'coupon_id']) {
      const refused = await stack.api.post('/v1/promo_codes', { promo_code: { [name]: id, code: 'SPRING' } });
      expect(refused.body.detail).toMatchObject([{ loc: ['body', 'promo_code', name], type: 'coupon_not_found' }]);
    }
    stack.peers.answer('createPromoCode', () => {
      throw Failure.invalid(['body', 'promo_code', 'code'], 'too_long', 'Must be shorter');
    });
    const other = await stack.api.post('/v1/promo_codes', { promo_code: { coupon: id, code: 'SPRING' } });
    expect(other.body.detail).toMatchObject([{ loc: ['body', 'promo_code', 'code'], type: 'too_long' }]);
  });

  test('the product of PATCH /v1/products', async () => {
    stack.peers.answer('updateProduct', () => {
      throw new Failure('product_not_found');
    });
    const product_id = newId('product');
    const { status, body } = await stack.api.patch('/v1/products', { product: { product_id, name: 'x' } });
    expect(status).toBe(422);
    expect(body.detail).toEqual([
      { loc: ['body', 'product', 'product_id'], msg: `product_not_found: ${product_id}`, type: 'product_not_found' },
    ]);
  });
});

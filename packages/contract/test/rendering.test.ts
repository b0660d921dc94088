import { create } from '@bufbuild/protobuf';
import { CustomerSchema } from '@eligo/proto/checkout/v1/checkout';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { newId } from '@eligo/values';
import { describe, expect, test } from 'vitest';
import {
  expansionOf,
  noExpansion,
  publicEvents,
  publicEventTypes,
  type RecordName,
  records,
  renderEvent,
} from '../src/index.ts';
import { sampleMessages } from '../test-support/sample-messages.ts';

const samples = sampleMessages();
const names = Object.keys(records) as RecordName[];

describe.each(names)('%s', (name) => {
  const { render, schema } = records[name];
  const message = samples[name] as never;

  test('a message with every field set renders to its schema, strictly [REC-1, PRICE-2, RATE-2, COMP-3, VER-4, D4.1]', () => {
    expect(schema.parse(render(message))).toEqual(render(message));
  });

  test('the same message gives the same bytes', () => {
    expect(JSON.stringify(render(message))).toBe(JSON.stringify(render(message, noExpansion)));
  });

  test('every field stands, null where there is no value [COMP-3]', () => {
    for (const value of Object.values(render(message))) expect(value).not.toBeUndefined();
  });
});

test('a record with nothing optional set renders to its schema', () => {
  const bare = create(CustomerSchema, { customerId: newId('customer'), createdAtMs: 1n });
  expect(records.customer.schema.parse(records.customer.render(bare))).toMatchObject({ email: null, shipping: null });
});

test.each(['{CHECKOUT_SESSION_ID}', '%7BCHECKOUT_SESSION_ID%7D', '%7bCHECKOUT_SESSION_ID%7d'])(
  '%s in success_url becomes the id of the session [D1.7]',
  (place) => {
    const message = { ...samples.checkout_session, successUrl: `https://shop.example/ok?a=${place}&b=${place}` };
    const { checkout_session_id: id, success_url: url } = records.checkout_session.render(message);
    expect(url).toBe(`https://shop.example/ok?a=${id}&b=${id}`);
  },
);

test('a session carries Unix seconds, truncated, and everything else ISO 8601 [GEN-5]', () => {
  const session = records.checkout_session.render(samples.checkout_session);
  expect(session.created_at).toBe(1_767_323_045);
  expect(session.expires_at).toBe(1_767_323_046);
  expect(records.customer.render(samples.customer).created_at).toBe('2026-01-02T03:04:05.678Z');
});

test('a promo code reports a whole percent and what its coupon applies to [VER-4, API-6]', () => {
  const { coupon } = records.promo_code.render(samples.promo_code) as { coupon: Record<string, unknown> };
  expect(coupon.percent_off).toBe(30);
  expect(coupon.applies_to).toEqual({ products: [samples.product.productId], prices: [samples.price.priceId] });
});

test('an expanded record stands in place of its id, and parses with the schema [GEN-10]', () => {
  const found = new Map([['customer' as const, new Map([[samples.customer.customerId, { customer_id: 'x' }]])]]);
  const session = records.checkout_session.render(samples.checkout_session, expansionOf(new Set(['customer']), found));
  expect(session.customer).toEqual({ customer_id: 'x' });
  expect(session.invoice).toBe(samples.invoice.invoiceId);
});

test('discounts show their coupon whole only when both keys are asked for [SUB-8]', () => {
  const of = (...keys: string[]) => {
    const expansion = expansionOf(new Set(keys), new Map());
    const rendered = records.subscription.render(samples.subscription, expansion);
    return (rendered.discounts as { source: { coupon: unknown } }[])[0]?.source.coupon;
  };
  expect(of('discounts')).toBe(samples.coupon.couponId);
  expect(of('coupons')).toBe(samples.coupon.couponId);
  expect(of('discounts', 'coupons')).toMatchObject({ coupon_id: samples.coupon.couponId, percent_off: 30 });
});

test('an event holds the record exactly as REST renders it [HOOK-1]', () => {
  const body = renderEvent(samples.internalEvent);
  expect(body).toEqual({
    event_id: samples.internalEvent.eventId,
    event_type: 'customer.created',
    object: { customer: records.customer.render(samples.customer) },
    event_dt: 1_767_323_045,
    test_mode: true,
    created_at: '2026-01-02T03:04:05.678Z',
  });
  expect(records.event.schema.parse(body)).toEqual(body);
});

test('an event of a letter names no reviewer, and does not say that a decided one has none [D14.379]', () => {
  const { reviewer, ...letter } = records.letter.render(samples.letter) as Record<string, unknown>;
  expect(reviewer).not.toBeNull();
  const body = renderEvent(
    create(EventSchema, {
      ...samples.internalEvent,
      type: 'consultation.approved',
      object: { case: 'letter', value: samples.letter },
    }),
  );
  expect(body?.object).toEqual({ [publicEvents['consultation.approved']]: letter });
});

test('an internal event is not rendered, and a public one without its record is an error', () => {
  expect(renderEvent(create(EventSchema, { type: 'account.updated' }))).toBeUndefined();
  expect(renderEvent(create(EventSchema, { type: 'command.subscription.start' }))).toBeUndefined();
  expect(() => renderEvent(create(EventSchema, { type: 'customer.created' }))).toThrow('carries no record');
  expect(publicEventTypes).toContain('checkout.session.completed');
});

import { newId } from '@eligo/values';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import {
  allRoutes,
  expansionOf,
  openapi,
  publicEvents,
  publicEventTypes,
  type RecordName,
  records,
  routes,
  violationsOf,
} from '../src/index.ts';
import { sampleMessages } from '../test-support/sample-messages.ts';

const samples = sampleMessages();
const names = Object.keys(records) as RecordName[];

describe('every record', () => {
  test.each(names.filter((name) => name !== 'line_item'))('%s says in which mode it was made [GEN-2]', (name) => {
    expect(records[name].render(samples[name] as never)).toMatchObject({ test_mode: expect.any(Boolean) });
  });

  test.each(names)('%s has a time of creation in ISO 8601, but for a session’s [GEN-5]', (name) => {
    const { created_at } = records[name].render(samples[name] as never);
    if (name === 'checkout_session') expect(created_at).toBe(1_767_323_045);
    else if (created_at !== undefined) expect(created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  });
});

test('a public event carries a record that events can hold', () => {
  for (const type of publicEventTypes) expect(records[publicEvents[type]].eventCase, type).toBeDefined();
});

test('a session’s renewal is in Unix seconds [GEN-5]', () => {
  const session = { ...samples.checkout_session, renewalAsOfMs: 1_767_323_045_999n };
  expect(records.checkout_session.render(session).renewal_as_of).toBe(1_767_323_045);
});

/** They answer with what is not a record. */
const withoutRecord = [
  'eligibility.evaluate',
  'checkout_sessions.preview_capture',
  'checkout_sessions.preview_refund',
  'checkout_sessions.get_substantiation',
  'checkout_sessions.timeline',
  'invoices.get_document',
  'receipts.get_document',
  'reports.reconciliation',
  'subscriptions.resend_receipts',
];

const lists = allRoutes.filter(({ id, query }) => query !== undefined && !withoutRecord.includes(id));

test('an answer stands under the name of its record; a list stands under the plural, and says whether there are more [GEN-4]', () => {
  const singles = new Set(names.map((name) => records[name].name));
  const plurals = new Set(names.map((name) => records[name].plural));
  for (const route of allRoutes.filter(({ download }) => download === undefined)) {
    const keys = Object.keys((route.response as z.ZodObject).shape);
    if (withoutRecord.includes(route.id)) continue;
    if (keys.includes('has_more')) expect(plurals, route.id).toContain(keys.find((key) => key !== 'has_more'));
    else expect([...singles], route.id).toEqual(expect.arrayContaining(keys));
  }
});

test('a list shows the plural with has_more wherever a page can be asked for [GEN-4, D3.6]', () => {
  for (const route of lists) {
    expect(Object.keys((route.response as z.ZodObject).shape), route.id).toContain('has_more');
  }
});

test('every list takes limit, offset and both cursors: 10 at once by default, 20 invoices, and at most 100 [LIM-1, INV-3, GEN-13, PRICE-14]', () => {
  for (const { id, query } of lists) {
    if (query === undefined) continue;
    expect(query.parse({}), id).toMatchObject({ limit: id === 'invoices.list' ? 20 : 10, offset: 0 });
    expect(query.safeParse({ limit: '100', offset: '1' }).success, id).toBe(true);
    if (id !== 'checkout_sessions.list') expect(query.safeParse({ limit: '101' }).success, id).toBe(false);
    for (const cursor of ['starting_after', 'ending_before']) {
      const nonsense = query.safeParse({ [cursor]: 'nonsense' });
      expect(nonsense.error?.issues[0]?.path, id).toEqual([cursor]);
    }
  }
});

test('an expansion holds for one answer: the next shows the identifier again [GEN-9]', () => {
  const { customer, promo_code: code } = samples;
  const message = { ...code, customerId: customer.customerId };
  const found = new Map([['customer' as const, new Map([[customer.customerId, { customer_id: 'x' }]])]]);
  const expanded = records.promo_code.render(message, expansionOf(new Set(['customer']), found));
  expect(expanded.customer).toEqual({ customer_id: 'x' });
  expect(records.promo_code.render(message).customer).toBe(customer.customerId);
});

describe('a price', () => {
  const schema = routes.prices.create.body?.schema ?? z.never();
  const price = { unit_amount: 100 };

  test('takes product or product_data, and not both [PRICE-3]', () => {
    const product = newId('product');
    const product_data = { name: 'Scale' };
    expect(schema.safeParse({ ...price, product }).success).toBe(true);
    expect(schema.safeParse({ ...price, product_data }).success).toBe(true);
    expect(schema.safeParse(price).success).toBe(false);
    expect(schema.safeParse({ ...price, product, product_data }).success).toBe(false);
  });

  test('takes an empty lookup_key, which is none, at creation and as a change', () => {
    expect(schema.safeParse({ ...price, product: newId('product'), lookup_key: '' }).success).toBe(true);
    expect(routes.prices.update.body?.schema.safeParse({ lookup_key: '' }).success).toBe(true);
  });
});

test('coupons take a percent of more than 0, at most 100, with two decimals at most [API-6]', () => {
  const schema = routes.coupons.create.body?.schema ?? z.never();
  for (const percent_off of [30, 0.01, 12.5, 100]) expect(schema.safeParse({ percent_off }).success).toBe(true);
  for (const percent_off of [0, -1, 100.01, 12.345, '30'])
    expect(schema.safeParse({ percent_off }).success).toBe(false);
});

test('a custom refund of a subscription needs a positive amount [ERR-11]', () => {
  const schema = routes.subscriptions.cancel.body?.schema ?? z.never();
  expect(schema.safeParse({ refund: 'custom', refund_amount: 1 }).success).toBe(true);
  for (const refund_amount of [undefined, 0, -1]) {
    expect(schema.safeParse({ refund: 'custom', refund_amount }).success).toBe(false);
  }
});

describe('a subscription', () => {
  const item = () => ({ price: newId('price') });
  const bodies = [
    ['that is created', routes.subscriptions.create, { customer: newId('customer'), items: [item()] }],
    ['that is changed', routes.subscriptions.update, {}],
  ] as const;
  const same = item();
  const refused = [
    [{ items: [] }, 'items', 'too_small'],
    [{ items: Array.from({ length: 21 }, item) }, 'items', 'too_big'],
    [{ items: [same, { ...same, quantity: 2 }] }, 'items', 'value_error'],
    [{ coupon: newId('coupon'), promo_code: 'SPRING' }, 'promo_code', 'one_of_required'],
  ] as const;

  test.each(bodies)(
    '%s is refused without items, with more than 20, a price twice or two discounts [D14.115]',
    (_what, { body }, least) => {
      const told = (fields: object) => {
        const sent = { ...least, ...fields };
        const { error } = body?.schema.safeParse(sent) ?? {};
        return error === undefined ? [] : violationsOf(error, 'body', ['subscription'], sent);
      };
      for (const [fields, field, type] of refused) {
        expect(told(fields)).toMatchObject([{ loc: ['body', 'subscription', field], type }]);
      }
      expect(told({ items: Array.from({ length: 20 }, item), coupon: newId('coupon') })).toEqual([]);
      expect(told({ promo_code: 'SPRING' })).toEqual([]);
    },
  );
});

test('a session refund takes an amount or lines, and an empty list of lines as none [SREF-2, D14.41]', () => {
  const schema = routes.checkoutSessions.refund.body?.schema ?? z.never();
  const line = { price: newId('price'), amount_to_refund: 5 };
  expect(schema.safeParse({ amount: 5, line_items: [], payment_methods: [] }).success).toBe(true);
  expect(schema.safeParse({ amount: 5, line_items: [line] }).success).toBe(false);
});

test('the description is of version 0.1.0 [VER-1]', () => {
  expect(openapi().info).toMatchObject({ version: '0.1.0' });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { clockTime, metadata, reference, text, time, url } from '../src/fields.ts';
import {
  expandKeysOf,
  isCardNumber,
  limits,
  parseTime,
  routes,
  screen,
  toleranceOf,
  violationsOf,
} from '../src/index.ts';

describe('times', () => {
  test.each([
    ['2026-01-02T03:04:05.678Z', '2026-01-02T03:04:05.678Z'],
    ['2026-01-02T03:04:05.6789Z', '2026-01-02T03:04:05.678Z'],
    ['2026-01-02T03:04:05', '2026-01-02T03:04:05.000Z'],
    ['2026-01-02', '2026-01-02T00:00:00.000Z'],
    ['2026-01-02T03:04:05+02:00', '2026-01-02T01:04:05.000Z'],
    ['2026-01-02T03:04:05 02:00', '2026-01-02T01:04:05.000Z'],
    ['2026-01-02T03:04:05-0230', '2026-01-02T05:34:05.000Z'],
    ['1767323045', '2026-01-02T03:04:05.000Z'],
  ])('%s is %s [GEN-5, D3.4]', (given, iso) => {
    expect(new Date(parseTime(given) ?? Number.NaN).toISOString()).toBe(iso);
  });

  test.each([
    '',
    'now',
    '2026-13-01',
    '2026-02-30',
    '2026-01-02T25:00:00Z',
    '2026-01-02T03:04:05+24:00',
    '2026-01-02T03:04:05+01:60',
    '99999999999999',
    '-1',
    '1e9',
  ])('%s is no time [GEN-5]', (given) => expect(parseTime(given)).toBeUndefined());

  test.each(['0001-01-01T00:00:00+00:01', '9999-12-31T23:59:59-00:01'])(
    '%s leaves the years of four digits by its zone, and is no time',
    (given) => expect(parseTime(given)).toBeUndefined(),
  );

  test('a test clock has a time in the years from 2000 to 2199, so that what follows on it has a time, too [RUN-5]', () => {
    const isTaken = (given: string | number) => clockTime.safeParse(given).success;
    const [first, last] = ['2000-01-01T00:00:00Z', '2199-12-31T23:59:59.999Z'];
    expect([first, last, 946_684_800].map(isTaken)).toEqual([true, true, true]);
    expect(['1999-12-31T23:59:59.999Z', '2200-01-01', '9999-12-31', 0, 'now'].map(isTaken)).toEqual(
      Array(5).fill(false),
    );
  });

  test('Unix seconds must be whole [GEN-5]', () => {
    expect(parseTime(1.5)).toBeUndefined();
    expect(parseTime(Number.POSITIVE_INFINITY)).toBeUndefined();
    expect(parseTime(0)).toBe(0);
  });
});

describe('card numbers', () => {
  test.each([
    '4242424242424242',
    '4242 4242 4242 4242',
    '4242-4242-4242-4242',
    '5555555555554444',
    '2223003122003222',
    '378282246310005',
    '6011111111111117',
    '30569309025904',
    '4000051230000072',
    '4000000000000000006',
    '6440000000000005',
    '6500000000000000003',
    '30000000000004',
    '38000000000006',
    '340000000000009',
    '5100000000000008',
    '2720000000000005',
  ])('%s is one [D10.4]', (number) => expect(isCardNumber(number)).toBe(true));

  test.each([
    ['a GTIN', '00036000291452'],
    ['a time in milliseconds', '1767323045678'],
    ['a number that fails Luhn', '4242424242424241'],
    ['the right digits at a length that the issuer does not have', '42424242424242426'],
    ['text', 'fourty-two'],
    ['an id', 'fprice_01kdy9q2twabcdefghjkmnpqrs'],
  ])('%s is none [D10.4]', (_what, number) => expect(isCardNumber(number)).toBe(false));

  test('they are refused in any field, in keys and in metadata, but not in product codes, phones and ids [ERR-2, D10.4]', () => {
    const pan = '4242424242424242';
    expect(screen({ price: { description: pan } }, 'body')?.type).toBe('card_number_not_allowed');
    expect(screen({ price: { metadata: { gtin: pan } } }, 'body')?.type).toBe('card_number_not_allowed');
    expect(screen({ price: { metadata: { [pan]: 'x' } } }, 'body')).toEqual({
      loc: ['body', 'price', 'metadata'],
      msg: 'Card numbers are not accepted',
      type: 'card_number_not_allowed',
    });
    expect(screen({ anything: [pan] }, 'query')?.loc).toEqual(['query', 'anything', '0']);
    expect(screen({ checkout_session: { refund_metadata: { gtin: pan } } }, 'body')?.type).toBe(
      'card_number_not_allowed',
    );
    for (const name of ['gtin', 'reference_gtin', 'upc_code', 'phone', 'client_reference_id']) {
      expect(screen({ product: { metadata: { a: 'b' }, [name]: pan } }, 'body')).toBeUndefined();
    }
    expect(screen({ selling_plan: pan }, 'query')).toBeUndefined();
    expect(screen({ checkout_session: { selling_plans: [{ id: pan }] } }, 'body')).toBeUndefined();
  });
});

describe('what no request may hold', () => {
  test.each([
    ['a NUL', { a: { b: 'x\0' } }, ['body', 'a', 'b']],
    ['a lone surrogate', { a: ['\ud800'] }, ['body', 'a', '0']],
    ['a NUL in a name', { a: { 'x\0': 1 } }, ['body', 'a']],
    ['a name that would change the prototype', JSON.parse('{"a":{"__proto__":1}}'), ['body', 'a']],
  ])('%s', (_what, body, loc) => expect(screen(body, 'body')?.loc).toEqual(loc));

  test('more depth than the limit, without exhausting the stack [D10.2]', () => {
    const deep = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`);
    expect(screen(deep, 'body')?.type).toBe('too_deep');
  });

  test('more fields than the limit', () => {
    expect(screen(Array(limits.jsonKeys + 1).fill(0), 'body')?.type).toBe('too_many_fields');
  });
});

describe('tolerance', () => {
  const schema = z.object({
    name: z.string().optional(),
    metadata: metadata.optional(),
    inner: z.object({ a: z.string().optional() }).optional(),
    items: z.array(z.object({ b: z.int().optional() })).optional(),
    blank: z
      .object({ email: z.string().min(1).optional() })
      .meta({ emptyIsAbsent: true })
      .optional(),
  });
  const tolerate = toleranceOf(schema);

  test('null counts as absent, at every depth [D1.2]', () => {
    expect(tolerate({ name: null, inner: { a: null }, items: [{ b: null }], metadata: { k: null, l: 'm' } })).toEqual({
      inner: {},
      items: [{}],
      metadata: { l: 'm' },
    });
  });

  test('[] stands for an empty object where an object is meant, and for itself where a list is [GEN-6, D1.2]', () => {
    expect(tolerate({ metadata: [], inner: [], items: [] })).toEqual({ metadata: {}, inner: {}, items: [] });
  });

  test('[] is absent where an empty object would be refused [D14.26]', () => {
    const needy = toleranceOf(z.object({ recurring: z.object({ interval: z.string() }).optional() }));
    expect(needy({ recurring: [] })).toEqual({});
    expect(needy({ recurring: {} })).toEqual({ recurring: {} });
    const { body } = routes.prices.create;
    const tolerated = toleranceOf(body?.schema as z.ZodType)({ product_data: [], recurring: [], metadata: [] });
    expect(tolerated).toEqual({ metadata: {} });
  });

  test('a record that was fetched expanded stands for its identifier [D14.26]', () => {
    const product_id = 'fprod_01kdy9q2twabcdefghjkmnpqrs';
    const component_id = 'fcomp_01kdy9q2twabcdefghjkmnpqrs';
    const price = toleranceOf(routes.prices.create.body?.schema as z.ZodType);
    expect(price({ product: { product_id, name: 'Thermometer' } })).toEqual({ product: product_id });
    expect(price({ product: product_id })).toEqual({ product: product_id });
    expect(price({ product: { name: 'none' } })).toEqual({ product: { name: 'none' } });
    const product = toleranceOf(routes.products.create.body?.schema as z.ZodType);
    expect(product({ components: [{ component_id, name: 'Oats' }] })).toEqual({ components: [component_id] });
  });

  test('"" counts as absent in defaults', () => {
    expect(tolerate({ blank: { email: '' }, name: '' })).toEqual({ blank: {}, name: '' });
  });

  test('unknown fields are dropped [D1.2]', () => {
    expect(tolerate({ nope: 1, inner: { also: 2 } })).toEqual({ inner: {} });
  });

  test('nothing that it is given makes it throw [D13.5]', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => void schema.safeParse(tolerate(value))),
      { numRuns: 2_000 },
    );
  });
});

describe('violations', () => {
  test('a bad reference names itself by its code, and echoes only what is an id of ours [ERR-2, D1.9]', () => {
    const schema = z.object({ line_items: z.array(z.object({ price: reference('price') })) });
    const customer = 'fcus_01kdy9q2twabcdefghjkmnpqrs';
    const sent = { line_items: [{ price: 'no such <thing>' }, { price: customer }] };
    const result = schema.safeParse(sent);
    expect(violationsOf(result.error as z.ZodError, 'body', ['checkout_session'], sent)).toEqual([
      {
        loc: ['body', 'checkout_session', 'line_items', '0', 'price'],
        msg: 'price_not_found',
        type: 'price_not_found',
      },
      {
        loc: ['body', 'checkout_session', 'line_items', '1', 'price'],
        msg: `price_not_found: ${customer}`,
        type: 'price_not_found',
      },
    ]);
  });

  test.each([
    [{ text: 1 }, 'Must be a string'],
    [{ amount: '1' }, 'Must be a number'],
    [{ amount: 1.5 }, 'Must be a whole number'],
    [{ amount: 0 }, 'Must be at least 1'],
    [{ amount: 11 }, 'Must be at most 10'],
    [{ above: 0 }, 'Must be more than 0'],
    [{ list: 'a long text is no list, and has no entries to count' }, 'Must be a list'],
    [{ list: [] }, 'Must have at least 1 entry'],
    [{ metadata: 'x' }, 'Must be an object'],
    [{ flag: 'yes' }, 'Must be true or false'],
    [{ mode: 'x' }, 'Must be one of payment, setup'],
    [{ at: {} }, 'Must be an ISO 8601 time or Unix seconds'],
    [{ short: 'abc' }, 'Must have at most 2 characters'],
    [{ metadata: { [`${'k'.repeat(41)}`]: 'x' } }, 'Invalid field name: must have at most 40 characters'],
    [{ metadata: { '': 'x' } }, 'Invalid field name: must not be empty'],
  ])('%j is told once, in plain words: %s', (sent, msg) => {
    const fields = {
      text: z.string(),
      amount: z.int().min(1).max(10),
      above: z.number().gt(0),
      list: z.array(z.string()).min(1).max(3),
      metadata,
      flag: z.boolean(),
      mode: z.enum(['payment', 'setup']),
      at: time,
      short: z.string().max(2),
    };
    const result = z.object(fields).partial().safeParse(sent);
    const told = violationsOf(result.error as z.ZodError, 'body', [], sent);
    expect(told.map((violation) => violation.msg)).toEqual([msg]);
  });

  test.each([
    [routes.coupons.create, { amount_off: -1 }, 'amount_off', 'Must be at least 1'],
    [routes.coupons.create, { amount_off: 1e20 }, 'amount_off', `Must be at most ${limits.amountCents}`],
    [routes.coupons.create, { amount_off: 1, percent_off: 1 }, 'amount_off', 'Supply either amount_off or percent_off'],
    [routes.productComponents.create, { name: 'Oats', serving_size_g: -1 }, 'serving_size_g', 'Must be more than 0'],
    [routes.prices.create, { unit_amount: 1 }, 'product', 'Supply either product or product_data'],
  ] as const)('of %#: one fault is told once', ({ body }, sent, name, msg) => {
    const { error } = body?.schema.safeParse(sent) ?? {};
    const told = violationsOf(error as z.ZodError, 'body', [], sent);
    expect(told.map(({ loc, msg: words }) => [loc.at(-1), words])).toEqual([[name, msg]]);
  });

  test('thousands of faults are reported by the first fifty, in the time that these take', () => {
    const sent = Object.fromEntries(Array.from({ length: limits.jsonKeys }, (_, at) => [`k${at}`, at]));
    const { error } = metadata.safeParse(sent);
    const before = process.cpuUsage();
    const told = violationsOf(error as z.ZodError, 'body', ['price', 'metadata'], sent);
    expect(process.cpuUsage(before).user).toBeLessThan(500_000);
    expect(told.map(({ loc }) => loc.at(-1))).toEqual(Array.from({ length: 50 }, (_, at) => `k${at}`));
  });

  test('a missing field is named so', () => {
    const { body } = routes.shippingRates.create;
    const result = body?.schema.safeParse({});
    expect(violationsOf(result?.error as z.ZodError, 'body', ['shipping_rate'], {})).toContainEqual({
      loc: ['body', 'shipping_rate', 'amount'],
      msg: 'Field required',
      type: 'missing',
    });
  });
});

describe('bounds', () => {
  test('text counts characters, not UTF-16 units', () => {
    expect(text(2).safeParse('😀😀').success).toBe(true);
    expect(text(2).safeParse('abc').success).toBe(false);
  });

  test('metadata: 50 keys of 40 characters, values of 500, strings only [GEN-6, D4.6]', () => {
    const full = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`${i}`.padEnd(40, 'k'), 'v'.repeat(500)]));
    expect(metadata.safeParse(full).success).toBe(true);
    expect(metadata.safeParse({ ...full, one_more: 'x' }).success).toBe(false);
    expect(metadata.safeParse({ ['k'.repeat(41)]: 'v' }).success).toBe(false);
    expect(metadata.safeParse({ k: 'v'.repeat(501) }).success).toBe(false);
    expect(metadata.safeParse({ k: 1 }).success).toBe(false);
  });

  test.each([1.5, -1, 2 ** 53, Number.POSITIVE_INFINITY, '100', {}, [], limits.amountCents + 1])(
    'an amount of %s is refused [GEN-3]',
    (amount) => {
      const schema = routes.shippingRates.create.body?.schema;
      expect(schema?.safeParse({ display_name: 'x', amount }).success).toBe(false);
    },
  );

  test.each(['javascript:alert(1)', 'data:text/html,x', '//shop.example', 'shop.example', ''])(
    '%s is no URL',
    (value) => expect(url.safeParse(value).success).toBe(false),
  );

  test('a success URL may hold the placeholder of the session', () => {
    expect(url.safeParse('https://shop.example/ok?s={CHECKOUT_SESSION_ID}').success).toBe(true);
    expect(url.safeParse('https://shop.example/ok?s=%7BCHECKOUT_SESSION_ID%7D').success).toBe(true);
  });

  test.each([
    ['1', 1],
    ['100', 100],
  ])('limit=%s [LIM-1]', (given, limit) => {
    expect(routes.prices.list.query?.parse({ limit: given })).toMatchObject({ limit });
  });

  test.each(['0', '101', '-1', '1e3', 'abc', '', ' 1', '1.0', '99999999999999999999', '0x10'])(
    'limit=%s is refused [LIM-1, GEN-13]',
    (limit) => expect(routes.prices.list.query?.safeParse({ limit }).success).toBe(false),
  );

  test('a list of sessions takes any limit that is a safe integer [SESS-4]', () => {
    const schema = routes.checkoutSessions.list.query;
    expect(schema?.parse({ limit: '9007199254740991' })).toMatchObject({ limit: Number.MAX_SAFE_INTEGER });
    expect(schema?.safeParse({ limit: '9007199254740992' }).success).toBe(false);
  });

  test.each([
    ['true', true],
    ['1', true],
    ['True', true],
    ['false', false],
    ['0', false],
    ['False', false],
  ])('active=%s is a boolean as some language writes it [D14.26]', (active, meant) => {
    expect(routes.prices.list.query?.parse({ active })).toMatchObject({ active: meant });
    const keys = expandKeysOf({ expand_product: active }, routes.prices.list.expansion, () => true);
    expect(keys.has('product')).toBe(meant);
  });

  test.each(['', 'yes', 'truee', ' true'])('active=%s is refused', (active) =>
    expect(routes.prices.list.query?.safeParse({ active }).success).toBe(false),
  );

  test('a nutrient is any number that is not negative and that the column holds', () => {
    const schema = routes.productComponents.create.body?.schema;
    const judge = (calories: unknown) => schema?.safeParse({ name: 'Oats', nutrition: { calories } }).success;
    for (const figure of [0, 1 / 3, 33.333333333333336, 1e-7, 5e-324, 12_345_678, 999_999_999]) {
      expect(judge(figure)).toBe(true);
    }
    for (const figure of [-1, 1e9, Number.NaN, Number.POSITIVE_INFINITY, '1', null, true])
      expect(judge(figure)).toBe(false);
  });

  test('one nutrient can be cleared by its name [D14.25]', () => {
    const schema = routes.productComponents.update.body?.schema;
    expect(schema?.safeParse({ clear: ['nutrition.sodium_mg', 'category'] }).success).toBe(true);
    expect(schema?.safeParse({ clear: ['nutrition.salt'] }).success).toBe(false);
  });

  test.each([
    [0.01, true],
    [30, true],
    [33.33, true],
    [100, true],
    [0, false],
    [33.333, false],
    [100.01, false],
  ])('percent_off %s has at most two decimals and is within 100: %s', (percent_off, accepted) =>
    expect(routes.coupons.create.body?.schema.safeParse({ percent_off }).success).toBe(accepted),
  );

  test('a session may say that a trial has no days', () => {
    const schema = routes.checkoutSessions.create.body?.schema;
    expect(schema?.safeParse({ subscription_data: { trial_period_days: 0 } }).success).toBe(true);
  });

  test('both cursors at once are refused at the second [GEN-12, D3.2]', () => {
    const id = 'fprice_01kdy9q2twabcdefghjkmnpqrs';
    const result = routes.prices.list.query?.safeParse({ starting_after: id, ending_before: id });
    expect(result?.error?.issues[0]?.path).toEqual(['ending_before']);
  });

  test('arrays in a query: brackets, indexes or the name repeated [LIM-2, PRICE-12, D13.6]', () => {
    const parse = (lookup_keys: unknown) => routes.prices.list.query?.safeParse({ lookup_keys });
    expect(parse('a')?.data).toMatchObject({ lookup_keys: ['a'] });
    expect(parse(['a', 'b'])?.data).toMatchObject({ lookup_keys: ['a', 'b'] });
    expect(parse({ 0: 'a', 1: 'b' })?.data).toMatchObject({ lookup_keys: ['a', 'b'] });
    expect(parse({ a: 'b' })?.success).toBe(false);
    expect(parse(Array(11).fill('a'))?.success).toBe(false);
  });
});

import { openDatabase, openSession } from '@eligo/postgres';
import { type Api, type ApiAnswer, type Constellation, startConstellation, waitUntil } from '@eligo/testkit';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stopWithBooks } from '../src/books.ts';
import { record, records, text } from '../src/records.ts';
import { runCli } from '../src/run-cli.ts';
import { make, openShop, type Shop } from '../src/shop.ts';

describe('the catalog, by public requests that arrive at once', () => {
  let eligo: Constellation;
  let api: Api;
  let shop: Shop;
  beforeAll(async () => {
    eligo = await startConstellation({ topology: 'in-process' });
    api = eligo.api();
    shop = await openShop(api);
  }, 180_000);
  afterAll(() => stopWithBooks(eligo), 60_000);

  const create = (fields: object, headers: Record<string, string> = {}) =>
    api.post(
      '/v1/checkout/sessions',
      { checkout_session: { success_url: 'https://shop.example/done', ...fields } },
      { headers: { 'idempotency-key': newId('request'), ...headers } },
    );

  // A busy machine answers some of many at once with 503, which has changed nothing, and they come again, under their key where they have one.
  const untilDecided = async (ask: () => Promise<ApiAnswer>) => {
    for (;;) {
      const answer = await ask();
      if (answer.status !== 503) return answer;
    }
  };

  it('sells ten of a hundred sessions with a code that has ten redemptions left, and refuses ninety', async () => {
    const coupon_id = text(await make(api, '/v1/coupons', 'coupon', { percent_off: 10 }), 'coupon_id');
    const made = await make(api, '/v1/promo_codes', 'promo_code', { coupon_id, code: 'TEN', max_redemptions: 10 });
    const line_items = [{ price: shop.eligiblePriceId, quantity: 1 }];
    const buy = () => {
      const key = { 'idempotency-key': newId('request') };
      return untilDecided(() => create({ line_items, discounts: [{ promo_code: 'ten' }] }, key));
    };
    const answers = await Promise.all(Array.from({ length: 100 }, buy));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    const refused = answers.filter(({ status }) => status === 422);
    expect(refused).toHaveLength(90);
    for (const { body } of refused) {
      expect(records(body, 'detail')).toEqual([
        expect.objectContaining({ loc: expect.arrayContaining(['discounts']), type: 'promo_code_invalid' }),
      ]);
    }
    const path = `/v1/promo_codes/${text(made, 'promo_code_id')}`;
    expect(record((await api.get(path)).body, 'promo_code').times_redeemed).toBe(10);
  });

  it('answers another account while one waits for a row with all the connections that it may hold [D14.387]', async () => {
    const account = text(await runCli(eligo, ['accounts', 'create', '--name', 'Neighbor']), 'account');
    const unlimited = ['--account', account, '--mode', 'test', '--rate-limit', '0'];
    const neighbor = eligo.api(text(await runCli(eligo, ['keys', 'create', ...unlimited]), 'api_key'));
    const product = text(await make(neighbor, '/v1/products', 'product', { name: 'Thermometer' }), 'product_id');
    const database = openDatabase({ url: eligo.database.adminUrl, applicationName: 'holds the row', max: 1 });
    const holder = await openSession(database, 'holds the row');
    await holder.query('begin');
    await holder.query('select 1 from catalog.products where product_id = $1 for update', [product]);
    const changes = Array.from({ length: 40 }, (_, at) =>
      neighbor.patch(`/v1/products/${product}`, { product: { active: at % 2 === 0 } }),
    );
    const locked = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await waitUntil(async () => (await eligo.database.admin(locked)).length >= 8, { what: 'the changes wait' });
    const answers = [await api.get('/v1/products'), await api.get('/v1/prices')];
    await make(api, '/v1/products', 'product', { name: 'Bandage' });
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    // None of them got the row.
    expect(new Set((await Promise.all(changes)).map(({ status }) => status))).toEqual(new Set([503]));
    await holder.query('rollback');
    await holder.close();
    await database.close();
  });

  describe('with a code that can be redeemed once', () => {
    const once = async () => {
      const coupon_id = text(await make(api, '/v1/coupons', 'coupon', { percent_off: 10 }), 'coupon_id');
      const code = newId('request');
      const made = await make(api, '/v1/promo_codes', 'promo_code', { coupon_id, code, max_redemptions: 1 });
      const path = `/v1/promo_codes/${text(made, 'promo_code_id')}`;
      const redeemed = async () => record((await api.get(path)).body, 'promo_code').times_redeemed;
      return { discounts: [{ promo_code: code }], redeemed };
    };
    const sessionOf = ({ body }: Awaited<ReturnType<typeof create>>) => record(body, 'checkout_session');

    it('lets a shopper change the cart under the key that redeemed it: the earlier session expires [D1.1]', async () => {
      const { discounts, redeemed } = await once();
      const key = { 'idempotency-key': newId('request') };
      const of = (quantity: number) => ({ line_items: [{ price: shop.eligiblePriceId, quantity }], discounts });
      const first = await create(of(1), key);
      const second = await create(of(2), key);
      expect([first.status, second.status]).toEqual([200, 200]);
      const path = `/v1/checkout/sessions/${text(sessionOf(first), 'checkout_session_id')}`;
      expect(record((await api.get(path)).body, 'checkout_session').status).toBe('expired');
      expect(sessionOf(second)).toMatchObject({ status: 'open' });
      expect(await redeemed()).toBe(1);
      // Without the key it is used up.
      expect((await create(of(2))).status).toBe(422);
    });

    it('leaves the earlier session open where another code is refused than the one that it redeemed [D1.1]', async () => {
      const { discounts, redeemed } = await once();
      const key = { 'idempotency-key': newId('request') };
      const line_items = [{ price: shop.eligiblePriceId, quantity: 1 }];
      const first = await create({ line_items, discounts }, key);
      const refused = await create({ line_items, discounts: [{ promo_code: 'mistyped' }] }, key);
      expect(refused.status).toBe(422);
      const path = `/v1/checkout/sessions/${text(sessionOf(first), 'checkout_session_id')}`;
      expect(record((await api.get(path)).body, 'checkout_session').status).toBe('open');
      expect(await redeemed()).toBe(1);
    });

    it('takes the code of a subscription, sent back in other letters, for no change once it is used up [D14.116]', async () => {
      const { discounts, redeemed } = await once();
      const sold = { product: shop.eligibleProductId, unit_amount: 2_000, recurring: { interval: 'month' } };
      const price = await make(api, '/v1/prices', 'price', sold);
      const customer = await make(api, '/v1/customers', 'customer', { email: 'jo@example.com' });
      const [promo_code = ''] = discounts.map((discount) => discount.promo_code);
      const made = await make(api, '/v1/subscriptions', 'subscription', {
        customer: text(customer, 'customer_id'),
        items: [{ price: text(price, 'price_id'), quantity: 1 }],
        trial_end: new Date(Date.now() + 86_400_000).toISOString(),
        promo_code,
      });
      expect(await redeemed()).toBe(1);
      const path = `/v1/subscriptions/${text(made, 'subscription_id')}`;
      const update = (code: string) => api.patch(path, { subscription: { promo_code: code } });
      const again = await update(promo_code.toUpperCase());
      expect(again.status).toBe(200);
      expect(record(again.body, 'subscription').discounts).toEqual(made.discounts);
      expect((await update('mistyped')).status).toBe(422);
      expect(await redeemed()).toBe(1);
    });

    it('answers ten equal requests at once under one key with one session [D1.1]', async () => {
      const { discounts, redeemed } = await once();
      const key = { 'idempotency-key': newId('request') };
      const line_items = [{ price: shop.eligiblePriceId, quantity: 1 }];
      const ask = () => untilDecided(() => create({ line_items, discounts }, key));
      const answers = await Promise.all(Array.from({ length: 10 }, ask));
      for (const { status } of answers) expect(status).toBe(200);
      expect(new Set(answers.map((answer) => text(sessionOf(answer), 'checkout_session_id'))).size).toBe(1);
      expect(await redeemed()).toBe(1);
    });
  });

  it('makes an inline product once when its session is created by twenty requests under one key [D14.47]', async () => {
    const name = `Inline ${newId('request')}`;
    const line_items = [{ price_data: { product_data: { name }, unit_amount: 700 }, quantity: 1 }];
    const key = { 'idempotency-key': newId('request') };
    // Who comes while the first is at work is told to come again.
    const ask = () => untilDecided(() => create({ line_items }, key));
    const answers = await Promise.all(Array.from({ length: 20 }, ask));
    for (const { status } of answers) expect(status).toBe(200);
    const ids = new Set(answers.map(({ body }) => text(record(body, 'checkout_session'), 'checkout_session_id')));
    expect(ids.size).toBe(1);
    const products = records((await api.get('/v1/products?limit=100')).body, 'products');
    expect(products.filter((product) => product.name === name)).toHaveLength(1);
  });

  it('moves a lookup key to one of twenty prices that ask for it', async () => {
    const lookup_key = newId('request');
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        untilDecided(() =>
          api.post('/v1/prices', {
            price: { product_data: { name: `P${index}` }, unit_amount: 5, lookup_key, transfer_lookup_key: true },
          }),
        ),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(records((await api.get(`/v1/prices?lookup_keys[]=${lookup_key}`)).body, 'prices')).toHaveLength(1);
  });
});

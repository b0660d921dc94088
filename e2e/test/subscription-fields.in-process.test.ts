import { type Api, type Constellation, startConstellation } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stopWithBooks } from '../src/books.ts';
import { type Json, record, text } from '../src/records.ts';
import { make, newCard, newCustomer, openShop } from '../src/shop.ts';

describe('the fields of a subscription, by public requests', () => {
  let eligo: Constellation;
  let api: Api;
  let items: Json[];
  let customer: string;
  let card: string;

  beforeAll(async () => {
    eligo = await startConstellation({ topology: 'in-process' });
    api = eligo.api();
    const shop = await openShop(api);
    customer = await newCustomer(api);
    card = await newCard(api, customer, 'hsa', { off_session: true });
    const price = { product: shop.eligibleProductId, unit_amount: 1_500, recurring: { interval: 'month' } };
    items = [{ price: text(await make(api, '/v1/prices', 'price', price), 'price_id'), quantity: 1 }];
  }, 180_000);
  afterAll(() => stopWithBooks(eligo), 60_000);

  const sell = async (fields: Json = {}) => {
    const asked = { customer, items, default_payment_method: card, ...fields };
    return `/v1/subscriptions/${text(await make(api, '/v1/subscriptions', 'subscription', asked), 'subscription_id')}`;
  };
  const patch = async (path: string, subscription: Json) => {
    const { status, body } = await api.patch(path, { subscription });
    expect(status, JSON.stringify(body)).toBe(200);
    return record(body, 'subscription');
  };

  it('are cleared by `clear` alone, each by its name; null leaves them [SUB-10, D14.116]', async () => {
    const coupon = text(
      await make(api, '/v1/coupons', 'coupon', { name: 'Ten', percent_off: 10, duration: 'forever' }),
      'coupon_id',
    );
    const backup = await newCard(api, customer, 'credit', { off_session: true });
    const path = await sell({ backup_payment_method: backup });
    const cancelAt = new Date(Date.now() + 10 * 86_400_000).toISOString();
    const full = { default_payment_method: card, backup_payment_method: backup, cancel_at: cancelAt };
    expect(await patch(path, { cancel_at: cancelAt, coupon })).toMatchObject({
      ...full,
      discounts: [{ source: { coupon } }],
    });
    const nulls = { cancel_at: null, default_payment_method: null, backup_payment_method: null, coupon: null };
    expect(await patch(path, nulls)).toMatchObject({ ...full, discounts: [{ source: { coupon } }] });
    expect(await patch(path, { clear: ['cancel_at', 'coupon'] })).toMatchObject({
      ...{ ...full, cancel_at: null, discounts: [] },
    });
    expect(await patch(path, { clear: ['backup_payment_method', 'default_payment_method'] })).toMatchObject({
      ...{ default_payment_method: null, backup_payment_method: null, status: 'active' },
    });
    expect(await api.patch(path, { subscription: { clear: ['metadata'] } })).toMatchObject({
      ...{ status: 422, body: { detail: [{ loc: ['body', 'subscription', 'clear', '0'] }] } },
    });
  });

  it('are refused with a 422 for a trial_end or cancel_at that is not in the future [SUB-10, D14.116]', async () => {
    const path = await sell({ trial_period_days: 14 });
    for (const field of ['trial_end', 'cancel_at']) {
      const answer = await api.patch(path, { subscription: { [field]: new Date(Date.now() - 60_000).toISOString() } });
      expect(answer).toMatchObject({
        status: 422,
        body: { detail: [{ loc: ['body', 'subscription', field], type: 'value_error', msg: 'Must be in the future' }] },
      });
    }
    expect(await patch(path, { trial_end: 'now' })).toMatchObject({ status: 'active' });
  });

  it('billing_cycle_anchor is now or unchanged, now without it, and nothing else [SUB-12, D14.117]', async () => {
    const path = await sell();
    const periodOf = (subscription: Json) => [subscription.current_period_start, subscription.current_period_end];
    const before = record((await api.get(path)).body, 'subscription');
    const resume = async (body?: Json) => {
      await api.post(`${path}/pause`);
      return record((await api.post(`${path}/resume`, body)).body, 'subscription');
    };
    expect(periodOf(await resume({ subscription: { billing_cycle_anchor: 'unchanged' } }))).toEqual(periodOf(before));
    const anew = await resume({ subscription: { billing_cycle_anchor: 'now' } });
    expect(anew.latest_invoice).not.toBe(before.latest_invoice);
    expect(Date.parse(String(anew.current_period_start))).toBeGreaterThan(
      Date.parse(String(before.current_period_start)),
    );
    const again = await resume();
    expect(again.latest_invoice).not.toBe(anew.latest_invoice);
    await api.post(`${path}/pause`);
    for (const anchor of ['later', '', 7, '2027-01-01T00:00:00Z']) {
      const answer = await api.post(`${path}/resume`, { subscription: { billing_cycle_anchor: anchor } });
      expect(answer).toMatchObject({
        ...{ status: 422, body: { detail: [{ loc: ['body', 'subscription', 'billing_cycle_anchor'] }] } },
      });
    }
    expect(record((await api.get(path)).body, 'subscription').status).toBe('paused');
  });
});

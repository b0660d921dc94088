import { allRoutes, limits, type Route, screen } from '@eligo/contract';
import { type IdKind, isId, newId } from '@eligo/values';
import { describe, expect, it } from 'vitest';
import { attackNamed } from '../src/neighbors/attacks.ts';
import { attackOfRoute, largestWrites } from '../src/neighbors/largest-writes.ts';
import { listPaths } from '../src/neighbors/list-paths.ts';
import type { WriteTarget } from '../src/neighbors/write-target.ts';

describe('the attacks of one account on others', () => {
  it('have a worst case of each write route of the contract', () => {
    const covered = [...Object.keys(largestWrites), ...Object.keys(attackOfRoute)];
    const writes = allRoutes.filter(({ method }) => method !== 'GET').map(({ id }) => id);
    expect(covered.toSorted()).toEqual(writes.toSorted());
    for (const name of Object.values(attackOfRoute)) expect(attackNamed(name).name).toBe(name);
  });

  it.each(Object.keys(largestWrites))('send %s what the contract accepts', (id) => {
    const route = allRoutes.find((one) => one.id === id) as Route;
    const writes = largestWrites[id]?.(madeUp) ?? [];
    expect(writes.length).toBeGreaterThan(0);
    for (const { id: named, body } of writes) {
      expect(route.seed === undefined ? named === undefined : isId(route.seed, named ?? '')).toBe(true);
      if (body === undefined) expect(route.body?.optional ?? true).toBe(true);
      else {
        expect(route.body?.schema.safeParse(body)).toMatchObject({ success: true });
        expect(screen(body, 'body')).toBeUndefined();
        expect(JSON.stringify({ envelope: body }).length).toBeLessThanOrEqual(limits.bodyBytes);
      }
    }
  });

  it('have the largest page of each list of the contract', () => {
    const paths = listPaths({
      'customers.list_payment_methods': 'fcus_1',
      'checkout_sessions.list_line_items': 'fcs_1',
      'consumer_invoices.list': 'fsub_1',
      'webhooks.list_deliveries': 'fwh_1',
    });
    const lists = allRoutes.filter(({ id }) => /\.list/.test(id) || /(^|_)list$/.test(id));
    expect(paths).toHaveLength(lists.length);
    expect(paths).toContain('/v1/checkout/sessions?limit=1000000');
    expect(paths).toContain('/v1/customers/fcus_1/payment_methods?limit=100');
  });
});

const ids = (kind: IdKind, count = 2) => Array.from({ length: count }, () => newId(kind));
const sessions = () => ids('checkout_session');

const madeUp: WriteTarget = {
  shippingRate: newId('shipping_rate'),
  prices: ids('price', 100),
  products: ids('product'),
  components: ids('product_component'),
  recurringPrices: ids('price', 20),
  coupons: ids('coupon'),
  promoCode: newId('promo_code'),
  paymentLink: newId('payment_link'),
  customer: newId('customer'),
  card: newId('payment_method'),
  creditCard: newId('payment_method'),
  customersWithCards: ids('customer'),
  looseCards: ids('payment_method'),
  tiedCards: ids('payment_method'),
  openSessions: {
    ...{ update: sessions(), confirm: sessions(), cancel: sessions() },
    ...{ expire: sessions(), expireByHelper: sessions(), complete: sessions() },
  },
  heldSessions: sessions(),
  heldIntents: ids('payment_intent'),
  paidSession: newId('checkout_session'),
  paidIntent: newId('payment_intent'),
  refund: newId('refund'),
  pendingRefunds: { fail: ids('refund'), succeed: ids('refund') },
  charges: ids('charge'),
  disputes: ids('dispute'),
  evidenceFiles: ids('file'),
  letters: { approve: ids('letter'), deny: ids('letter') },
  subscriptions: { change: newId('subscription'), pause: newId('subscription'), cancel: ids('subscription') },
  openInvoices: { pay: ids('invoice'), void: ids('invoice') },
  webhooks: ids('webhook_endpoint'),
  testClocks: ids('test_clock'),
};

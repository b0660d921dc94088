import type { Api } from '@eligo/testkit';
import { text } from '../records.ts';
import { make } from '../shop.ts';
import { type Attack, sharedBy } from './attack.ts';
import type { AttackingAccount } from './attacking-account.ts';
import { flood, type Prepared } from './flood.ts';
import { get, post, send } from './prepared.ts';
import { seededRecords } from './seeded-records.ts';

/** Carts of a hundred lines, and what is read of them. */
export const cartAttacks: readonly Attack[] = [
  sending('carts of 100 lines and 500 coupons', ({ cart }) => [
    post('/v1/checkout/sessions', { checkout_session: cart }),
  ]),
  sending('changes of a session to 100 lines', ({ cart, session }) => [
    post(session, { checkout_session: { line_items: cart.line_items } }),
  ]),
  sending('reads of a session of 100 lines', ({ session }) => [get(session), get(`${session}/line_items?limit=100`)]),
  sending('PDFs of a session and of an invoice', async ({ session }, account) => [
    get(`${session}/substantiation?format=pdf`),
    get(`/v1/invoices/${(await seededRecords(account)).own.invoice}/document`),
  ]),
];

interface Cart {
  readonly cart: Readonly<Record<string, unknown>>;
  /** The path of a session of it. */
  readonly session: string;
}

function sending(
  name: string,
  requestsOf: (cart: Cart, account: AttackingAccount) => readonly Prepared[] | Promise<readonly Prepared[]>,
): Attack {
  return {
    name,
    async prepare(account) {
      const requests = await requestsOf(await expensiveCart(account), account);
      return (signal) =>
        flood(signal, account.perSecond * 1.2, (count) =>
          send(account.api, requests[count % requests.length] as Prepared),
        );
    },
  };
}

/** A cart of a hundred lines and five hundred coupons, and a session of it. */
export const expensiveCart = sharedBy(async ({ unlimited }: AttackingAccount): Promise<Cart> => {
  const cart = await newCart(unlimited);
  const session = await make(unlimited, '/v1/checkout/sessions', 'checkout_session', cart);
  return { cart, session: `/v1/checkout/sessions/${text(session, 'checkout_session_id')}` };
});

async function newCart(api: Api): Promise<Record<string, unknown>> {
  const product = text(await make(api, '/v1/products', 'product', { name: 'Thermometer' }), 'product_id');
  const prices: string[] = [];
  for (let at = 0; at < 100; at++) {
    prices.push(text(await make(api, '/v1/prices', 'price', { product, unit_amount: 10_000 + at }), 'price_id'));
  }
  return {
    line_items: prices.map((price) => ({ price, quantity: 1 })),
    discounts: Array.from({ length: 500 }, (_, at) => ({ coupon_data: { name: `c${at}`, amount_off: 1 } })),
    success_url: 'https://shop.example/done',
  };
}

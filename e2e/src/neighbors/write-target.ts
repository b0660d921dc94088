import type { Api } from '@eligo/testkit';
import { type Json, record, text } from '../records.ts';
import { make, newCard, newCustomer } from '../shop.ts';
import type { AttackingAccount } from './attacking-account.ts';
import { upload, uploadOf } from './body-attacks.ts';
import { sideBySide } from './side-by-side.ts';

/** Records that the largest writes name. */
export interface WriteTarget {
  readonly shippingRate: string;
  /** Lines of the sessions below: a hundred. */
  readonly prices: readonly string[];
  readonly products: readonly string[];
  readonly components: readonly string[];
  /** As many as a subscription has items. */
  readonly recurringPrices: readonly string[];
  readonly coupons: readonly string[];
  readonly promoCode: string;
  readonly paymentLink: string;
  readonly customer: string;
  readonly card: string;
  readonly creditCard: string;
  readonly customersWithCards: readonly string[];
  readonly looseCards: readonly string[];
  readonly tiedCards: readonly string[];
  readonly openSessions: Readonly<Record<OpenFor, readonly string[]>>;
  readonly heldSessions: readonly string[];
  readonly heldIntents: readonly string[];
  readonly paidSession: string;
  readonly paidIntent: string;
  readonly refund: string;
  readonly pendingRefunds: Readonly<Record<'fail' | 'succeed', readonly string[]>>;
  readonly charges: readonly string[];
  readonly disputes: readonly string[];
  readonly evidenceFiles: readonly string[];
  readonly letters: Readonly<Record<'approve' | 'deny', readonly string[]>>;
  readonly subscriptions: { readonly change: string; readonly pause: string; readonly cancel: readonly string[] };
  readonly openInvoices: Readonly<Record<'pay' | 'void', readonly string[]>>;
  readonly webhooks: readonly string[];
  readonly testClocks: readonly string[];
}

type OpenFor = 'update' | 'confirm' | 'cancel' | 'expire' | 'expireByHelper' | 'complete';

/** Of a kind that a write ends. While accounts are short of time, an attack does no more of them. */
const each = 6;

/** Makes them, by the public interface. */
export async function newWriteTarget({ unlimited: api }: AttackingAccount): Promise<WriteTarget> {
  const catalog = await newCatalog(api);
  const cards = await newCards(api);
  const { customer, card, creditCard, declinedCard } = cards;
  const cart = { customer, success_url: 'https://shop.example/done' };
  const hundredLines = catalog.prices.map((price) => ({ price, quantity: 1 }));
  const session = (fields: Json = {}) =>
    idOf(api, '/v1/checkout/sessions', 'checkout_session', { ...cart, line_items: hundredLines, ...fields });
  const small = (price: string) => session({ line_items: [{ price, quantity: 1 }] });
  const complete = (id: string, payment_method: string) =>
    make(api, `/v1/test_helpers/checkout/sessions/${id}/complete`, 'checkout_session', { payment_method });
  const pay = async (id: string, payment_method = card) => text(await complete(id, payment_method), 'payment_intent');
  const charge = async () => {
    const intent = await api.ok('GET', `/v1/payment_intents/${await pay(await small(catalog.eligible))}`);
    return text(record(intent, 'payment_intent'), 'latest_charge');
  };
  const open = () => inTurn(each, () => session());
  const hold = async () => {
    const id = await session({ capture_method: 'manual' });
    return { id, intent: await pay(id) };
  };
  const pendingRefund = async () => {
    const id = await small(catalog.eligible);
    await pay(id, 'refund_pending');
    return refundOf(api, id);
  };
  const letter = async () => {
    const id = await small(catalog.prescribed);
    await complete(id, card);
    const { letters } = await api.ok('GET', `/v1/letters?checkout_session=${id}`);
    return text((letters as Json[])[0] ?? {}, 'letter_id');
  };
  const subscription = (default_payment_method: string) =>
    make(api, '/v1/subscriptions', 'subscription', {
      ...{ customer, default_payment_method },
      items: catalog.recurringPrices.map((price) => ({ price, quantity: 1 })),
    });
  const subscribed = async () => text(await subscription(creditCard), 'subscription_id');
  const openInvoice = async () => text(await subscription(declinedCard), 'latest_invoice');
  const paidSession = await session();
  const paidIntent = await pay(paidSession);
  const held = await inTurn(each, hold);
  return {
    ...{ ...catalog, ...cards, paidSession, paidIntent },
    paymentLink: await idOf(api, '/v1/payment_links', 'payment_link', { line_items: hundredLines }),
    openSessions: {
      ...{ update: [await session()], confirm: await open(), cancel: await open(), expire: await open() },
      ...{ expireByHelper: await open(), complete: await open() },
    },
    heldSessions: held.slice(0, 2).map(({ id }) => id),
    heldIntents: held.slice(2).map(({ intent }) => intent),
    refund: await refundOf(api, paidSession),
    pendingRefunds: { fail: await inTurn(each, pendingRefund), succeed: await inTurn(each, pendingRefund) },
    charges: await inTurn(each, charge),
    disputes: await inTurn(each, async () =>
      idOf(api, '/v1/test_helpers/disputes', 'dispute', { charge: await charge(), amount: 100 }),
    ),
    evidenceFiles: await inTurn(3, () => upload(api, uploadOf('image/png', png, 4_000_000))),
    letters: { approve: await inTurn(each, letter), deny: await inTurn(each, letter) },
    subscriptions: {
      ...{ change: await subscribed(), pause: await subscribed() },
      cancel: await inTurn(each, subscribed),
    },
    openInvoices: { pay: await inTurn(each, openInvoice), void: await inTurn(each, openInvoice) },
    webhooks: await inTurn(each, () =>
      idOf(api, '/v1/webhooks', 'webhook', { url: 'http://127.0.0.1:9/hook', events: ['webhook.disabled'] }),
    ),
    testClocks: await inTurn(each, () => newClock(api)),
  };
}

async function newCatalog(api: Api) {
  const components = await sideBySide(100, async () =>
    text(
      await make(api, '/v1/product_components', 'product_component', { name: `Oats ${crypto.randomUUID()}` }),
      'component_id',
    ),
  );
  const products = await sideBySide(20, () =>
    idOf(api, '/v1/products', 'product', { name: 'Thermometer', hsa_fsa_eligibility: 'auto_substantiation' }),
  );
  const [product = ''] = products;
  const price = (fields: Json) => idOf(api, '/v1/prices', 'price', { unit_amount: 2_000, ...fields });
  const coupons = await sideBySide(each + 1, () => idOf(api, '/v1/coupons', 'coupon', { percent_off: 10 }));
  return {
    ...{ components, products, coupons },
    shippingRate: await idOf(api, '/v1/shipping_rates', 'shipping_rate', { display_name: 'Ground', amount: 500 }),
    prices: await sideBySide(100, (at) => price({ product: products[at % products.length] })),
    recurringPrices: await sideBySide(20, () => price({ product, recurring: { interval: 'month' } })),
    eligible: await price({ product }),
    prescribed: await price({
      product_data: { name: 'Massage gun', hsa_fsa_eligibility: 'letter_of_medical_necessity' },
    }),
    promoCode: await idOf(api, '/v1/promo_codes', 'promo_code', {
      ...{ coupon_id: coupons.at(-1), code: `CODE-${crypto.randomUUID()}` },
    }),
  };
}

async function newCards(api: Api) {
  const customer = await newCustomer(api);
  const ofCustomer = (card: string) => newCard(api, customer, card);
  const loose = () =>
    idOf(api, '/v1/test_helpers/payment_methods', 'payment_method', { card: 'hsa', off_session: true });
  return {
    customer,
    ...{ card: await ofCustomer('hsa'), creditCard: await ofCustomer('credit') },
    declinedCard: await ofCustomer('declined'),
    looseCards: await sideBySide(each, loose),
    tiedCards: await sideBySide(each, () => ofCustomer('hsa')),
    customersWithCards: await inTurn(each, async () => {
      const one = await newCustomer(api);
      await sideBySide(10, () => newCard(api, one, 'hsa'));
      return one;
    }),
  };
}

async function newClock(api: Api): Promise<string> {
  const clock = await idOf(api, '/v1/test_helpers/test_clocks', 'test_clock', {
    frozen_time: new Date().toISOString(),
  });
  await sideBySide(10, () => newCustomer(api, { test_clock: clock }));
  return clock;
}

async function refundOf(api: Api, session: string): Promise<string> {
  const refunded = await make(api, `/v1/checkout/sessions/${session}/refund`, 'checkout_session', { amount: 100 });
  return (refunded.refunds as string[])[0] ?? '';
}

async function idOf(api: Api, path: string, envelope: string, fields: Json): Promise<string> {
  return text(await make(api, path, envelope, fields), `${envelope}_id`);
}

// One card pays for one session at a time.
async function inTurn<Made>(count: number, one: () => Promise<Made>): Promise<Made[]> {
  const made: Made[] = [];
  while (made.length < count) made.push(await one());
  return made;
}

const png = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

import { type Api, type Receiver, startReceiver, waitUntil } from '@eligo/testkit';
import { type Json, record, records, text } from '../records.ts';
import { make, newCard, newCustomer, openShop, sellCart } from '../shop.ts';

/** A shop with a monthly price and a webhook endpoint. */
export interface SellingShop {
  /** Sells once; throws at the first request that fails. */
  sell(): Promise<void>;
  /** Waits until each event of what was sold has arrived, and returns how many did, and those that did not. */
  arrived(withinMs: number): Promise<{ readonly arrived: number; readonly missing: readonly string[] }>;
  close(): Promise<void>;
}

/** The events that a sale has, with the field that names their record. */
const idFields: Readonly<Record<string, string>> = {
  'checkout.session.completed': 'checkout_session_id',
  'checkout.session.refunded': 'checkout_session_id',
  'refund.created': 'refund_id',
  'customer.subscription.created': 'subscription_id',
  'customer.subscription.deleted': 'subscription_id',
  'invoice.paid': 'invoice_id',
};

/** Opens a shop whose sales need every service: a cart that is paid and refunded, a subscription with its invoice, and the list of events. */
export async function openSellingShop(api: Api): Promise<SellingShop> {
  const receiver = await startReceiver();
  await make(api, '/v1/webhooks', 'webhook', { url: receiver.url, events: Object.keys(idFields) });
  const shop = await openShop(api);
  const monthly = await make(api, '/v1/prices', 'price', {
    product: shop.eligibleProductId,
    unit_amount: 1_900,
    recurring: { interval: 'month', interval_count: 1 },
  });
  const expected = new Set<string>();
  const happened = (type: string, id: string) => void expected.add(`${type} ${id}`);
  return {
    async sell() {
      const customer = await newCustomer(api);
      const card = await newCard(api, customer, 'hsa');
      const { sessionId, refundId } = await sellCart(api, shop, customer, card);
      happened('checkout.session.completed', sessionId);
      happened('checkout.session.refunded', sessionId);
      happened('refund.created', refundId);
      await subscribe(api, text(monthly, 'price_id'), { customer, card, happened });
      records(await api.ok('GET', '/v1/events?limit=10'), 'events');
    },
    async arrived(withinMs) {
      const missing = () => missingOf(expected, receiver);
      await waitUntil(() => missing().length === 0, { withinMs }).catch(() => undefined);
      return { arrived: expected.size - missing().length, missing: missing() };
    },
    close: () => receiver.close(),
  };
}

interface Sale {
  readonly customer: string;
  readonly card: string;
  happened(type: string, id: string): void;
}

async function subscribe(api: Api, price: string, { customer, card, happened }: Sale): Promise<void> {
  const made = await make(api, '/v1/subscriptions', 'subscription', {
    ...{ customer, items: [{ price, quantity: 1 }], default_payment_method: card },
  });
  const id = text(made, 'subscription_id');
  const invoice = text(made, 'latest_invoice');
  happened('customer.subscription.created', id);
  record(await api.ok('GET', `/v1/invoices/${invoice}`), 'invoice');
  const listed = records(await api.ok('GET', `/v1/subscriptions?customer=${customer}`), 'subscriptions');
  if (!listed.some((one) => one.subscription_id === id)) throw new Error(`subscription ${id} is not listed`);
  const read = record(await api.ok('GET', `/v1/subscriptions/${id}`), 'subscription');
  // A charge that a process has just begun may outlast its second: a job settles it, and nothing is canceled meanwhile.
  if (read.status !== 'active') return;
  happened('invoice.paid', invoice);
  await api.ok('DELETE', `/v1/subscriptions/${id}`);
  happened('customer.subscription.deleted', id);
}

function missingOf(expected: ReadonlySet<string>, { received }: Receiver): string[] {
  const got = new Set(received.map(({ body }) => nameOf(body)));
  return [...expected].filter((name) => !got.has(name));
}

// A webhook's object holds the record under its name.
function nameOf(body: Json): string {
  const type = text(body, 'event_type');
  const [only] = Object.values(record(body, 'object'));
  return `${type} ${String((only as Json)[idFields[type] ?? ''])}`;
}

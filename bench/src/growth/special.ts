import { record, text } from '@eligo/e2e';
import { apiClient } from '@eligo/testkit';
import type { Installation } from '../compare/installation.ts';
import { requestText } from '../requests.ts';
import { type GrowthCase, type GrowthRecords, type GrowthRequest, queryOf, requestOf, routeOf } from './cases.ts';
import { copyOf } from './multiply.ts';

/** A case whose large side is one record that has much of something, and whose small side is one that has little. */
export interface SpecialCase extends Pick<GrowthCase, 'name'> {
  readonly small: Pick<GrowthCase, 'makes' | 'request'>;
  readonly large: Pick<GrowthCase, 'makes' | 'request'>;
  readonly connections?: number;
  /** How many identifiers the answers of both sides list, where their cost may grow with that. */
  readonly lists?: readonly [number, number] | undefined;
}

/** How much the special records have. */
export interface SpecialSizes {
  readonly sessionsOfCustomer: number;
  readonly pricesOfProduct: number;
  readonly lines: number;
  readonly refunds: number;
}

const [ofCustomer, ofProduct, ofSession] = [
  'one customer with many sessions',
  'one product with many prices',
  'one session with many refunds',
];

/** The names of the special cases, for a run that wants none of them: what they need takes minutes to make. */
export const specialNames: readonly string[] = [
  ...['checkout_sessions.list customer', 'customers.get', 'customers.update'].map((id) => `${ofCustomer}: ${id}`),
  ...['checkout_sessions.create', 'checkout_sessions.confirm'].map((id) => `${ofCustomer}: ${id}`),
  ...['products.get', 'products.update', 'products.update active', 'prices.list product'].map(
    (id) => `${ofProduct}: ${id}`,
  ),
  ...['prices.list product metadata', 'prices.create'].map((id) => `${ofProduct}: ${id}`),
  ...['checkout_sessions.get', 'checkout_sessions.preview_refund', 'checkout_sessions.refund'].map(
    (id) => `${ofSession}: ${id}`,
  ),
];

/**
 * Gives one customer many sessions and one product many prices, taken from the copies beyond those in use, and makes two sessions of many
 * lines, of which one has many refunds. Answers the cases that compare each with an ordinary one.
 */
export async function specialCases(
  installation: Installation,
  records: GrowthRecords,
  sizes: SpecialSizes,
): Promise<SpecialCase[]> {
  const customer = copyOf(records.own.customer ?? '', heavyCopy);
  const product = copyOf(records.own.product ?? '', heavyCopy);
  await give(installation, 'checkout.sessions', 'id', 'customer_id', customer, sizes.sessionsOfCustomer);
  await give(installation, 'catalog.prices', 'price_id', 'product_id', product, sizes.pricesOfProduct);
  const few = await refundedSession(installation, records, sizes.lines, fewRefunds);
  const many = await refundedSession(installation, records, sizes.lines, sizes.refunds);
  return [
    heavy(`${ofCustomer}: checkout_sessions.list customer`, 'checkout_sessions.list', { by: ['customer'] }),
    heavy(`${ofCustomer}: customers.get`, 'customers.get'),
    heavy(`${ofCustomer}: customers.update`, 'customers.update'),
    heavy(`${ofCustomer}: checkout_sessions.create`, 'checkout_sessions.create'),
    {
      ...heavy(`${ofCustomer}: checkout_sessions.confirm`, 'checkout_sessions.confirm', {
        maker: 'checkout_sessions.create',
      }),
      // One card pays for one session at a time.
      connections: 1,
    },
    heavy(`${ofProduct}: products.get`, 'products.get'),
    heavy(`${ofProduct}: products.update`, 'products.update'),
    heavy(`${ofProduct}: prices.list product`, 'prices.list', { by: ['product'] }),
    heavy(`${ofProduct}: prices.list product metadata`, 'prices.list', { by: ['product', 'metadata'] }),
    heavy(`${ofProduct}: prices.create`, 'prices.create'),
    {
      ...{ name: `${ofProduct}: products.update active`, small: archival(lightCopy), large: archival(heavyCopy) },
      // Changes of one product wait for each other. Behind all others: it can leave the product archived.
      connections: 1,
    },
    ...['checkout_sessions.get', 'checkout_sessions.preview_refund', 'checkout_sessions.refund'].map((id) => ({
      name: `${ofSession}: ${id}`,
      small: about(id, few),
      large: about(id, many),
      // The refunds of one session wait for each other.
      ...(id === 'checkout_sessions.refund' ? { connections: 1 } : {}),
      ...(id === 'checkout_sessions.get' ? { lists: [fewRefunds, sizes.refunds] as const } : {}),
    })),
  ];
}

/** The copy whose customer and product have much. It is one of those that are in use. */
const heavyCopy = 1;
const lightCopy = 2;
const fewRefunds = 2;

function heavy(
  name: string,
  route: string,
  { by, maker }: { by?: readonly string[]; maker?: string } = {},
): SpecialCase {
  const at = (copy: number) => {
    const ask = (id: string, filters?: typeof by): GrowthRequest => {
      const request = requestOf(routeOf(id), filters === undefined ? undefined : queryOf(routeOf(id), filters));
      return (given) => request({ ...given, copy });
    };
    return { makes: maker === undefined ? [] : [ask(maker)], request: ask(route, by) };
  };
  return { name, small: at(lightCopy), large: at(heavyCopy) };
}

/** Archives the product of a copy, and puts it up for sale again with the next request. */
function archival(copy: number): SpecialCase['small'] {
  let active = true;
  return {
    makes: [],
    request: ({ records }) => {
      active = !active;
      const path = `/v1/products/${copyOf(records.own.product ?? '', copy)}`;
      const content = { body: { product: { active } }, idempotencyKey: crypto.randomUUID() };
      return requestText(routeOf('products.update').method, path, records.apiKey, content);
    },
  };
}

function about(route: string, id: string): SpecialCase['small'] {
  const request = requestOf(routeOf(route));
  return { makes: [], request: (given) => request({ ...given, id }) };
}

async function give(
  { postgres, file }: Installation,
  table: string,
  id: string,
  column: string,
  owner: string,
  count: number,
): Promise<void> {
  const client = await postgres.connect();
  try {
    await client.query('begin');
    await client.query('set local session_replication_role = replica');
    await client.query(
      `update ${table} set ${column} = $2 where account_id = $1 and ${id} in (
         select ${id} from ${table} where account_id = $1 and right(${id}, 6) > '000100' and ${id} ~ '0[0-9a-f]{5}$' limit $3)`,
      [file.account, owner, count],
    );
    await client.query('commit');
    await client.query(`vacuum (analyze) ${table}`);
  } finally {
    client.release();
  }
}

async function refundedSession(
  { file }: Installation,
  records: GrowthRecords,
  lines: number,
  refunds: number,
): Promise<string> {
  const api = apiClient(file.gateway, records.apiKey);
  const { price, customer, payment_method } = records.references;
  const made = await api.ok('POST', '/v1/checkout/sessions', {
    body: {
      checkout_session: {
        line_items: Array.from({ length: lines }, () => ({ price, quantity: 3 })),
        customer,
        success_url: 'https://shop.example/ok',
      },
    },
  });
  const id = text(record(made, 'checkout_session'), 'checkout_session_id');
  await api.ok('POST', `/v1/checkout/sessions/${id}/confirm`, {
    body: { checkout_session: { payment_method } },
    idempotencyKey: crypto.randomUUID(),
  });
  for (let done = 0; done < refunds; done += 1) {
    await api.ok('POST', `/v1/checkout/sessions/${id}/refund`, { body: { checkout_session: { amount: 1 } } });
  }
  return id;
}

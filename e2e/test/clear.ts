import { allRoutes, type Route } from '@eligo/contract';
import type { Api, Constellation } from '@eligo/testkit';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Json, text } from '../src/records.ts';
import { make, newCard, newCustomer } from '../src/shop.ts';

interface ClearableRoute {
  readonly route: Route;
  readonly envelope: string;
  readonly values: readonly string[];
}

/** The routes whose body has `clear`, with each value that the contract lists. */
const clearable: readonly ClearableRoute[] = allRoutes.flatMap((route) => {
  if (route.body === undefined) return [];
  const { properties } = route.body.schema.toJSONSchema({ io: 'input', unrepresentable: 'any' });
  const clear = properties?.clear;
  if (typeof clear !== 'object') return [];
  const { items } = clear;
  const values = typeof items === 'object' && !Array.isArray(items) ? (items.enum ?? []) : [];
  return [{ route, envelope: route.body.envelope ?? '', values: values.map(String) }];
});

/** Each value of a `clear` that the contract lists is one that the service clears: the two lists cannot drift apart. */
export function describeClear(eligo: () => Constellation): void {
  describe('an update with clear', () => {
    let api: Api;
    let records: Readonly<Record<string, Json>>;
    beforeAll(async () => {
      api = eligo().api();
      records = await makeRecords(api);
    });

    it('is declared by some routes, each with its values', () => {
      expect(clearable.map(({ route }) => route.id)).toContain('customers.update');
      for (const { route, values } of clearable) expect(values, route.id).not.toEqual([]);
    });

    it.each(clearable.map((one) => [one.route.id, one] as const))(
      'is accepted by %s for every value of the contract [END-1]',
      async (_id, one) => {
        const { route, envelope, values } = one;
        const found = records[envelope];
        if (found === undefined) throw new Error(`Make a ${envelope} with every field set in makeRecords`);
        const id = text(found, idFields[envelope] ?? `${envelope}_id`);
        // Where the path names no record, the body does.
        const named = route.path.includes('{id}') ? {} : { [`${envelope}_id`]: id };
        const send = (clear: readonly string[]) => {
          const fields: Json = { [envelope]: { ...named, clear } };
          const path = route.path.replace('{id}', id);
          return route.method === 'PATCH' ? api.patch(path, fields) : api.post(path, fields);
        };
        for (const value of values) expect(await send([value]), value).toMatchObject({ status: 200 });
        // Many clients clear all that they have emptied at once.
        expect(await send(values.slice(0, 10))).toMatchObject({ status: 200 });
      },
    );

    it('empties what it names: the metadata of a customer becomes {}', async () => {
      const customer = await newCustomer(api, { metadata: { crm: '7' }, phone: '1' });
      const { body } = await api.patch(`/v1/customers/${customer}`, { customer: { clear: ['metadata'] } });
      expect(body).toMatchObject({ customer: { metadata: {}, phone: '1' } });
    });
  });
}

const idFields: Readonly<Record<string, string>> = { product_component: 'component_id' };

/** One record of each kind with `clear`, by its envelope, with something in it to clear. */
async function makeRecords(api: Api): Promise<Readonly<Record<string, Json>>> {
  const metadata = { note: 'x' };
  const customer = await make(api, '/v1/customers', 'customer', {
    ...{ first_name: 'Ada', last_name: 'Lee', email: 'ada@example.com', phone: '1', employer: 'Acme', metadata },
    shipping: { line1: '1 Main St', city: 'Springfield' },
  });
  const component = await make(api, '/v1/product_components', 'product_component', {
    ...{ name: 'Oats to clear', category: 'grain', nutrition_basis: 'per_100g', serving_size_g: 40, metadata },
    ...{ vegan: true, gluten_free: false, canonical_food_key: 'oats', client_reference_id: 'oats-to-clear' },
    nutrition: { calories: 380, sodium_mg: 2 },
  });
  const product = await make(api, '/v1/products', 'product', {
    ...{
      name: 'Monitor',
      description: 'Measures',
      url: 'https://shop.example/m',
      client_reference_id: 'm-1',
      metadata,
    },
    ...{ hsa_fsa_eligibility: 'auto_substantiation', visit_type: 'cardiology', categories: ['devices'] },
  });
  const price = await make(api, '/v1/prices', 'price', {
    ...{
      product: text(product, 'product_id'),
      unit_amount: 900,
      description: 'Monthly',
      lookup_key: 'to-clear',
      metadata,
    },
    ...{ hsa_fsa_eligibility: 'auto_substantiation', recurring: { interval: 'month', interval_count: 1 } },
  });
  const customerId = text(customer, 'customer_id');
  const subscription = await make(api, '/v1/subscriptions', 'subscription', {
    customer: customerId,
    items: [{ price: text(price, 'price_id') }],
    default_payment_method: await newCard(api, customerId, 'hsa', { off_session: true }),
    trial_period_days: 14,
  });
  return { customer, product_component: component, product, price, subscription };
}

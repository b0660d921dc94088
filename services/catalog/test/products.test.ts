import { fromBinary } from '@bufbuild/protobuf';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clearableProductFields } from '../src/domain/product.ts';
import { type Fixture, openFixture, refusalOf } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());

const whole = {
  name: 'Bandage',
  description: 'Sterile',
  upcCode: '036000291452',
  gtin: '00036000291452',
  referenceGtin: '00036000291452',
  url: 'https://shop.example/bandage',
  clientReferenceId: 'c-1',
  imageUrls: ['https://shop.example/b.png'],
  categories: ['first aid', 'wound care'],
  hsaFsaEligibility: 'auto_substantiation',
  visitType: 'general',
  metadata: { a: '1' },
};

describe('a product', () => {
  it('keeps every field, and says why it has its class [PRICE-1, REC-1, API-5]', async () => {
    const shop = on.account();
    const made = await on.gateway.createProduct({ product: whole }, shop);
    expect(made).toMatchObject({
      ...whole,
      active: true,
      testMode: true,
      eligibilityRationale: 'Set on the product by the partner.',
    });
    expect(await on.gateway.getProduct({ id: made.productId }, shop)).toEqual(made);
    expect((await on.gateway.batchGetProducts({ ids: [made.productId, newId('product')] }, shop)).products).toEqual([
      made,
    ]);
  });

  it('changes only what is supplied, and what is cleared is reset [END-1, API-5]', async () => {
    const shop = on.account();
    const made = await on.gateway.createProduct({ product: whole }, shop);
    const renamed = await on.gateway.updateProduct({ id: made.productId, name: 'Plaster' }, shop);
    expect({ ...renamed, updatedAtMs: made.updatedAtMs }).toEqual({ ...made, name: 'Plaster' });
    const cleared = await on.gateway.updateProduct(
      { id: made.productId, clear: ['image_urls', 'gtin', 'hsa_fsa_eligibility', 'metadata'] },
      shop,
    );
    expect(cleared).toMatchObject({ imageUrls: [], metadata: {}, name: 'Plaster', upcCode: whole.upcCode });
    expect([cleared.gtin, cleared.hsaFsaEligibility, cleared.eligibilityRationale]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
    const unknown = on.gateway.updateProduct({ id: made.productId, clear: ['product_id'] }, shop);
    expect(await refusalOf(unknown)).toEqual([['body.product.clear.0', 'invalid_value']]);
    expect(await refusalOf(on.gateway.updateProduct({ id: newId('product'), name: 'x' }, shop))).toBe(
      'product_not_found',
    );
  });

  it('forgets each field that is cleared, and no other', async () => {
    const shop = on.account();
    const { componentId } = await on.gateway.createComponent({ name: newId('product') }, shop);
    const empty: Record<string, object> = {
      description: { description: undefined },
      upc_code: { upcCode: undefined },
      gtin: { gtin: undefined },
      reference_gtin: { referenceGtin: undefined },
      url: { url: undefined },
      client_reference_id: { clientReferenceId: undefined },
      image_urls: { imageUrls: [] },
      categories: { categories: [] },
      components: { components: [] },
      hsa_fsa_eligibility: { hsaFsaEligibility: undefined, eligibilityRationale: undefined },
      visit_type: { visitType: undefined },
      metadata: { metadata: {} },
    };
    expect(Object.keys(empty)).toEqual([...clearableProductFields]);
    for (const [field, cleared] of Object.entries(empty)) {
      const made = await on.gateway.createProduct({ product: { ...whole, components: [componentId] } }, shop);
      const after = await on.gateway.updateProduct({ id: made.productId, clear: [field] }, shop);
      expect(after).toEqual({ ...made, ...cleared, updatedAtMs: after.updatedAtMs });
      expect(await on.gateway.getProduct({ id: made.productId }, shop)).toEqual(after);
    }
  });

  it('appends product.updated in the transaction of the change, and for nothing else [API-5]', async () => {
    const shop = on.account();
    const made = await on.gateway.createProduct({ product: whole }, shop);
    await on.gateway.updateProduct({ id: made.productId, name: 'Plaster' }, shop);
    const refused = on.gateway.updateProduct({ id: made.productId, hsaFsaEligibility: 'magic' }, shop);
    expect(await refusalOf(refused)).toEqual([['body.product.hsa_fsa_eligibility', 'invalid_value']]);
    const rows = await on.place.admin<{ type: string; payload: Buffer }>(
      'select type, payload from catalog.outbox where aggregate_id = $1',
      [made.productId],
    );
    expect(rows.map(({ type }) => type)).toEqual(['product.updated']);
    const { object } = fromBinary(EventSchema, rows[0]?.payload ?? new Uint8Array());
    expect(object.value).toMatchObject({ productId: made.productId, name: 'Plaster' });
  });

  it('takes components that the account has registered, and no others [API-5]', async () => {
    const shop = on.account();
    const { componentId } = await on.gateway.createComponent({ name: `oats ${newId('product')}` }, shop);
    const made = await on.gateway.createProduct({ product: { name: 'Bar', components: [componentId] } }, shop);
    expect(made.components).toEqual([componentId]);
    const stranger = on.account();
    for (const id of [componentId, newId('product_component'), 'nothing']) {
      const refused = on.gateway.createProduct({ product: { components: [id] } }, stranger);
      expect(await refusalOf(refused)).toEqual([['body.product.components.0', 'product_component_not_found']]);
    }
  });

  it('is listed by state, by reference and by metadata [API-5]', async () => {
    const shop = on.account();
    const make = async (product: object) => (await on.gateway.createProduct({ product }, shop)).productId;
    const a = await make({ clientReferenceId: 'r', metadata: { x: '1', y: '2' } });
    const b = await make({ clientReferenceId: 'r', active: false, metadata: { x: '1' } });
    const c = await make({});
    const list = async (request: object) =>
      (await on.gateway.listProducts(request, shop)).products.map(({ productId }) => productId);
    expect(await list({})).toEqual([c, b, a]);
    expect(await list({ active: false })).toEqual([b]);
    expect(await list({ clientReferenceId: 'r' })).toEqual([b, a]);
    expect(await list({ metadata: { x: '1' } })).toEqual([b, a]);
    expect(await list({ metadata: { x: '1', y: '2' } })).toEqual([a]);
    expect(await list({ metadata: { x: '1' }, active: true, clientReferenceId: 'r' })).toEqual([a]);
    expect(await list({ metadata: { x: '1' }, page: { limit: 1n, startingAfter: b } })).toEqual([a]);
  });

  it('is listed by metadata and state, whichever is rare among the newest, on every page [API-5, D14.312]', async () => {
    const shop = on.account();
    const count = 6_400;
    const idOf = (number: number) => `fprod_${String(number).padStart(26, '0')}`;
    // Of maker old, those for sale are the oldest, and those of others that are for sale are newer; one in ten waits for its session.
    const isPending = (n: number) => n % 10 === 0;
    const isActive = (n: number) => !isPending(n) && (n <= 150 || n > 4_200);
    const isOld = (n: number) => n <= 4_200;
    await on.place.admin(
      `insert into catalog.products (account_id, test_mode, product_id, pending, active, metadata, created_at, updated_at)
       select $1, true, 'fprod_' || lpad(n::text, 26, '0'), n % 10 = 0, n % 10 > 0 and (n <= 150 or n > 4200),
         jsonb_build_object('maker', case when n <= 4200 then 'old' else 'new' end, 'third', (n % 3)::text), now(), now()
       from generate_series(1, ${count}) n`,
      [shop.accountId],
    );
    const numbers = Array.from({ length: count }, (_, index) => count - index).filter((n) => !isPending(n));
    const list = async (request: object) =>
      (await on.gateway.listProducts(request, shop)).products.map(({ productId }) => productId);
    const filters: [Record<string, string>, (n: number) => boolean][] = [
      [{ maker: 'old' }, isOld],
      [{ maker: 'new' }, (n) => !isOld(n)],
      [{ maker: 'old', third: '1' }, (n) => isOld(n) && n % 3 === 1],
      [{ third: '1', maker: 'new' }, (n) => !isOld(n) && n % 3 === 1],
      [{ maker: 'nobody' }, () => false],
    ];
    for (const [metadata, has] of filters) {
      for (const active of [undefined, true, false]) {
        const ids = numbers.filter((n) => has(n) && (active === undefined || active === isActive(n))).map(idOf);
        const filter = { metadata, active };
        expect(await list({ ...filter, page: { limit: 100n } })).toEqual(ids.slice(0, 100));
        expect(await list({ ...filter, page: { limit: 10n, offset: 30 } })).toEqual(ids.slice(30, 40));
        const at = Math.floor(ids.length / 2);
        const cursor = ids[at];
        if (cursor === undefined) continue;
        const after = await list({ ...filter, page: { limit: 10n, startingAfter: cursor } });
        expect(after).toEqual(ids.slice(at + 1, at + 11));
        const before = await list({ ...filter, page: { limit: 10n, endingBefore: cursor } });
        expect(before).toEqual(ids.slice(Math.max(0, at - 10), at));
      }
    }
  });
});

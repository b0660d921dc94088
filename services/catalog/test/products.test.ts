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
});

import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Fixture, openFixture, refusalOf } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());

describe('a shipping rate', () => {
  it('is active at first, and read back whole [RATE-1, RATE-2, RATE-5, RATE-6]', async () => {
    const shop = on.account();
    const made = await on.gateway.createShippingRate(
      { displayName: 'Ground', amountCents: 599n, metadata: { zone: 'a' } },
      shop,
    );
    expect(made).toMatchObject({ active: true, displayName: 'Ground', amountCents: 599n, testMode: true });
    expect(await on.gateway.getShippingRate({ id: made.shippingRateId }, shop)).toEqual(made);
  });

  it('is archived and revived by PUT, which overwrites metadata and clears it when it is left out [RATE-3, RATE-7]', async () => {
    const shop = on.account();
    const { shippingRateId: id } = await on.gateway.createShippingRate(
      { displayName: 'Air', amountCents: 0n, metadata: { a: '1' } },
      shop,
    );
    const archived = await on.gateway.updateShippingRate({ id, active: false, metadata: { b: '2' } }, shop);
    expect(archived).toMatchObject({ active: false, metadata: { b: '2' } });
    expect(await on.gateway.updateShippingRate({ id }, shop)).toMatchObject({ active: false, metadata: {} });
    expect(await on.gateway.updateShippingRate({ id, active: true }, shop)).toMatchObject({ active: true });
  });

  it('never changes its name or amount, whoever asks [RATE-2]', async () => {
    const shop = on.account();
    await on.gateway.createShippingRate({ displayName: 'Fixed', amountCents: 1n }, shop);
    const change = on.place.admin('update catalog.shipping_rates set amount_cents = 2');
    await expect(change).rejects.toThrow(/never changes/);
  });

  it('is listed most recent first, by state, and by cursor [RATE-4]', async () => {
    const shop = on.account();
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      const rate = await on.gateway.createShippingRate({ displayName: `r${i}`, amountCents: BigInt(i) }, shop);
      ids.unshift(rate.shippingRateId);
    }
    await on.gateway.updateShippingRate({ id: ids[2] ?? '', active: false }, shop);
    const list = async (request: object) => {
      const { shippingRates, hasMore } = await on.gateway.listShippingRates(request, shop);
      return { ids: shippingRates.map((rate) => ids.indexOf(rate.shippingRateId)), hasMore };
    };
    expect(await list({})).toEqual({ ids: [0, 1, 2, 3, 4], hasMore: false });
    expect(await list({ active: false })).toEqual({ ids: [2], hasMore: false });
    expect(await list({ active: true, page: { limit: 2n } })).toEqual({ ids: [0, 1], hasMore: true });
    expect(await list({ page: { limit: 2n, startingAfter: ids[1] } })).toEqual({ ids: [2, 3], hasMore: true });
    expect(await list({ page: { limit: 2n, endingBefore: ids[3] } })).toEqual({ ids: [1, 2], hasMore: true });
    expect(await list({ page: { limit: 10n, endingBefore: ids[0] } })).toEqual({ ids: [], hasMore: false });
    expect(await list({ page: { limit: 2n, offset: 3 } })).toEqual({ ids: [3, 4], hasMore: false });
  });

  it('of another account or mode does not exist, also as a cursor [RATE-4]', async () => {
    const shop = on.account();
    const { shippingRateId: id } = await on.gateway.createShippingRate({ displayName: 'x', amountCents: 1n }, shop);
    const live = on.account({ accountId: shop.accountId, testMode: false });
    for (const stranger of [on.account(), live]) {
      expect(await refusalOf(on.gateway.getShippingRate({ id }, stranger))).toBe('shipping_rate_not_found');
      expect(await refusalOf(on.gateway.updateShippingRate({ id, active: false }, stranger))).toBe(
        'shipping_rate_not_found',
      );
      const list = on.gateway.listShippingRates({ page: { limit: 1n, startingAfter: id } }, stranger);
      expect(await refusalOf(list)).toEqual([['query.starting_after', 'cursor_not_found']]);
    }
    const unknown = on.gateway.listShippingRates({ page: { limit: 1n, endingBefore: newId('price') } }, shop);
    expect(await refusalOf(unknown)).toEqual([['query.ending_before', 'cursor_not_found']]);
  });

  it('with a negative amount is refused [RATE-2]', async () => {
    const made = on.gateway.createShippingRate({ displayName: 'x', amountCents: -1n }, on.account());
    expect(await refusalOf(made)).toEqual([['body.shipping_rate.amount', 'amount_out_of_range']]);
  });
});

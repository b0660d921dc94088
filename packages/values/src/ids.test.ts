import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type IdKind, idBodies, idKindOf, idPrefixes, isId, newId, timeOfId } from './ids.ts';

describe('newId', () => {
  test('is the prefix and 26 lowercase base32 characters [GEN-7, D3.1]', () => {
    for (const kind of Object.keys(idPrefixes) as IdKind[]) {
      expect(newId(kind)).toMatch(new RegExp(`^${idPrefixes[kind]}_[0-9a-hjkmnp-tv-z]{26}$`));
    }
  });

  test('strictly increases within the process [GEN-7]', () => {
    const ids = Array.from({ length: 50_000 }, () => newId('price'));
    for (let i = 1; i < ids.length; i++) expect((ids[i] ?? '') > (ids[i - 1] ?? '')).toBe(true);
  });

  test('prefixes are those of the interface [GEN-7]', () => {
    expect(idPrefixes).toMatchObject({
      account: 'facct',
      shipping_rate: 'fshr',
      product_component: 'fcomp',
      component_nutrition: 'fcn',
      product: 'fprod',
      price: 'fprice',
      checkout_session: 'fcs',
      payment_intent: 'fpi',
      payment_method: 'fpm',
      subscription: 'fsub',
      subscription_item: 'fsubi',
      invoice: 'fin',
      charge: 'fch',
      capture: 'fcap',
      dispute: 'fdp',
      refund: 'fre',
      reviewer: 'frev',
      setup_intent: 'fseti',
      customer: 'fcus',
      shipping_address: 'fsh',
      split_cart: 'fsplit',
      fee: 'ffee',
      discount: 'fdi',
      coupon: 'fcoup',
      promo_code: 'fpromo',
      balance_transaction: 'fbtxn',
      file: 'ffile',
    });
  });

  test('no two prefixes are the same', () => {
    expect(new Set(Object.values(idPrefixes)).size).toBe(Object.keys(idPrefixes).length);
  });
});

describe('idBodies', () => {
  test('increases whatever the clock does, and by more than one [D3.1]', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({ now: fc.integer({ min: 1, max: 2 ** 41 }), random: fc.integer({ min: 0, max: 2 ** 40 - 1 }) }),
          {
            minLength: 2,
            maxLength: 60,
          },
        ),
        (ticks) => {
          let at = 0;
          let randoms = 0;
          const next = idBodies({
            now: () => ticks[at]?.now ?? 0,
            random40: () => ticks[randoms++ % ticks.length]?.random ?? 0,
          });
          let last = '';
          for (at = 0; at < ticks.length; at++) {
            const body = next();
            expect(body > last).toBe(true);
            last = body;
          }
        },
      ),
    );
  });

  test('a later millisecond sorts after an earlier one, whatever is drawn', () => {
    const high = idBodies({ now: () => 1_000, random40: () => 2 ** 40 - 1 })();
    const low = idBodies({ now: () => 1_001, random40: () => 0 })();
    expect(low > high).toBe(true);
  });

  test('when the random part is used up it continues in the next millisecond', () => {
    const next = idBodies({ now: () => 1_000, random40: () => 2 ** 40 - 1 });
    const bodies = Array.from({ length: 10 }, next);
    expect(bodies.toSorted()).toEqual(bodies);
    expect(new Set(bodies).size).toBe(bodies.length);
  });
});

describe('isId', () => {
  test('holds for an identifier of the kind and for nothing else [D3.1]', () => {
    const id = newId('price');
    expect(isId('price', id)).toBe(true);
    expect(isId('product', id)).toBe(false);
    for (const bad of [
      '',
      'fprice_',
      `${id}0`,
      id.slice(0, -1),
      id.toUpperCase(),
      `${id.slice(0, -1)}u`,
      `fprice_8${id.slice(8)}`,
      `${id}\n`,
    ]) {
      expect(isId('price', bad)).toBe(false);
    }
  });

  test('the kind is read from the prefix', () => {
    expect(idKindOf(newId('setup_intent'))).toBe('setup_intent');
    expect(idKindOf('fprice_x')).toBeUndefined();
    expect(idKindOf('nonsense')).toBeUndefined();
  });
});

describe('timeOfId', () => {
  test('is when the id was made, to the millisecond', () => {
    const before = Date.now();
    const made = timeOfId('event', newId('event'))?.getTime();
    expect(made).toBeGreaterThanOrEqual(before);
    // Ids of one process ascend: a burst of them may run some milliseconds ahead of the clock.
    expect(made).toBeLessThan(before + 60_000);
    expect(timeOfId('event', `${idPrefixes.event}_01hf7yat00${'0'.repeat(16)}`)).toEqual(new Date(1_700_000_000_000));
  });

  test('is undefined for an id of another kind', () => {
    expect(timeOfId('event', newId('price'))).toBeUndefined();
  });
});

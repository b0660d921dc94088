import { newId } from '@eligo/values';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clearableComponentFields } from '../src/domain/component.ts';
import { formatDecimal, parseDecimal, scaleDecimal } from '../src/domain/decimal.ts';
import { type Fixture, openFixture, refusalOf } from './fixture.ts';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture({ connections: 50 });
});
afterAll(() => on.close());

const newName = () => `name ${newId('product')}`;

describe('nutrition', () => {
  it('as served is converted to per 100 g exactly, with six decimals, half rounded up [COMP-4, COMP-5]', async () => {
    const shop = on.account();
    const register = (nutrition: object, servingSizeG: string) =>
      on.gateway.createComponent({ name: newName(), nutritionBasis: 'as_served', servingSizeG, nutrition }, shop);
    const thirds = await register({ calories: '1', sodiumMg: '0.1', addedSugarG: '0' }, '30');
    expect(thirds.nutrition).toMatchObject({ calories: '3.333333', sodiumMg: '0.333333', addedSugarG: '0' });
    expect(thirds.nutrition?.proteinG).toBeUndefined();
    const sixths = await register({ calories: '1', totalFatG: '5e-7' }, '60');
    expect(sixths.nutrition).toMatchObject({ calories: '1.666667', totalFatG: '0.000001' });
    expect(await on.gateway.getComponent({ id: sixths.componentId }, shop)).toEqual(sixths);
  });

  it('as served is by the serving size that is kept, which has six decimals, too', async () => {
    const shop = on.account();
    const fields = { nutritionBasis: 'as_served', servingSizeG: '0.0000005', nutrition: { calories: '0.0000003' } };
    const made = await on.gateway.createComponent({ name: newName(), ...fields }, shop);
    expect(made).toMatchObject({ servingSizeG: '0.000001', nutrition: { calories: '30' } });
    const again = await on.gateway.updateComponent(
      { id: made.componentId, nutritionBasis: 'as_served', nutrition: { calories: '0.0000003' } },
      shop,
    );
    expect(again.nutrition).toEqual(made.nutrition);
  });

  it('is rounded to six decimals, half up, also what a language printed with an exponent [D14.25]', async () => {
    const shop = on.account();
    const nutrition = { calories: '33.333333333333336', sodiumMg: '1e-7', fiberG: '5e-324', proteinG: '0.0000005' };
    const made = await on.gateway.createComponent({ name: newName(), nutrition }, shop);
    expect(made.nutrition).toMatchObject({ calories: '33.333333', sodiumMg: '0', fiberG: '0', proteinG: '0.000001' });
  });

  it('as served comes back within the rounding when it is converted again [COMP-5]', () => {
    const decimal = (most: number) => fc.integer({ min: 1, max: most }).map((n) => ({ units: BigInt(n), scale: 2 }));
    const hundred = { units: 100n, scale: 0 };
    fc.assert(
      fc.property(decimal(1_000_000), decimal(100_000), (served, serving) => {
        const per100 = scaleDecimal(served, hundred, serving);
        const back = scaleDecimal(per100, serving, hundred);
        const error = back.units - served.units * 10_000n;
        const bound = serving.units / 20_000n + 1n;
        expect(error <= bound && error >= -bound).toBe(true);
        expect(formatDecimal(parseDecimal(formatDecimal(per100)) ?? hundred)).toBe(formatDecimal(per100));
      }),
    );
  });

  it('as served needs a serving size, and figures that are numbers [COMP-2, COMP-5]', async () => {
    const shop = on.account();
    const register = (fields: object) => on.gateway.createComponent({ name: newName(), ...fields }, shop);
    const path = 'body.product_component';
    const cases = [
      [{ nutritionBasis: 'as_served', nutrition: { calories: '1' } }, `${path}.serving_size_g`, 'missing'],
      [{ nutritionBasis: 'each' }, `${path}.nutrition_basis`, 'invalid_value'],
      [{ nutrition: { calories: '-1' } }, `${path}.nutrition.calories`, 'invalid_value'],
      [{ nutrition: { sodiumMg: 'x' } }, `${path}.nutrition.sodium_mg`, 'invalid_value'],
      [{ nutrition: { sodiumMg: '1000000000' } }, `${path}.nutrition.sodium_mg`, 'out_of_range'],
      [{ servingSizeG: '0' }, `${path}.serving_size_g`, 'out_of_range'],
      [{ servingSizeG: '0.0000004' }, `${path}.serving_size_g`, 'out_of_range'],
    ] as const;
    for (const [fields, loc, type] of cases) expect(await refusalOf(register(fields))).toEqual([[loc, type]]);
  });
});

describe('a component’s name', () => {
  it('is one for all accounts, whatever its case and form, each with nutrition of its own [COMP-1, COMP-6, D14.20]', async () => {
    const [first, second] = [on.account(), on.account()];
    const base = newId('product');
    const made = await on.gateway.createComponent(
      {
        name: `Ｃafé  Straße ${base}`,
        nutrition: { calories: '5' },
        clientReferenceId: 'mine',
        metadata: { secret: '1' },
      },
      first,
    );
    const again = await on.gateway.createComponent(
      { name: `cafe\u0301 STRASSE ${base} `, nutrition: { calories: '7' } },
      second,
    );
    expect(again.componentId).toBe(made.componentId);
    expect([made.shared, again.shared]).toEqual([false, true]);
    expect(again.componentNutritionId).not.toBe(made.componentNutritionId);
    expect(again).toMatchObject({ nutrition: { calories: '7' }, metadata: {}, name: `cafe\u0301 STRASSE ${base} ` });
    expect(again.clientReferenceId).toBeUndefined();
    expect((await on.gateway.getComponent({ id: made.componentId }, first)).shared).toBe(false);
  });

  it('is another in the other mode [COMP-6]', async () => {
    const shop = on.account();
    const live = on.account({ accountId: shop.accountId, testMode: false });
    const name = newName();
    const [test, real] = [
      await on.gateway.createComponent({ name }, shop),
      await on.gateway.createComponent({ name }, live),
    ];
    expect(real.componentId).not.toBe(test.componentId);
    expect(real.shared).toBe(false);
  });

  it('registered by fifty accounts at once gets one component_id, and one of them made it [COMP-6]', async () => {
    const name = newName();
    const made = await Promise.all(
      Array.from({ length: 50 }, () => on.gateway.createComponent({ name }, on.account())),
    );
    expect(new Set(made.map(({ componentId }) => componentId)).size).toBe(1);
    expect(made.filter(({ shared }) => !shared)).toHaveLength(1);
  });

  it('does not reveal which other accounts registered it [COMP-6, D14.20]', async () => {
    const made = await on.gateway.createComponent({ name: newName() }, on.account());
    const stranger = on.account();
    expect(await refusalOf(on.gateway.getComponent({ id: made.componentId }, stranger))).toBe(
      'product_component_not_found',
    );
    expect(await refusalOf(on.gateway.updateComponent({ id: made.componentId, vegan: true }, stranger))).toBe(
      'product_component_not_found',
    );
    expect((await on.gateway.listComponents({}, stranger)).components).toEqual([]);
  });

  it('registered twice by one account is the first 409 [ERR-4, COMP-8]', async () => {
    const shop = on.account();
    const name = newName();
    await on.gateway.createComponent({ name }, shop);
    expect(await refusalOf(on.gateway.createComponent({ name: name.toUpperCase() }, shop))).toBe(
      'component_already_registered',
    );
    const fresh = newName();
    const at = Array.from({ length: 8 }, () => refusalOf(on.gateway.createComponent({ name: fresh }, shop)));
    const outcomes = await Promise.all(at);
    expect(outcomes.filter((outcome) => outcome === 'component_already_registered')).toHaveLength(7);
  });
});

describe('a component’s client_reference_id', () => {
  it('sent again with its name is the first 409, in whichever order the server looks at its indexes', async () => {
    const shop = on.account();
    const again = { name: newName(), clientReferenceId: 'r' };
    await on.gateway.createComponent(again, shop);
    expect(await refusalOf(on.gateway.createComponent(again, shop))).toBe('component_already_registered');
    const rebuilt = 'constraint component_nutrition_registered_once';
    await on.place.admin(
      `alter table catalog.component_nutrition drop ${rebuilt}, add ${rebuilt} unique (account_id, test_mode, component_id)`,
    );
    expect(await refusalOf(on.gateway.createComponent(again, shop))).toBe('component_already_registered');
  });

  it('on a different component is the second 409, by POST and by PATCH; other accounts and the other mode may reuse it [COMP-7, COMP-8]', async () => {
    const shop = on.account();
    await on.gateway.createComponent({ name: newName(), clientReferenceId: 'r' }, shop);
    const name = newName();
    expect(await refusalOf(on.gateway.createComponent({ name, clientReferenceId: 'r' }, shop))).toBe(
      'client_reference_id_in_use',
    );
    const other = await on.gateway.createComponent({ name }, shop);
    expect(other.shared).toBe(false);
    const patch = on.gateway.updateComponent({ id: other.componentId, clientReferenceId: 'r' }, shop);
    expect(await refusalOf(patch)).toBe('client_reference_id_in_use');
    for (const reuser of [on.account(), on.account({ accountId: shop.accountId, testMode: false })]) {
      expect(
        (await on.gateway.createComponent({ name: newName(), clientReferenceId: 'r' }, reuser)).clientReferenceId,
      ).toBe('r');
    }
  });

  it('looks a component up [COMP-9]', async () => {
    const shop = on.account();
    const made = await on.gateway.createComponent({ name: newName(), clientReferenceId: 'mine' }, shop);
    await on.gateway.createComponent({ name: newName() }, shop);
    expect((await on.gateway.listComponents({ clientReferenceId: 'mine' }, shop)).components).toEqual([made]);
    expect((await on.gateway.listComponents({ clientReferenceId: 'other' }, shop)).components).toEqual([]);
  });
});

describe('PATCH of a component', () => {
  it('changes only what is supplied, one nutrient by itself, and resets what is cleared [COMP-1, END-1, COMP-10]', async () => {
    const shop = on.account();
    const made = await on.gateway.createComponent(
      {
        name: newName(),
        category: 'base',
        servingSizeG: '50',
        nutrition: { calories: '10', sodiumMg: '20' },
        vegan: true,
        canonicalFoodKey: 'oat',
        metadata: { a: '1' },
      },
      shop,
    );
    const id = made.componentId;
    const served = await on.gateway.updateComponent(
      { id, nutritionBasis: 'as_served', nutrition: { sodiumMg: '20' } },
      shop,
    );
    expect(served.nutrition).toMatchObject({ calories: '10', sodiumMg: '40' });
    expect(served).toMatchObject({ category: 'base', vegan: true, servingSizeG: '50', metadata: { a: '1' } });
    const cleared = await on.gateway.updateComponent(
      { id, clear: ['nutrition.calories', 'category', 'metadata', 'vegan'], glutenFree: false },
      shop,
    );
    expect(cleared.nutrition?.calories).toBeUndefined();
    expect(cleared).toMatchObject({ nutrition: { sodiumMg: '40' }, metadata: {}, glutenFree: false });
    expect([cleared.category, cleared.vegan]).toEqual([undefined, undefined]);
    const name = on.gateway.updateComponent({ id, clear: ['name'] }, shop);
    expect(await refusalOf(name)).toEqual([['body.product_component.clear.0', 'invalid_value']]);
  });

  it('forgets each field that is cleared, and no other', async () => {
    const shop = on.account();
    const figures = {
      ...{ calories: '1', totalFatG: '2', saturatedFatG: '3', transFatG: '4', carbohydrateG: '5', fiberG: '6' },
      ...{ proteinG: '7', sodiumMg: '8', addedSugarG: '9' },
    };
    const fields = {
      ...{ category: 'base', servingSizeG: '50', nutrition: figures, vegan: true, glutenFree: false },
      ...{ canonicalFoodKey: 'oat', metadata: { a: '1' } },
    };
    const without = (...names: string[]) => ({ nutrition: Object.fromEntries(names.map((name) => [name, undefined])) });
    const empty: Record<string, { readonly [field: string]: unknown; readonly nutrition?: object }> = {
      category: { category: undefined },
      serving_size_g: { servingSizeG: undefined },
      nutrition: without(...Object.keys(figures)),
      vegan: { vegan: undefined },
      gluten_free: { glutenFree: undefined },
      canonical_food_key: { canonicalFoodKey: undefined },
      client_reference_id: { clientReferenceId: undefined },
      metadata: { metadata: {} },
      'nutrition.calories': without('calories'),
      'nutrition.total_fat_g': without('totalFatG'),
      'nutrition.saturated_fat_g': without('saturatedFatG'),
      'nutrition.trans_fat_g': without('transFatG'),
      'nutrition.carbohydrate_g': without('carbohydrateG'),
      'nutrition.fiber_g': without('fiberG'),
      'nutrition.protein_g': without('proteinG'),
      'nutrition.sodium_mg': without('sodiumMg'),
      'nutrition.added_sugar_g': without('addedSugarG'),
    };
    expect(Object.keys(empty)).toEqual([...clearableComponentFields]);
    for (const [field, cleared] of Object.entries(empty)) {
      const clientReferenceId = newId('product');
      const made = await on.gateway.createComponent({ name: newName(), clientReferenceId, ...fields }, shop);
      const after = await on.gateway.updateComponent({ id: made.componentId, clear: [field] }, shop);
      const nutrition = { ...made.nutrition, ...cleared.nutrition };
      expect(after).toEqual({ ...made, ...cleared, nutrition, updatedAtMs: after.updatedAtMs });
      expect(await on.gateway.getComponent({ id: made.componentId }, shop)).toEqual(after);
    }
  });

  it('is listed by its component_nutrition_id, which is the cursor [END-1, COMP-9]', async () => {
    const shop = on.account();
    const made = [];
    for (let i = 0; i < 3; i++) made.unshift(await on.gateway.createComponent({ name: newName() }, shop));
    const startingAfter = made[0]?.componentNutritionId ?? '';
    expect((await on.gateway.listComponents({ page: { limit: 1n, startingAfter } }, shop)).components).toEqual([
      made[1],
    ]);
    const wrong = on.gateway.listComponents({ page: { limit: 1n, startingAfter: made[0]?.componentId ?? '' } }, shop);
    expect(await refusalOf(wrong)).toEqual([['query.starting_after', 'cursor_not_found']]);
  });
});

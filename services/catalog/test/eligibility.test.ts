import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { setFoodPolicy } from '../src/actions/set-food-policy.ts';
import { importProductCodes } from '../src/import/product-codes.ts';
import { type Fixture, openFixture, refusalOf, type Shop } from './fixture.ts';

const listed = '036000291452';
const reference = '4006381333931';

let on: Fixture;
beforeAll(async () => {
  on = await openFixture();
  const csv = `code,class,label\n${listed},prescription,Cream\n${reference},service,\n`;
  await importProductCodes({ database: on.database, source: [csv] as never, name: 'test' });
});
afterAll(() => on.close());
afterEach(() => on.clock.set(undefined));

type Items = NonNullable<Parameters<Fixture['gateway']['evaluateEligibility']>[0]['items']>;
const evaluate = async (shop: Shop, ...items: Items) => (await on.gateway.evaluateEligibility({ items }, shop)).items;
const ofProduct = (value: string, more: object = {}): Items[number] => ({
  item: { case: 'productId', value },
  ...more,
});
const ofPrice = (value: string, more: object = {}): Items[number] => ({ item: { case: 'priceId', value }, ...more });

const makeProduct = async (shop: Shop, product: object) =>
  (await on.gateway.createProduct({ product }, shop)).productId;
async function makePrice(shop: Shop, productId: string, fields: object = {}): Promise<string> {
  const owner = { case: 'productId', value: productId } as const;
  return (await on.gateway.createPrice({ unitAmountCents: 250n, owner, ...fields }, shop)).priceId;
}
async function makeFood(shop: Shop, nutrition: object, category?: string): Promise<string> {
  const made = await on.gateway.createComponent(
    { name: newId('product'), nutrition, ...(category ? { category } : {}) },
    shop,
  );
  return makeProduct(shop, { components: [made.componentId] });
}

const lean = { addedSugarG: '5', sodiumMg: '600', saturatedFatG: '5', transFatG: '0.5' };

describe('several requests of one call', () => {
  it('are answered as each of them alone, each as of its own time, and refused together [D14.90]', async () => {
    const shop = on.account();
    const coded = await makeProduct(shop, { upcCode: listed });
    const own = await makePrice(shop, await makeProduct(shop, { hsaFsaEligibility: 'vision' }));
    const items = [ofPrice(own, { quantity: 3n }), ofProduct(coded)];
    const requests = [{ items }, { items: [ofProduct(coded)], atMs: 1n }, { items: [] }];
    const { responses } = await on.billing.batchEvaluateEligibility({ requests }, shop.atBilling);
    const alone = await Promise.all(requests.map((request) => on.gateway.evaluateEligibility(request, shop)));
    expect(responses.map((one) => one.items)).toEqual(alone.map((one) => one.items));
    // The list was imported since.
    expect([responses[0]?.items[1], responses[1]?.items[0]].map((one) => one?.decision?.rule)).toEqual([
      'product_code_list',
      'none',
    ]);
    const unknown = { items: [ofPrice(newId('price'))] };
    const refused = on.billing.batchEvaluateEligibility({ requests: [...requests, unknown] }, shop.atBilling);
    // Its place among all the items.
    expect(await refusalOf(refused)).toEqual([['body.items.3.price', 'price_not_found']]);
    const tooMany = Array.from({ length: 17 }, () => ({ items: [] }));
    await expect(on.billing.batchEvaluateEligibility({ requests: tooMany }, shop.atBilling)).rejects.toMatchObject({
      code: 'bad_request',
    });
  });
});

describe('eligibility is decided', () => {
  it('by the price first, then the product, the product-code list and the food policy, and else by nothing [API-5, D4.1, D14.21]', async () => {
    const shop = on.account({ features: ['food_eligibility'] });
    const component = await on.gateway.createComponent({ name: newId('product'), nutrition: lean }, shop);
    const facts = { upcCode: listed, components: [component.componentId] };
    const classed = await makeProduct(shop, { ...facts, hsaFsaEligibility: 'not_eligible' });
    const coded = await makeProduct(shop, facts);
    const food = await makeProduct(shop, { components: [component.componentId] });
    const bare = await makeProduct(shop, { name: 'Mug' });
    const own = await makePrice(shop, classed, { hsaFsaEligibility: 'vision' });
    const answers = await evaluate(
      shop,
      ofPrice(own),
      ofProduct(classed),
      ofProduct(coded),
      ofProduct(food),
      ofProduct(bare),
    );
    expect(answers.map(({ decision }) => [decision?.hsaFsaEligibility, decision?.rule, decision?.ruleVersion])).toEqual(
      [
        ['vision', 'price', ''],
        ['not_eligible', 'product', ''],
        ['prescription', 'product_code_list', '1'],
        ['auto_substantiation', 'food_policy', 'default:1'],
        [undefined, 'none', ''],
      ],
    );
    for (const { decision } of answers) expect(decision?.rationale).toMatch(/\w+ .*\.$/);
    expect(answers[2]?.decision?.rationale).toBe(
      'Product code 00036000291452 (Cream) is on version 1 of the product-code list.',
    );
  });

  it('by the code that a product refers to where its own is not on the list [API-5]', async () => {
    const shop = on.account();
    const productId = await makeProduct(shop, { gtin: '96385074', upcCode: 'our own 17', referenceGtin: reference });
    expect((await evaluate(shop, ofProduct(productId)))[0]?.decision).toMatchObject({ hsaFsaEligibility: 'service' });
    const both = await makeProduct(shop, { upcCode: listed, referenceGtin: reference });
    expect((await evaluate(shop, ofProduct(both)))[0]?.decision).toMatchObject({ hsaFsaEligibility: 'prescription' });
  });

  it('alike for a question and for a cart [API-5]', async () => {
    const shop = on.account();
    const priceId = await makePrice(shop, await makeProduct(shop, { upcCode: listed }));
    const cart = await on.checkout.resolveCart(
      { sessionId: newId('checkout_session'), lines: [{ item: { case: 'priceId', value: priceId }, quantity: 1n }] },
      shop.atCheckout,
    );
    expect(cart.lines[0]?.eligibility).toEqual((await evaluate(shop, ofPrice(priceId)))[0]?.decision);
  });
});

describe('the eligible amount', () => {
  it('is the whole of an eligible item, nothing of another, and absent where nothing says what it costs [END-1, API-5, D4.1]', async () => {
    const shop = on.account();
    const eligible = await makeProduct(shop, { hsaFsaEligibility: 'letter_of_medical_necessity' });
    const not = await makeProduct(shop, { hsaFsaEligibility: 'not_eligible' });
    const unclassified = await makeProduct(shop, {});
    const price = await makePrice(shop, eligible);
    const answers = await evaluate(
      shop,
      ofPrice(price, { quantity: 3n }),
      ofPrice(price, { unitAmountCents: 99n }),
      ofProduct(eligible, { quantity: 2n, unitAmountCents: 10n }),
      ofProduct(eligible),
      ofProduct(not, { unitAmountCents: 10n }),
      ofProduct(unclassified, { unitAmountCents: 10n }),
      { item: { case: 'upcCode', value: listed }, quantity: 2n, unitAmountCents: 7n },
    );
    expect(answers.map(({ amountEligibleCents }) => amountEligibleCents)).toEqual([
      750n,
      99n,
      20n,
      undefined,
      0n,
      0n,
      14n,
    ]);
  });

  it('of another account’s record is not found at its place [END-1]', async () => {
    const shop = on.account();
    const price = await makePrice(shop, await makeProduct(shop, {}));
    const stranger = on.account({ siblingAccountIds: [shop.accountId] });
    expect(await refusalOf(evaluate(stranger, ofPrice(price)))).toEqual([['body.items.0.price', 'price_not_found']]);
    expect(await refusalOf(evaluate(stranger, ofProduct(newId('product'))))).toEqual([
      ['body.items.0.product', 'product_not_found'],
    ]);
  });
});

describe('the food policy', () => {
  it('is off unless the account has food_eligibility [FOOD-3, API-5]', async () => {
    const shop = on.account();
    const answer = (await evaluate(shop, ofProduct(await makeFood(shop, lean))))[0]?.decision;
    expect(answer).toMatchObject({ rule: 'none' });
    expect(answer?.rationale).toContain('not enabled');
  });

  it('passes a product when every component is within every threshold, exactly [FOOD-2, API-5, D14.9]', async () => {
    const shop = on.account({ features: ['food_eligibility'] });
    const over = { ...lean, sodiumMg: '600.000001' };
    const { sodiumMg: _unknown, ...unsaid } = lean;
    const foods = [await makeFood(shop, lean), await makeFood(shop, over), await makeFood(shop, unsaid)];
    const answers = await evaluate(shop, ...foods.map((id) => ofProduct(id)));
    expect(answers.map(({ decision }) => decision?.hsaFsaEligibility)).toEqual([
      'auto_substantiation',
      'not_eligible',
      'not_eligible',
    ]);
    expect(answers[1]?.decision?.rationale).toMatch(
      /sodium_mg of the component ".*" is 600\.000001 per 100 g, over the threshold of 600\./,
    );
    expect(answers[2]?.decision?.rationale).toMatch(/sodium_mg .* is unknown/);
  });

  it('fails a product with a component that is unknown, and takes a category by its own name alone', async () => {
    const shop = on.account({ features: ['food_eligibility'] });
    const made = await on.gateway.createComponent({ name: newId('product'), nutrition: lean }, shop);
    const productId = await makeProduct(shop, { components: [made.componentId] });
    await on.place.admin(
      "update catalog.products set component_ids = array_append(component_ids, 'fcomp_gone') where product_id = $1",
      [productId],
    );
    const inherited = await makeFood(shop, { ...lean, sodiumMg: '601' }, 'constructor');
    const answers = await evaluate(shop, ofProduct(productId), ofProduct(inherited));
    expect(answers.map(({ decision }) => decision?.hsaFsaEligibility)).toEqual(['not_eligible', 'not_eligible']);
    expect(answers[0]?.decision?.rationale).toBe('A component of the product is unknown.');
  });

  it('of an account goes before the default, by category, and its versions answer as of their time [FOOD-1, API-5]', async () => {
    const shop = on.account({ features: ['food_eligibility'] });
    const scope = { accountId: shop.accountId, testMode: true };
    const base = await makeFood(shop, { calories: '100' }, 'base');
    const drink = await makeFood(shop, { calories: '100' }, 'drink');
    const classesAt = async (at: Date) => {
      on.clock.set(at);
      const answers = await evaluate(shop, ofProduct(base), ofProduct(drink));
      return answers.map(({ decision }) => [decision?.hsaFsaEligibility, decision?.ruleVersion]);
    };
    const [first, second] = [new Date('2030-01-01T00:00:00Z'), new Date('2031-01-01T00:00:00Z')];
    const policy = (calories: string) =>
      ({ eligible_class: 'letter_of_medical_necessity', categories: { base: { calories }, '*': {} } }) as const;
    expect(await setFoodPolicy(on.database, scope, policy('100'), first)).toBe(1);
    expect(await setFoodPolicy(on.database, scope, policy('99.9'), second)).toBe(2);
    expect(await classesAt(new Date('2029-12-31T23:59:59Z'))).toEqual([
      ['not_eligible', 'default:1'],
      ['not_eligible', 'default:1'],
    ]);
    expect(await classesAt(first)).toEqual([
      ['letter_of_medical_necessity', 'account:1'],
      ['letter_of_medical_necessity', 'account:1'],
    ]);
    expect(await classesAt(second)).toEqual([
      ['not_eligible', 'account:2'],
      ['letter_of_medical_necessity', 'account:2'],
    ]);
    const stranger = on.account({ features: ['food_eligibility'] });
    expect((await evaluate(stranger, ofProduct(await makeFood(stranger, lean))))[0]?.decision?.ruleVersion).toBe(
      'default:1',
    );
  });

  it('never changes in place [FOOD-1]', async () => {
    await expect(on.place.admin("update catalog.food_policies set thresholds = thresholds || '{}'")).rejects.toThrow(
      /never changes/,
    );
  });

  it('takes effect when it is made at the earliest [D14.48]', async () => {
    const scope = { accountId: newId('account'), testMode: true };
    const before = Date.now();
    const policy = { eligible_class: 'service', categories: {} } as const;
    await setFoodPolicy(on.database, scope, policy, new Date('2001-01-01T00:00:00Z'));
    const [stored] = await on.place.admin<{ effective_at: Date }>(
      'select effective_at from catalog.food_policies where account_id = $1',
      [scope.accountId],
    );
    expect(stored?.effective_at.getTime()).toBeGreaterThanOrEqual(before);
  });

  it('that says nothing is refused in words', () => {
    const scope = { accountId: newId('account'), testMode: true };
    const food = (categories: unknown, eligible_class = 'service') => ({ eligible_class, categories });
    const cases = [
      [null, 'Not an object: the food policy'],
      [food({}, 'vision'), 'Not a class for food: vision'],
      [{ eligible_class: 'service' }, 'Not an object: categories'],
      [food({ base: ['sodium_mg'] }), 'Not an object: base'],
      [food({ '*': { salt: '1' } }), 'Unknown nutrient salt in category *'],
      [food({ '*': { sodium_mg: 'little' } }), 'Not a non-negative number in quotes: little in category *'],
      [food({ '*': { sodium_mg: 5 } }), 'Not a non-negative number in quotes: 5 in category *'],
      [food({ '*': { sodium_mg: '-1' } }), 'Not a non-negative number in quotes: -1 in category *'],
    ] as const;
    for (const [policy, words] of cases) {
      expect(() => setFoodPolicy(on.database, scope, policy as never, new Date())).toThrow(new RangeError(words));
    }
  });
});

describe('an answer that was given', () => {
  const importList = (lines: AsyncIterable<string> | readonly string[]) =>
    importProductCodes({ database: on.database, source: lines as never, name: 'test' });

  it('stays as of its moment, also when the next list was being read then [D14.48]', async () => {
    const shop = on.account();
    const question = { item: { case: 'upcCode', value: listed } } as const;
    const [reading, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    async function* slowly() {
      yield `code,class\n${listed},vision\n`;
      reading.resolve();
      await answered.promise;
      yield `${reference},vision\n`;
    }
    const importing = importList(slowly());
    await reading.promise;
    const at = new Date();
    const [answer] = await evaluate(shop, question);
    answered.resolve();
    const { version } = await importing;
    expect(answer?.decision).toMatchObject({ hsaFsaEligibility: 'prescription', ruleVersion: '1' });
    expect((await evaluate(shop, question))[0]?.decision?.ruleVersion).toBe(String(version));
    on.clock.set(at);
    expect(await evaluate(shop, question)).toEqual([answer]);
  });

  it('by a dated entry holds from its beginning until its end; of two that overlap, the one that began last', async () => {
    const shop = on.account();
    const question = { item: { case: 'upcCode', value: listed } } as const;
    await importList([
      `code,class,effective_from,effective_to,label\n`,
      `${listed},vision,2400-01-01,2400-12-31,\n`,
      `${listed},service,2400-06-01,2400-07-01,summer\n`,
    ]);
    const classAt = async (time: string) => {
      on.clock.set(new Date(time));
      return (await evaluate(shop, question))[0]?.decision?.hsaFsaEligibility;
    };
    expect(await classAt('2399-12-31T23:59:59.999Z')).toBeUndefined();
    expect(await classAt('2400-01-01T00:00:00.000Z')).toBe('vision');
    expect(await classAt('2400-06-01T00:00:00.000Z')).toBe('service');
    expect(await classAt('2400-06-30T23:59:59.999Z')).toBe('service');
    expect(await classAt('2400-07-01T00:00:00.000Z')).toBe('vision');
    expect(await classAt('2400-12-31T00:00:00.000Z')).toBeUndefined();
  });

  it('changes with every column of its entry: a new end or a new label is a change', async () => {
    const row = (to: string, label: string) => [`code,class,effective_to,label\n${listed},vision,${to},${label}\n`];
    await importList(row('2500-01-01', 'Cream'));
    expect(await importList(row('2500-01-02', 'Cream'))).toMatchObject({
      isNew: true,
      added: 0,
      changed: 1,
      removed: 0,
    });
    expect(await importList(row('2500-01-02', 'Salve'))).toMatchObject({
      isNew: true,
      added: 0,
      changed: 1,
      removed: 0,
    });
    expect(await importList(row('2500-01-02', 'Salve'))).toMatchObject({ isNew: false });
  });
});

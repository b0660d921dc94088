import { create } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import { unscoped } from '@eligo/postgres';
import { CartDiscountSchema, CartLineSchema } from '@eligo/proto/catalog/v1/catalog';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createCustomer } from '../src/actions/create-customer.ts';
import { deleteCustomer } from '../src/actions/delete-customer.ts';
import { sessionMessage as messageOf } from '../src/messages/session.ts';
import { readCreationFacts } from '../src/store/creation-facts.ts';
import { loadSessionLines } from '../src/store/session-lines.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type Fixture, line, openFixture, start } from './fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

test('what a session depends on is read by one plan, whether a card and a key are given or not', async () => {
  const one = fixture.test.open('checkout', { max: 1, readsByKey: true });
  const customerId = await newCustomer();
  for (let number = 0; number < 8; number += 1) {
    const query = { customerId, paymentMethodId: null, key: null };
    expect(await readCreationFacts(one, fixture.scope, [query])).toMatchObject([{ customer: { testClockId: null } }]);
  }
  const plans = unscoped<{ planned: bigint; kept: bigint }>(
    'test.plans',
    "select custom_plans as planned, generic_plans as kept from pg_prepared_statements where name like 'sessions.creation_facts:%'",
  );
  // The server looks at the values of the first five before it knows better.
  expect(await one.rows(plans, null)).toEqual([{ planned: 5n, kept: 3n }]);
  await one.close();
});

const DAY = 86_400_000;

describe('the stored split', () => {
  test('amount_total is items - discounts + shipping + tax + fees, and the session read back is the one answered [D1.5]', async () => {
    const session = await fixture.session({
      lines: [
        line({ unitAmount: 1999, class: 'auto_substantiation', quantity: 2 }),
        line({ unitAmount: 999 }),
        line({ unitAmount: 1500, class: 'vision' }),
      ],
      shipping: { case: 'shippingRateId', value: 'fshr_x' },
      taxAmountCents: 431n,
      fees: [
        { amountCents: 1n, name: 'rounding adjustment' },
        { amountCents: 250n, feeType: 'handling' },
      ],
      discounts: [couponData({ percentOffBasisPoints: 1000 }), couponData({ amountOffCents: 100n })],
    });
    const discount = 650 + 100;
    expect(session.amountSubtotalCents).toBe(6497);
    expect(session.amountDiscountCents).toBe(discount);
    expect(session.amountTotalCents).toBe(6497 - discount + 799 + 431 + 251);
    expect(session.amountIiasCents + session.amountVisionCents).toBe(session.amountEligibleCents);
    const read = await loadSession(fixture.database, fixture.scope, session.id);
    expect(read).toEqual(session);
    expect(messageOf(fixture.scope, read ?? session)).toEqual(messageOf(fixture.scope, session));
    const lines = await loadSessionLines(fixture.database, fixture.scope, session.id);
    expect(lines.map((l) => l.position)).toEqual([0, 1, 2]);
    expect(lines.reduce((sum, l) => sum + l.amountTotalCents, 0)).toBe(session.amountTotalCents);
    expect(lines.reduce((sum, l) => sum + l.amountEligibleCents, 0)).toBe(session.amountEligibleCents);
  });

  test('the eligibility record is the split cart, and holds the policy that the split relied on', async () => {
    const session = await fixture.session({
      lines: [line({ unitAmount: 700, class: 'auto_substantiation', rule: 'food_policy', ruleVersion: '2026-01' })],
    });
    const [record] = await fixture.test.admin('select * from checkout.eligibility_records where id = $1', [
      session.splitCartId,
    ]);
    expect(record).toMatchObject({
      session_id: session.id,
      food_policy: true,
      policy_version: '2026-01',
      charged_attempt_id: null,
    });
    expect(record?.eligible_cents).toBe('700');
  });

  test('a session without lines has no eligibility record', async () => {
    const customer = await newCustomer();
    const session = await fixture.session({ mode: 'setup', lines: [], customerId: customer });
    expect(session.splitCartId).toBeNull();
    expect(session.amountTotalCents).toBe(0);
  });

  test('a letter is needed when a line asks for one, and its fee is pending [D4.5]', async () => {
    const session = await fixture.session({ lines: [line({ unitAmount: 700, class: 'letter_of_medical_necessity' })] });
    expect(session.letterRequired).toBe(true);
    expect(session.letterFeeStatus).toBe('pending');
    expect(session.amountEligibleCents).toBe(700);
  });

  test('visit_type is the one label that the products share [D4.4]', async () => {
    const same = [line({ unitAmount: 1, visitType: 'dermatology' }), line({ unitAmount: 1, visitType: 'dermatology' })];
    expect((await fixture.session({ lines: same })).visitType).toBe('dermatology');
    expect((await fixture.session({ lines: [...same, line({ unitAmount: 1 })] })).visitType).toBeNull();
  });

  test('100 lines, 500 discounts and zero prices are written', async () => {
    const session = await fixture.session({
      lines: Array.from({ length: 100 }, (_, i) =>
        line({ unitAmount: i, class: i % 2 === 0 ? 'vision' : 'not_eligible' }),
      ),
      discounts: Array.from({ length: 500 }, () => couponData({ amountOffCents: 1n })),
    });
    expect(session.discounts).toHaveLength(500);
    expect((await loadSession(fixture.database, fixture.scope, session.id))?.discounts).toEqual(session.discounts);
  });
});

describe('references and times', () => {
  test('a customer that is not there is a 422 at the field, with its id', async () => {
    const id = 'fcus_01j0000000000000000000000x';
    await expectViolation(
      fixture.session({ customerId: id }),
      ['body', 'checkout_session', 'customer'],
      'customer_not_found',
    );
  });

  test('a deleted customer is not there', async () => {
    const id = await newCustomer();
    await deleteCustomer(fixture.context, fixture.scope, id);
    await expectViolation(
      fixture.session({ customerId: id }),
      ['body', 'checkout_session', 'customer'],
      'customer_not_found',
    );
  });

  test('a default customer that is not there is a 422 at its field, and one that is there is kept', async () => {
    const customerId = await newCustomer();
    expect((await fixture.session({ defaults: { customerId } })).details.defaults).toEqual({ customerId });
    await deleteCustomer(fixture.context, fixture.scope, customerId);
    await expectViolation(
      fixture.session({ defaults: { customerId } }),
      ['body', 'checkout_session', 'defaults', 'customer_id'],
      'customer_not_found',
    );
  });

  const incomplete: [string, Parameters<Fixture['session']>[0], string, string][] = [
    ['a payment without lines', { lines: [] }, 'line_items', 'missing'],
    ['a payment without success_url', { successUrl: undefined }, 'success_url', 'missing'],
    ['a subscription without success_url', { mode: 'subscription', successUrl: undefined }, 'success_url', 'missing'],
    ['a reimbursement without lines', { mode: 'reimbursement', lines: [] }, 'line_items', 'missing'],
    ['a set-up with lines', { mode: 'setup', customerId: 'fcus_x' }, 'line_items', 'not_allowed'],
    ['a set-up without a customer', { mode: 'setup', lines: [] }, 'customer', 'customer_required'],
    [
      'a card charged at once without a customer',
      { mode: 'off_session', paymentMethodId: 'fpm_x' },
      'customer',
      'customer_required',
    ],
  ];
  for (const [what, parts, field, type] of incomplete) {
    test(`${what} is a 422 at ${field} [END-2]`, async () => {
      await expectViolation(fixture.session(parts), ['body', 'checkout_session', field], type);
    });
  }

  test('a total that no card can pay is a 422 that names the limit, whatever it is made of [D14.63]', async () => {
    const mostly = [line({ unitAmount: 49_999_999, quantity: 2 })];
    expect((await fixture.session({ lines: mostly, taxAmountCents: 1n })).amountTotalCents).toBe(99_999_999);
    const loc = ['body', 'checkout_session', 'line_items'];
    for (const parts of [
      { lines: mostly, taxAmountCents: 2n },
      { lines: mostly, fees: [{ amountCents: 1n }, { amountCents: 1n }] },
      { lines: [line({ unitAmount: 100_000_000 })] },
      { lines: [line({ unitAmount: 999_999_999, quantity: 50_000 })] },
    ]) {
      await expectViolation(fixture.session(parts), loc, 'amount_too_large');
      await expect(fixture.session(parts)).rejects.toMatchObject({
        violations: [{ msg: expect.stringMatching(/^The total is \d+ and must be at most 99999999$/) }],
      });
    }
    const halved = { lines: [line({ unitAmount: 100_000_000 })], discounts: [couponData({ amountOffCents: 1n })] };
    expect((await fixture.session(halved)).amountTotalCents).toBe(99_999_999);
  });

  test('a subscription whose later periods no card can pay is a 422, whatever a coupon takes off first [D14.389]', async () => {
    const loc = ['body', 'checkout_session', 'line_items'];
    const sell = (unitAmount: number, duration: string, more: object = {}) => {
      const value = JSON.stringify({ couponId: 'fcoup_a', duration, percentOffBasisPoints: 5_000 });
      return fixture.session({
        ...{ mode: 'subscription', lines: [line({ unitAmount, recurring: true }), line({ unitAmount: 9_000 })] },
        ...{ discounts: [{ source: { case: 'couponId', value } }], ...more },
      });
    };
    for (const duration of ['once', 'repeating']) {
      await expectViolation(sell(100_000_000, duration), loc, 'amount_too_large');
      expect((await sell(99_999_999, duration)).amountTotalCents).toBe(50_004_499);
    }
    await expect(sell(99_999_999, 'once', { taxAmountCents: 4n })).rejects.toMatchObject({
      violations: [{ msg: 'The total of a later period is 100000003 and must be at most 99999999' }],
    });
    expect((await sell(150_000_000, 'forever')).amountTotalCents).toBe(75_004_500);
    // A session that sells once is paid once.
    const once = { lines: [line({ unitAmount: 100_000_000 })], discounts: [couponData({ amountOffCents: 1n })] };
    expect((await fixture.session({ ...once, fees: [] })).amountTotalCents).toBe(99_999_999);
  });

  test('a subscription needs a recurring price, an amount lines [END-2, D14.15]', async () => {
    const loc = ['body', 'checkout_session'];
    await expectViolation(
      fixture.session({ mode: 'subscription' }),
      [...loc, 'line_items'],
      'recurring_price_required',
    );
    const customerId = await newCustomer();
    const taxed = fixture.session({ mode: 'setup', lines: [], customerId, taxAmountCents: 5n });
    await expectViolation(taxed, [...loc, 'tax_rate'], 'line_items_required');
  });

  test('a subscription that begins with a trial sells nothing that is paid once: it would never be charged [D14.51]', async () => {
    const sold = {
      mode: 'subscription',
      lines: [line({ unitAmount: 1000, recurring: true }), line({ unitAmount: 500 })],
    };
    for (const trial of [{ trialPeriodDays: 14 }, { trialEndMs: BigInt(start.getTime() + 86_400_000) }]) {
      await expect(fixture.session({ ...sold, subscriptionData: trial })).rejects.toMatchObject({
        violations: [
          { loc: ['body', 'checkout_session', 'line_items', '1', 'price'], type: 'recurring_price_required' },
        ],
      });
    }
    expect((await fixture.session({ ...sold, subscriptionData: { trialPeriodDays: 0 } })).status).toBe('open');
    const free = [sold.lines[0], line({ unitAmount: 0 })].flatMap((each) => each ?? []);
    expect((await fixture.session({ ...sold, lines: free, subscriptionData: { trialPeriodDays: 14 } })).status).toBe(
      'open',
    );
  });

  test('expires_at lies 30 minutes to 7 days ahead; 24 hours when it is not given [END-2]', async () => {
    expect((await fixture.session()).expiresAt).toEqual(new Date(start.getTime() + DAY));
    const at = (ms: number) => ({ expiresAtMs: BigInt(start.getTime() + ms) });
    expect((await fixture.session(at(7 * DAY))).expiresAt).toEqual(new Date(start.getTime() + 7 * DAY));
    const loc = ['body', 'checkout_session', 'expires_at'];
    await expectViolation(fixture.session(at(20 * 60_000)), loc, 'value_error');
    await expectViolation(fixture.session(at(8 * DAY)), loc, 'value_error');
  });

  test("a customer on a test clock creates at that clock's time", async () => {
    const clockId = 'fclk_00000000000000000000000001';
    const frozen = new Date('2030-01-01T00:00:00.000Z');
    await fixture.test.admin(
      'insert into checkout.test_clocks (account_id, test_mode, id, frozen_time) values ($1, true, $2, $3)',
      [fixture.scope.accountId, clockId, frozen],
    );
    const customerId = await newCustomer(clockId);
    const session = await fixture.session({ customerId });
    expect(session.createdAt).toEqual(frozen);
    expect(session.testClockId).toBe(clockId);
  });
});

describe('the catalog', () => {
  test('is asked once for a cart, and nothing more when it has neither coupons nor inline lines', async () => {
    const before = fixture.catalog.calls.length;
    await fixture.session();
    expect(fixture.catalog.calls.slice(before).map(({ name }) => name)).toEqual(['resolveCart']);
  });

  test('prices the carts of sessions that are created together in one call, each as it is priced alone', async () => {
    const before = fixture.catalog.calls.length;
    const inline = create(CartLineSchema, {
      item: { case: 'priceData', value: { unitAmountCents: 500n } },
      quantity: 1n,
    });
    const sessions = await Promise.all([
      ...Array.from({ length: 6 }, (_, i) => fixture.session({ lines: [line({ unitAmount: 100 + i })] })),
      fixture.session({ lines: [inline] }),
    ]);
    expect(sessions.map(({ amountTotalCents }) => amountTotalCents)).toEqual([100, 101, 102, 103, 104, 105, 500]);
    const asked = fixture.catalog.calls.slice(before).map(({ name }) => name);
    expect(asked.filter((name) => name.startsWith('resolveCart')).sort()).toEqual(['resolveCart', 'resolveCarts']);
  });

  test('prices each cart alone when a call for several fails, or refuses one of them', async () => {
    for (const failure of [new Error('the catalog went away'), undefined]) {
      const before = fixture.catalog.calls.length;
      if (failure !== undefined) fixture.catalog.failNext('resolveCarts', failure);
      const refused = line({ unitAmount: 100, isRefusedWithOthers: failure === undefined });
      const lines = [[line({ unitAmount: 90 })], [refused], [line({ unitAmount: 110 })]];
      const sessions = await Promise.all(lines.map((one) => fixture.session({ lines: one })));
      expect(sessions.map(({ amountTotalCents }) => amountTotalCents)).toEqual([90, 100, 110]);
      const asked = fixture.catalog.calls.slice(before).map(({ name }) => name);
      expect(asked.filter((name) => name === 'resolveCart')).toHaveLength(failure === undefined ? 1 : 3);
    }
  });

  test('gives no coupons of more than 1 MiB in all to one session, and then none is redeemed [D14.54]', async () => {
    const metadata = { note: 'x'.repeat(30_000) };
    const value = JSON.stringify({ couponId: 'fcoup_a', duration: 'once', percentOffBasisPoints: 1, metadata });
    const large = (count: number) =>
      fixture.session({
        discounts: Array.from({ length: count }, () =>
          create(CartDiscountSchema, { source: { case: 'couponId', value } }),
        ),
      });
    expect((await large(34)).discounts).toHaveLength(34);
    await expectViolation(large(35), ['body', 'checkout_session', 'discounts'], 'too_long');
    expect(fixture.catalog.calls.at(-1)?.name).toBe('resolveCart');
  });

  test('counts redemptions before the session is written; a refusal leaves nothing behind but the task that releases them', async () => {
    const percent = JSON.stringify({ couponId: 'fcoup_a', duration: 'once', percentOffBasisPoints: 1000 });
    const discounts = [create(CartDiscountSchema, { source: { case: 'couponId', value: percent } })];
    const session = await fixture.session({ discounts });
    expect(session.amountDiscountCents).toBe(100);
    expect(fixture.catalog.calls.at(-1)).toEqual({ name: 'reserveRedemption', sessionId: session.id });
    expect(await tasksOf(session.id)).toEqual([]);

    fixture.catalog.failNext('reserveRedemption', new Failure('coupon_not_applicable'));
    await expect(fixture.session({ discounts })).rejects.toMatchObject({ code: 'coupon_not_applicable' });
    const refused = fixture.catalog.calls.at(-1)?.sessionId ?? '';
    expect(await tasksOf(refused)).toEqual(['release_unless_written']);
    expect(await loadSession(fixture.database, fixture.scope, refused)).toBeUndefined();
  });

  const inline = { item: { case: 'priceData' as const, value: { unitAmountCents: 500n } }, quantity: 1n };
  test.each([
    ['lines', { lines: [inline] }],
    ['coupons', { discounts: [couponData({ amountOffCents: 1n })] }],
  ])('activates inline %s after the session is written; should that fail, a task does it', async (_what, cart) => {
    fixture.catalog.failNext('activateInline', new Error('unreachable'));
    const session = await fixture.session(cart);
    expect(fixture.catalog.calls.at(-1)).toEqual({ name: 'activateInline', sessionId: session.id });
    expect(await tasksOf(session.id)).toEqual(['activate']);
  });
});

async function tasksOf(sessionId: string): Promise<string[]> {
  const rows = await fixture.test.admin<{ kind: string }>(
    'select kind from checkout.catalog_tasks where session_id = $1',
    [sessionId],
  );
  return rows.map(({ kind }) => kind);
}

async function newCustomer(testClockId: string | null = null): Promise<string> {
  const none = {
    firstName: null,
    lastName: null,
    email: null,
    phone: null,
    employer: null,
    shipping: null,
    metadata: {},
  };
  return (await createCustomer(fixture.context, fixture.scope, { ...none, testClockId }, undefined)).customerId;
}

function couponData(data: { percentOffBasisPoints?: number; amountOffCents?: bigint }) {
  return { source: { case: 'couponData' as const, value: data } };
}

async function expectViolation(attempt: Promise<unknown>, loc: string[], type: string): Promise<void> {
  const error = await attempt.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  expect(error).toBeInstanceOf(Failure);
  expect((error as Failure).violations).toMatchObject([{ loc, type }]);
}

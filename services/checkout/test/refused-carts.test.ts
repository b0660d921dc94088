import { create } from '@bufbuild/protobuf';
import { encodeEvent } from '@eligo/events';
import { CartDiscountSchema, CartLineSchema } from '@eligo/proto/catalog/v1/catalog';
import { StartSubscriptionSchema } from '@eligo/proto/events/v1/events';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createCustomer } from '../src/actions/create-customer.ts';
import { lineItemMessage } from '../src/messages/line-item.ts';
import { sessionMessage } from '../src/messages/session.ts';
import { loadSessionLines } from '../src/store/session-lines.ts';
import { type Fixture, type LineFacts, line, openFixture } from './fixture.ts';

let fixture: Fixture;
beforeAll(async () => {
  fixture = await openFixture();
});
afterAll(() => fixture.close());

const loc = ['body', 'checkout_session'];

describe('what a session sells as a subscription', () => {
  const month = { interval: 'month', intervalCount: 1 };
  const sell = (...recurring: LineFacts['recurring'][]) =>
    fixture.session({
      mode: 'subscription',
      lines: recurring.map((one) => line({ unitAmount: 500, ...(one === undefined ? {} : { recurring: one }) })),
    });

  test('recurs at one interval: every other line is a 422 at its price [END-2]', async () => {
    const others = [
      { interval: 'year', intervalCount: 1 },
      { interval: 'month', intervalCount: 3 },
    ];
    await expect(sell(month, undefined, ...others, month)).rejects.toMatchObject({
      violations: ['2', '3'].map((index) => ({ loc: [...loc, 'line_items', index, 'price'], type: 'value_error' })),
    });
    // The first recurring line is not the first line.
    await expect(sell(undefined, month, others[0])).rejects.toMatchObject({
      violations: [{ loc: [...loc, 'line_items', '2', 'price'], type: 'value_error' }],
    });
    expect(await sell(month, undefined, month)).toMatchObject({ mode: 'subscription', status: 'open' });
  });

  test('has at most 20 recurring lines, beside any that are paid once [END-2]', async () => {
    const recurring = (count: number) => Array.from({ length: count }, () => month);
    expect((await sell(...recurring(20), undefined)).status).toBe('open');
    await expect(sell(...recurring(21))).rejects.toMatchObject({
      violations: [{ loc: [...loc, 'line_items'], type: 'too_long' }],
    });
  });

  test('may be mixed where nothing recurs: a payment sells each line once', async () => {
    const lines = [month, { interval: 'year', intervalCount: 1 }].map((recurring) =>
      line({ unitAmount: 500, recurring }),
    );
    expect((await fixture.session({ lines })).status).toBe('open');
  });
});

describe('the descriptions of the lines of a session', () => {
  const described = (count: number, length: number) =>
    Array.from({ length: count }, () => line({ unitAmount: 500, recurring: true, name: '€'.repeat(length) }));

  test('are at most 1 MiB together, so that an event can carry them [D14.54]', async () => {
    // Three bytes each: 19 and 20 lines below and above a mebibyte.
    expect((await fixture.session({ lines: described(19, 18_000) })).status).toBe('open');
    await expect(fixture.session({ lines: described(20, 18_000) })).rejects.toMatchObject({
      violations: [{ loc: [...loc, 'line_items'], type: 'too_long' }],
    });
  });

  test('leave room in the command that carries them with the largest body and coupons [D14.54]', async () => {
    const metadata = { note: '€'.repeat(30_000) };
    const large = JSON.stringify({ couponId: 'fcoup_a', duration: 'once', percentOffBasisPoints: 1, metadata });
    const session = await fixture.session({
      mode: 'subscription',
      lines: described(19, 18_000),
      discounts: Array.from({ length: 34 }, () =>
        create(CartDiscountSchema, { source: { case: 'couponId', value: large } }),
      ),
      // What a body of 1 MiB holds beside.
      fees: Array.from({ length: 16 }, () => ({ amountCents: 1n, description: '€'.repeat(21_000) })),
    });
    const lines = await loadSessionLines(fixture.database, fixture.scope, session.id);
    const value = create(StartSubscriptionSchema, {
      session: sessionMessage(fixture.scope, session),
      lines: lines.map(lineItemMessage),
    });
    const object = { case: 'startSubscription', value } as const;
    const command = { ...fixture.scope, type: 'command.subscription.start', aggregateId: session.id, object };
    // The bus carries 8 MiB.
    expect(encodeEvent(command).payload.length).toBeLessThan(7 * 1_048_576);
  });
});

describe('a total of 1 to 49 cents', () => {
  const inline = (unitAmountCents: bigint) =>
    create(CartLineSchema, { item: { case: 'priceData', value: { unitAmountCents } }, quantity: 1n });
  const coupon = (percentOffBasisPoints: number) =>
    create(CartDiscountSchema, {
      source: { case: 'couponId', value: JSON.stringify({ couponId: 'fcoup_a', percentOffBasisPoints }) },
    });

  test('is refused before anything is reserved, activated or written if a card is to be charged at once [END-2]', async () => {
    const { customerId, paymentMethodId } = await savedCard();
    const charged = { mode: 'off_session', customerId, paymentMethodId, lines: [inline(500n)] };
    const calls = fixture.catalog.calls.length;
    const idempotency = { key: 'small', requestHash: new Uint8Array(32) };
    for (const parts of [{}, { idempotency }]) {
      // The fake catalog sells what is inline for 5.00.
      const small = fixture.session({ ...charged, ...parts, discounts: [coupon(9_100)] });
      await expect(small).rejects.toMatchObject({ code: 'checkout_amount_too_low' });
    }
    expect(fixture.catalog.calls.slice(calls).map(({ name }) => name)).toEqual(['resolveCart', 'resolveCart']);
    const written =
      "select id from checkout.sessions where customer_id = $1 union all select key from checkout.session_keys where key = 'small'";
    expect(await fixture.test.admin(written, [customerId])).toEqual([]);
  });

  test('makes a session where no card is charged at once', async () => {
    const lines = [line({ unitAmount: 49 })];
    expect((await fixture.session({ mode: 'off_session', lines })).amountTotalCents).toBe(49);
    expect((await fixture.session({ lines })).amountTotalCents).toBe(49);
  });
});

test('a discount of a session without lines is refused at its place, and redeems nothing [D14.14]', async () => {
  const calls = fixture.catalog.calls.length;
  const customerId = await newCustomer();
  const discounts = [
    { source: { case: 'couponId' as const, value: newId('coupon') } },
    { source: { case: 'promoCode' as const, value: 'SPRING' } },
    { source: { case: 'couponData' as const, value: { amountOffCents: 1n } } },
  ];
  await expect(fixture.session({ mode: 'setup', lines: [], customerId, discounts })).rejects.toMatchObject({
    violations: ['coupon_id', 'promo_code', 'coupon_data'].map((field, index) => ({
      loc: [...loc, 'discounts', String(index), field],
      type: 'coupon_not_applicable',
    })),
  });
  expect(fixture.catalog.calls.length).toBe(calls);
});

async function newCustomer(): Promise<string> {
  const none = { firstName: null, lastName: null, email: null, phone: null, employer: null, shipping: null };
  const input = { ...none, metadata: {}, testClockId: null };
  return (await createCustomer(fixture.context, fixture.scope, input, undefined)).customerId;
}

async function savedCard(): Promise<{ customerId: string; paymentMethodId: string }> {
  const customerId = await newCustomer();
  const paymentMethodId = newId('payment_method');
  await fixture.test.admin(
    `insert into checkout.payment_methods (account_id, test_mode, id, customer_id, processor_payment_method_id, off_session, brand, country,
       exp_month, exp_year, funding, last4, hsa_fsa, created_at)
     values ($1, true, $2, $3, 'pm_small', true, 'visa', 'US', 12, 2040, 'debit', '0072', true, now())`,
    [fixture.scope.accountId, paymentMethodId, customerId],
  );
  return { customerId, paymentMethodId };
}

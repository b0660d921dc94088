import type { CheckoutSession } from '@eligo/proto/checkout/v1/checkout';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import { type CalledFixture, openCalledFixture } from './called-fixture.ts';
import { line, sessionMessage } from './fixture.ts';

let fixture: CalledFixture;
beforeAll(async () => {
  fixture = await openCalledFixture();
});
afterAll(() => fixture.close());

describe('customers', () => {
  test('are created, read, listed, changed, cleared and deleted', async () => {
    const { checkout } = fixture;
    const made = await checkout.createCustomer(
      { firstName: 'Ann', phone: '1', shipping: { line1: '1 Main St' }, metadata: { crm: '7' } },
      fixture.as(),
    );
    expect(await checkout.getCustomer({ id: made.customerId }, fixture.as())).toEqual(made);
    const changed = await checkout.updateCustomer(
      { id: made.customerId, lastName: 'Lee', clear: ['phone', 'shipping', 'metadata'] },
      fixture.as(),
    );
    expect(changed).toMatchObject({ firstName: 'Ann', lastName: 'Lee', metadata: {} });
    expect([changed.phone, changed.shipping]).toEqual([undefined, undefined]);
    const page = await checkout.listCustomers({ page: { limit: 1n } }, fixture.as());
    expect(page.customers).toEqual([changed]);
    expect((await checkout.deleteCustomer({ id: made.customerId }, fixture.as())).deleted).toBe(true);
    await expect(checkout.getCustomer({ id: made.customerId }, fixture.as())).rejects.toMatchObject({
      code: 'customer_not_found',
    });
    const batch = await checkout.batchGetCustomers({ ids: [made.customerId] }, fixture.as());
    expect(batch.customers).toEqual([]);
  });

  test('of the other mode are not there', async () => {
    const made = await fixture.checkout.createCustomer({}, fixture.as());
    const other = fixture.checkout.getCustomer({ id: made.customerId }, fixture.as(false));
    await expect(other).rejects.toMatchObject({ code: 'customer_not_found' });
  });
});

describe('payment methods', () => {
  const cards: [string, { funding: string; last4: string; hsaFsa?: boolean }][] = [
    ['hsa', { funding: 'debit', last4: '0072', hsaFsa: true }],
    ['credit', { funding: 'credit', last4: '4242' }],
    ['debit', { funding: 'debit', last4: '5556' }],
    ['declined', { funding: 'credit', last4: '0002' }],
  ];
  for (const [card, facts] of cards) {
    test(`from the ${card} test card, attached to a customer [RUN-2]`, async () => {
      const { customerId } = await fixture.checkout.createCustomer({}, fixture.as());
      const made = await fixture.checkout.createTestPaymentMethod({ customerId, card }, fixture.as());
      expect(made).toMatchObject({ customerId, type: 'card', offSession: true, testMode: true, card: facts });
      const listed = await fixture.checkout.listPaymentMethods({ customerId, page: { limit: 10n } }, fixture.as());
      expect(listed.paymentMethods).toEqual([made]);
      const batch = await fixture.checkout.batchGetPaymentMethods(
        { ids: [made.paymentMethodId, 'fpm_none'] },
        fixture.as(),
      );
      expect(batch.paymentMethods).toEqual([made]);
    });
  }

  test('a customer has one customer at the processor, however many cards are made at once', async () => {
    const { customerId } = await fixture.checkout.createCustomer({}, fixture.as());
    await Promise.all(
      ['hsa', 'credit', 'debit'].map((card) =>
        fixture.checkout.createTestPaymentMethod({ customerId, card }, fixture.as()),
      ),
    );
    const rows = await fixture.test.admin(
      'select distinct processor_customer_id from checkout.payment_methods where customer_id = $1',
      [customerId],
    );
    expect(rows).toHaveLength(1);
  });

  test('are attached once, to one customer, and detached for good [D14.5]', async () => {
    const { checkout } = fixture;
    const [a, b] = await Promise.all([
      checkout.createCustomer({}, fixture.as()),
      checkout.createCustomer({}, fixture.as()),
    ]);
    const { paymentMethodId: id } = await checkout.createTestPaymentMethod({ card: 'credit' }, fixture.as());
    const attached = await checkout.attachPaymentMethod({ id, customerId: a.customerId }, fixture.as());
    expect(attached.customerId).toBe(a.customerId);
    expect(await checkout.attachPaymentMethod({ id, customerId: a.customerId }, fixture.as())).toEqual(attached);
    const stolen = checkout.attachPaymentMethod({ id, customerId: b.customerId }, fixture.as());
    await expect(stolen).rejects.toMatchObject({ code: 'payment_method_in_use' });
    expect((await checkout.detachPaymentMethod({ id }, fixture.as())).customerId).toBeUndefined();
    await expect(checkout.attachPaymentMethod({ id, customerId: b.customerId }, fixture.as())).rejects.toMatchObject({
      code: 'conflict',
    });
    const left = await checkout.getPaymentMethod({ id }, fixture.as());
    expect([left.customerId, left.notChargeable]).toEqual([undefined, 'payment_method_not_found']);
    expect((await checkout.batchGetPaymentMethods({ ids: [id] }, fixture.as())).paymentMethods).toEqual([left]);
  });

  const refusals: [string, { customerId?: string; card: string }, boolean, object][] = [
    ['with a live key', { card: 'hsa' }, false, { code: 'test_mode_required' }],
    [
      'of no such card',
      { card: 'gold' },
      true,
      { violations: [{ loc: ['body', 'payment_method', 'card'], type: 'enum' }] },
    ],
    [
      'of no such customer',
      { card: 'hsa', customerId: 'fcus_none' },
      true,
      {
        violations: [
          { loc: ['body', 'payment_method', 'customer'], type: 'customer_not_found', msg: 'customer_not_found' },
        ],
      },
    ],
  ];
  for (const [what, request, testMode, refusal] of refusals) {
    test(`are not made ${what}`, async () => {
      await expect(fixture.checkout.createTestPaymentMethod(request, fixture.as(testMode))).rejects.toMatchObject(
        refusal,
      );
    });
  }
});

describe('sessions', () => {
  test('hold everything that they were created with [END-2]', async () => {
    const given = sessionMessage({
      lines: [line({ unitAmount: 2000, class: 'vision', visitType: 'eye care' })],
      cancelUrl: 'https://shop.example/cancel',
      clientReferenceId: 'order 1',
      customerEmail: 'a@example.com',
      defaults: { firstName: 'Ann', email: 'a@example.com' },
      shipping: { case: 'shippingRateData', value: { displayName: 'Express', amountCents: 500n } },
      taxAmountCents: 0n,
      fees: [{ amountCents: 250n, name: 'Handling', feeType: 'handling' }],
      discounts: [{ source: { case: 'couponData', value: { name: 'Ten', amountOffCents: 10n } } }],
      setupFutureUse: 'on_session',
      subscriptionData: { trialPeriodDays: 7, cancelAtPeriodEnd: true, cancelAtMs: BigInt(Date.parse('2030-01-01')) },
      allowPromotionCodes: true,
      captureMethod: 'manual',
      requestThreeDSecure: 'automatic',
      customText: { submitMessage: 'Pay', termsOfServiceCheckboxRequired: false },
      shippingAddressCollection: true,
      sellingPlans: [{ id: 'plan', name: 'Monthly', interval: 'month', intervalCount: 1 }],
      metadata: { a: 'b' },
      origin: 'https://shop.example',
      storefrontPaymentDetails: { gateway: 'g', cardLast4: '4242' },
      shippingDetails: { line1: '1 Main St' },
    });
    const made = await fixture.checkout.createSession(given, fixture.as());
    for (const field of carried) expect(made[field], field).toEqual(given[field]);
    expect(made).toMatchObject({
      ...{
        mode: 'payment',
        status: 'open',
        captureMethod: 'manual',
        partnerId: fixture.scope.accountId,
        testMode: true,
      },
      ...{ amountSubtotalCents: 2000n, amountTotalCents: 2740n, amountEligibleCents: 2740n, hsaFsaEligible: true },
      ...{ taxAmountCents: 0n, taxCalculationMode: 'exclusive', visitType: 'eye care' },
      shippingOptions: { displayName: 'Express', shippingAmountCents: 500n },
      shippingDetails: { line1: '1 Main St', shippingAddressId: expect.stringMatching(/^fsh_/) },
      totalDetails: { amountDiscountCents: 10n, amountFeeCents: 250n, amountVisionCents: 2740n },
      fees: [{ amountCents: 250n, name: 'Handling', feeType: 'handling', applied: true }],
      discounts: [{ amountCents: 10n, coupon: { name: 'Ten', amountOffCents: 10n } }],
    });
    expect(made.subscriptionData).toEqual(given.subscriptionData);
    expect(await fixture.checkout.getSession({ id: made.checkoutSessionId }, fixture.as())).toEqual(made);
  });

  test('are streamed, and the last message says whether there are more', async () => {
    const made = await fixture.checkout.createSession(sessionMessage({ clientReferenceId: 'streamed' }), fixture.as());
    const items = [];
    const request = { clientReferenceId: 'streamed', page: { limit: 9_007_199_254_740_991n } };
    for await (const { item } of fixture.checkout.listSessions(request, fixture.as())) items.push(item);
    expect(items).toMatchObject([
      { case: 'session', value: { checkoutSessionId: made.checkoutSessionId } },
      { case: 'end', value: { hasMore: false } },
    ]);
  });

  test('list their lines in the order of the cart, page by page [SESS-5]', async () => {
    const lines = [1, 2, 3].map((n) => line({ unitAmount: n * 100, class: 'vision' }));
    const { checkoutSessionId: sessionId } = await fixture.checkout.createSession(
      sessionMessage({ lines }),
      fixture.as(),
    );
    const page = (parts: object) =>
      fixture.checkout.listLineItems({ sessionId, page: { limit: 2n, ...parts } }, fixture.as());
    const first = await page({});
    expect(first.lineItems.map((item) => item.unitAmountCents)).toEqual([100n, 200n]);
    expect(first.hasMore).toBe(true);
    const second = await page({ startingAfter: first.lineItems[1]?.lineItemId });
    expect(second.lineItems.map((item) => item.unitAmountCents)).toEqual([300n]);
    expect(second.hasMore).toBe(false);
    const back = await page({ endingBefore: second.lineItems[0]?.lineItemId });
    expect(back.lineItems).toEqual(first.lineItems);
    expect(first.lineItems[0]).toMatchObject({
      eligibility: { hsaFsaEligibility: 'vision', rule: 'product' },
      amountEligibleCents: 100n,
      amountDisputedCents: 0n,
    });
    await expect(page({ startingAfter: 'fli_none' })).rejects.toMatchObject({
      violations: [{ loc: ['query', 'starting_after'] }],
    });
    const missing = fixture.checkout.listLineItems({ sessionId: 'fcs_none' }, fixture.as());
    await expect(missing).rejects.toMatchObject({ code: 'checkout_session_not_found' });
  });

  test('with authorized cards are canceled by the partner, and not by the shopper on the page [D14.82]', async () => {
    const { checkout, context, scope } = fixture;
    const { customerId } = await checkout.createCustomer({}, fixture.as());
    const card = await checkout.createTestPaymentMethod({ customerId, card: 'hsa' }, fixture.as());
    const lines = [line({ unitAmount: 1_000, class: 'vision' })];
    const { checkoutSessionId: id } = await checkout.createSession(
      sessionMessage({ lines, customerId, captureMethod: 'manual' }),
      fixture.as(),
    );
    const paid = { sessionId: id, paymentMethodIds: [card.paymentMethodId], shippingDetails: null };
    expect((await completeSession(context, scope, paid)).status).toBe('paid');
    await expect(checkout.cancelSession({ id, onlyOpen: true }, fixture.as())).rejects.toMatchObject({
      code: 'checkout_session_already_processed',
    });
    expect(await checkout.getSession({ id }, fixture.as())).toMatchObject({ status: 'paid' });
    expect(await checkout.cancelSession({ id }, fixture.as())).toMatchObject({ status: 'canceled' });
  });

  test('with a payment method of another customer, or of none, are refused at the field', async () => {
    const { checkout } = fixture;
    const [a, b] = await Promise.all([
      checkout.createCustomer({}, fixture.as()),
      checkout.createCustomer({}, fixture.as()),
    ]);
    const card = await checkout.createTestPaymentMethod({ customerId: a.customerId, card: 'credit' }, fixture.as());
    const create = (parts: object) =>
      checkout.createSession(sessionMessage({ mode: 'off_session', ...parts }), fixture.as());
    const loc = ['body', 'checkout_session', 'payment_method'];
    await expect(create({ customerId: b.customerId, paymentMethodId: card.paymentMethodId })).rejects.toMatchObject({
      violations: [{ loc, type: 'payment_method_in_use' }],
    });
    await expect(create({ customerId: b.customerId, paymentMethodId: 'fpm_none' })).rejects.toMatchObject({
      violations: [{ loc, type: 'payment_method_not_found' }],
    });
    const onSession = await checkout.createTestPaymentMethod(
      { customerId: a.customerId, card: 'credit', offSession: false },
      fixture.as(),
    );
    await expect(
      create({ customerId: a.customerId, paymentMethodId: onSession.paymentMethodId }),
    ).rejects.toMatchObject({
      code: 'payment_method_not_off_session',
    });
    const made = await create({ customerId: a.customerId, paymentMethodId: card.paymentMethodId });
    expect(made.mode).toBe('off_session');
  });
});

// What is answered exactly as it was given.
const carried = [
  ...([
    'cancelUrl',
    'successUrl',
    'clientReferenceId',
    'customerEmail',
    'defaults',
    'setupFutureUse',
    'metadata',
  ] as const),
  ...([
    'allowPromotionCodes',
    'requestThreeDSecure',
    'customText',
    'shippingAddressCollection',
    'sellingPlans',
  ] as const),
  ...(['origin', 'storefrontPaymentDetails'] as const),
] satisfies (keyof CheckoutSession)[];

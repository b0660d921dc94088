import { create, toBinary } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import { SubscriptionSchema } from '@eligo/proto/billing/v1/billing';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createSubscription, type NewSubscription, type RetryKey } from '../src/actions/create-subscription.ts';
import { createTestClock } from '../src/actions/test-clocks.ts';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { settleCatalogTasks } from '../src/jobs/settle-catalog-tasks.ts';
import { loadInvoiceLines } from '../src/store/invoice-lines.ts';
import { findInvoice } from '../src/store/invoices.ts';
import { findSubscription } from '../src/store/subscriptions.ts';
import { awaitedCustomerTests } from './awaited-customers.ts';
import { callOf, type Fixture, openFixture, someScope, start } from './fixture.ts';
import { setUpCardTests } from './set-up-cards.ts';

let on: Fixture;
let scope: Scope;
let customerId: string;

beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
beforeEach(() => {
  on.at(start);
  scope = someScope();
  customerId = on.peers.customer();
});
afterEach(() => turnFailpointsOff());

const nothing: Omit<NewSubscription, 'items' | 'customerId'> = {
  discount: { couponId: null, promoCode: null },
  trialEnd: null,
  trialDays: null,
  missingPaymentMethod: null,
  cancelAt: null,
  cancelAtPeriodEnd: false,
  defaultPaymentMethodId: null,
  backupPaymentMethodId: null,
  prorationBehavior: null,
  metadata: {},
};
const inputOf = (parts: Partial<NewSubscription> = {}): NewSubscription => ({
  ...nothing,
  customerId,
  items: [{ priceId: on.peers.price(), quantity: 1 }],
  defaultPaymentMethodId: on.peers.cardOf(customerId, true),
  ...parts,
});
const make = (parts: Partial<NewSubscription> = {}, key?: RetryKey) =>
  createSubscription(on.context, callOf(scope), inputOf(parts), key);
const read = async (id: string) => {
  const subscription = await findSubscription(on.database, scope, id);
  const invoice = await findInvoice(on.database, scope, subscription?.latestInvoiceId ?? '');
  if (subscription === undefined || invoice === undefined) throw new Error('no subscription or invoice');
  return { subscription, invoice };
};
const runAt = async (time: string) => {
  on.at(time);
  while (await runDueSubscriptions(on.context));
};
const eventsOf = async (...ids: string[]) =>
  (
    await on.test.admin<{ type: string }>(
      'select type from billing.outbox where aggregate_id = any($1) order by event_id',
      [ids],
    )
  ).map(({ type }) => type);
const settleTasks = () => settleCatalogTasks(on.context).run(new AbortController().signal);
const madeCount = async () =>
  (await on.test.admin('select id from billing.subscriptions where account_id = $1', [scope.accountId])).length;

describe('creating a subscription', () => {
  it('charges the first invoice and answers active [SUB-9, D14.115]', async () => {
    const made = await make({ items: [{ priceId: on.peers.price(), quantity: 2 }], metadata: { plan: 'gold' } });
    expect(made).toMatchObject({ status: 'active', metadata: { plan: 'gold' } });
    const { subscription, invoice } = await read(made.subscriptionId);
    expect(subscription).toMatchObject({
      ...{ paymentAt: null, heldUntil: null, expiresAt: null, currentPeriodStart: start },
      currentPeriodEnd: new Date('2026-05-01T00:00:00.000Z'),
      items: [{ quantity: 2, invoicedCents: 6_000, invoicedEligible: true }],
    });
    expect(invoice).toMatchObject({
      ...{ status: 'paid', totalCents: 6_000, amountPaidCents: 6_000, billingReason: 'subscription_create' },
    });
    expect(await loadInvoiceLines(on.database, scope, invoice.id)).toMatchObject([{ quantity: 2, totalCents: 6_000 }]);
    expect(on.peers.takenOf(invoice.id)).toBe(6_000);
    expect(await eventsOf(subscription.id)).toEqual(['customer.subscription.created', 'customer.subscription.updated']);
    expect(await eventsOf(invoice.id)).toEqual(['invoice.created', 'invoice.finalized', 'invoice.paid']);
    await runAt('2026-05-01T00:00:00.000Z');
    expect((await read(made.subscriptionId)).invoice).toMatchObject({
      status: 'paid',
      billingReason: 'subscription_cycle',
    });
  });

  it('begins with a trial that costs nothing, of the request or else of the price', async () => {
    const asked = await make({ trialDays: 14, defaultPaymentMethodId: null });
    expect(await read(asked.subscriptionId)).toMatchObject({
      subscription: { status: 'trialing', trialEnd: new Date('2026-04-15T00:00:00.000Z'), paymentAt: null },
      invoice: { status: 'paid', totalCents: 0 },
    });
    const priced = on.peers.price({ recurring: { trialPeriodDays: 7 } });
    const made = await make({ items: [{ priceId: priced, quantity: 1 }] });
    expect((await read(made.subscriptionId)).subscription.currentPeriodEnd).toEqual(
      new Date('2026-04-08T00:00:00.000Z'),
    );
    await runAt('2026-04-08T00:00:00.000Z');
    expect(await read(made.subscriptionId)).toMatchObject({
      subscription: { status: 'active' },
      invoice: { totalCents: 3_000, status: 'paid' },
    });
  });

  it('ends at the time that the request names, also in its first period [SUB-9]', async () => {
    const { subscriptionId } = await make({ cancelAt: new Date('2026-04-20T00:00:00.000Z') });
    await runAt('2026-04-19T23:59:59.999Z');
    expect((await read(subscriptionId)).subscription.status).toBe('active');
    await runAt('2026-04-20T00:00:00.000Z');
    expect((await read(subscriptionId)).subscription.status).toBe('canceled');
  });

  it('lives on the clock of its customer', async () => {
    const at = new Date('2027-01-31T00:00:00.000Z');
    const clock = await createTestClock(on.context, callOf(scope), { frozenTime: at, name: null });
    customerId = on.peers.customer(clock.id);
    const made = await make();
    expect((await read(made.subscriptionId)).subscription).toMatchObject({
      testClockId: clock.id,
      currentPeriodStart: at,
      currentPeriodEnd: new Date('2027-02-28T00:00:00.000Z'),
    });
  });

  it('splits the first invoice between a health card and the backup card', async () => {
    const backup = on.peers.cardOf(customerId, false);
    const towel = on.peers.price({ unitAmountCents: 900, eligibility: 'not_eligible' });
    const items = [on.peers.price(), towel].map((priceId) => ({ priceId, quantity: 1 }));
    const made = await make({ items, backupPaymentMethodId: backup });
    const { invoice } = await read(made.subscriptionId);
    expect(invoice).toMatchObject({ status: 'paid', eligibleCents: 3_000, backupChargeStatus: 'succeeded' });
    const taken = on.peers.taken.filter(({ invoiceId }) => invoiceId === invoice.id);
    expect(taken).toMatchObject([
      { leg: 'health', amountCents: 3_000 },
      { leg: 'other', amountCents: 900, paymentMethodId: backup },
    ]);
  });
});

describe('a first payment that fails', () => {
  it('leaves the subscription incomplete, which expires after 23 hours with its invoice void [D14.115]', async () => {
    const made = await make({ defaultPaymentMethodId: on.peers.cardOf(customerId, true, 'insufficient_funds') });
    expect(made.status).toBe('incomplete');
    const { subscription, invoice } = await read(made.subscriptionId);
    expect(invoice).toMatchObject({ status: 'open', attempts: 1, declineCode: 'insufficient_funds' });
    expect(subscription).toMatchObject({ paymentAt: null, heldUntil: null });
    await runAt('2026-04-01T22:59:59.999Z');
    expect((await read(made.subscriptionId)).subscription.status).toBe('incomplete');
    await runAt('2026-04-01T23:00:00.000Z');
    expect(await read(made.subscriptionId)).toMatchObject({
      subscription: { status: 'incomplete_expired', expiresAt: null, canceledAt: null },
      invoice: { status: 'void' },
    });
    expect(await eventsOf(subscription.id, invoice.id)).toEqual([
      ...['customer.subscription.created', 'invoice.created', 'invoice.finalized', 'invoice.payment_failed'],
      ...['invoice.voided', 'customer.subscription.updated'],
    ]);
    await runAt('2026-06-01T00:00:00.000Z');
    expect(on.peers.takenOf(invoice.id)).toBe(0);
  });

  it('leaves it incomplete without a card, or without one for what a health card does not pay', async () => {
    expect(await make({ defaultPaymentMethodId: null })).toMatchObject({ status: 'incomplete' });
    const towel = [{ priceId: on.peers.price({ eligibility: 'not_eligible' }), quantity: 1 }];
    const made = await make({ items: towel });
    expect((await read(made.subscriptionId)).invoice.failureCode).toBe('backup_payment_method_required');
  });

  it('refunds the part that one of two cards has paid when it expires', async () => {
    const backup = on.peers.cardOf(customerId, false, 'insufficient_funds');
    const towel = on.peers.price({ unitAmountCents: 900, eligibility: 'not_eligible' });
    const items = [on.peers.price(), towel].map((priceId) => ({ priceId, quantity: 1 }));
    const made = await make({ items, backupPaymentMethodId: backup });
    expect((await read(made.subscriptionId)).invoice).toMatchObject({ status: 'open', amountPaidCents: 3_000 });
    await runAt('2026-04-02T00:00:00.000Z');
    expect(await eventsOf(made.subscriptionId)).toContain('command.refund');
  });

  it('makes it active once an unknown outcome is known to be a payment', async () => {
    on.peers.fail('lost_after');
    const made = await make();
    expect(made.status).toBe('incomplete');
    await runAt('2026-04-01T00:01:01.000Z');
    const { subscription, invoice } = await read(made.subscriptionId);
    expect(subscription.status).toBe('active');
    expect(on.peers.takenOf(invoice.id)).toBe(3_000);
  });

  it('is settled before it expires if its outcome is unknown', async () => {
    on.peers.fail('lost_after');
    const made = await make();
    await runAt('2026-04-03T00:00:00.000Z');
    expect((await read(made.subscriptionId)).subscription.status).toBe('active');
  });
});

awaitedCustomerTests(() => ({
  ...{ on, scope, customerId, inputOf, make, read, runAt, eventsOf, madeCount },
}));

setUpCardTests(() => ({
  ...{ on, scope, customerId, inputOf, make, read, runAt, eventsOf, madeCount },
}));

describe('a key of a creation', () => {
  const key = (body: string): RetryKey => ({ key: 'a-key', requestHash: Buffer.from(body.padEnd(32, '.')) });

  it('replays the stored response for the same body, and makes another subscription for another one [D1.1]', async () => {
    const first = await make({}, key('one'));
    on.at('2026-04-20T00:00:00.000Z');
    const again = await make({}, key('one'));
    expect(Buffer.from(toBinary(SubscriptionSchema, again))).toEqual(
      Buffer.from(toBinary(SubscriptionSchema, create(SubscriptionSchema, first))),
    );
    expect(await make({}, key('two'))).not.toMatchObject({ subscriptionId: first.subscriptionId });
    expect(await madeCount()).toBe(2);
  });

  it('makes one subscription of two requests at once', async () => {
    const outcomes = await Promise.allSettled([make({}, key('one')), make({}, key('one')), make({}, key('one'))]);
    expect(outcomes.some(({ status }) => status === 'fulfilled')).toBe(true);
    for (const outcome of outcomes) {
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'idempotency_key_in_use' });
    }
    expect(await madeCount()).toBe(1);
  });

  it.each([
    ...['subscription.written', 'invoice_charge.begun', 'invoice_charge.answered', 'invoice_charge.before_commit'],
    ...['invoice_charge.recorded', 'subscription.charged'],
  ])('goes on with the same subscription after a crash at %s, and charges it once', async (name) => {
    turnFailpointsOn();
    const input = inputOf();
    armFailpoint(name, { action: 'error', skip: 0 });
    const tried = createSubscription(on.context, callOf(scope), input, key('one'));
    await tried.catch((error: unknown) => expect(error).not.toBeInstanceOf(Failure));
    turnFailpointsOff();
    await on.test.admin(
      "update billing.idempotency_keys set lease_until = now() - interval '1 second' where state = 'in_progress'",
    );
    await runAt('2026-04-01T00:01:01.000Z');
    const made = await createSubscription(on.context, callOf(scope), input, key('one'));
    const { subscription, invoice } = await read(made.subscriptionId);
    expect(await madeCount()).toBe(1);
    expect(subscription.status).toBe('active');
    expect(on.peers.takenOf(invoice.id)).toBe(3_000);
  });
});

describe('a key whose request crashed', () => {
  it('goes on although the redemption of its coupon was the last one', async () => {
    const couponId = on.peers.coupon({ percentOffBasisPoints: 1_000, duration: 'once' });
    const input = inputOf({ discount: { couponId, promoCode: null } });
    const key = { key: 'a-key', requestHash: Buffer.alloc(32) };
    turnFailpointsOn();
    armFailpoint('subscription.written', { action: 'error', skip: 0 });
    await expect(createSubscription(on.context, callOf(scope), input, key)).rejects.toThrow('failpoint');
    turnFailpointsOff();
    on.peers.usedUp.add(couponId);
    await on.test.admin(
      "update billing.idempotency_keys set lease_until = now() - interval '1 second' where state = 'in_progress'",
    );
    expect(await createSubscription(on.context, callOf(scope), input, key)).toMatchObject({ status: 'active' });
    expect(await madeCount()).toBe(1);
    // A refused request with a new key leaves no claim: the same one is refused in the same way.
    const other = { key: 'another', requestHash: Buffer.alloc(32) };
    for (const _again of [1, 2]) {
      const refused = createSubscription(on.context, callOf(scope), input, other);
      await expect(refused).rejects.toMatchObject({ code: 'validation_error' });
    }
    await on.test.admin("update billing.catalog_tasks set due_at = now() - interval '1 second'");
    await settleTasks();
  });
});

describe('a coupon of a new subscription', () => {
  const withCoupon = (couponId: string) => ({ discount: { couponId, promoCode: null } });

  it('lowers the invoices that its duration covers, and is redeemed for good once the first is paid [D14.92]', async () => {
    const once = on.peers.coupon({ percentOffBasisPoints: 5_000, duration: 'once' });
    const made = await make(withCoupon(once));
    expect((await read(made.subscriptionId)).invoice).toMatchObject({ status: 'paid', totalCents: 1_500 });
    const [discount] = made.discounts;
    expect(discount).toMatchObject({ amountCents: 1_500n, subscriptionId: made.subscriptionId });
    await settleTasks();
    expect(on.peers.redemptions.get(discount?.discountId ?? '')).toBe('final');
    await runAt('2026-05-01T00:00:00.000Z');
    expect((await read(made.subscriptionId)).invoice.totalCents).toBe(3_000);
  });

  it('makes it active at once if nothing is left to charge', async () => {
    const made = await make(withCoupon(on.peers.coupon({ percentOffBasisPoints: 10_000, duration: 'forever' })));
    expect(await read(made.subscriptionId)).toMatchObject({
      subscription: { status: 'active', expiresAt: null },
      invoice: { status: 'paid', totalCents: 0 },
    });
  });

  it('is released when the subscription expires unpaid, and when it was never written', async () => {
    const coupon = on.peers.coupon({ amountOffCents: 500n, duration: 'forever' });
    const made = await make({ ...withCoupon(coupon), defaultPaymentMethodId: null });
    const id = made.discounts[0]?.discountId ?? '';
    await settleTasks();
    expect(on.peers.redemptions.get(id)).toBe('reserved');
    await runAt('2026-04-02T00:00:00.000Z');
    await settleTasks();
    expect(on.peers.redemptions.get(id)).toBe('released');
    on.peers.redemptions.clear();
    turnFailpointsOn();
    armFailpoint('subscription.resolved', { action: 'error', skip: 0 });
    await expect(make(withCoupon(coupon))).rejects.toThrow('failpoint');
    turnFailpointsOff();
    expect([...on.peers.redemptions.values()]).toEqual(['reserved']);
    await on.test.admin("update billing.catalog_tasks set due_at = now() - interval '1 second'");
    await settleTasks();
    expect([...on.peers.redemptions.values()]).toEqual(['released']);
    expect(await on.test.admin('select 1 from billing.catalog_tasks')).toEqual([]);
  });
});

describe('what a creation refuses', () => {
  const once = () => ({ items: [{ priceId: on.peers.price({ recurring: null }), quantity: 1 }] });
  const mixed = () => ({
    items: [{}, { interval: 'year' }].map((recurring) => ({ priceId: on.peers.price({ recurring }), quantity: 1 })),
  });
  const past = new Date(start.getTime() - 1);
  const refusals: [string, () => Partial<NewSubscription>, string[], string][] = [
    ['a customer that is not there', () => ({ customerId: gone() }), ['customer'], 'customer_not_found'],
    [
      'a card of another customer',
      () => ({ defaultPaymentMethodId: on.peers.cardOf('fcus_other', true) }),
      ['default_payment_method'],
      'payment_method_not_found',
    ],
    [
      'a backup card that is not there',
      () => ({ backupPaymentMethodId: 'fpm_none' }),
      ['backup_payment_method'],
      'payment_method_not_found',
    ],
    [
      'a card that needs its owner',
      () => ({ defaultPaymentMethodId: on.peers.cardOf(customerId, true, 'pays', false) }),
      ['default_payment_method'],
      'payment_method_not_off_session',
    ],
    [
      'a price that is not there',
      () => ({ items: [{ priceId: 'fprice_none', quantity: 1 }] }),
      ['items', '0', 'price'],
      'price_not_found',
    ],
    ['a price that is paid once', once, ['items', '0', 'price'], 'recurring_price_required'],
    ['prices of two rhythms', mixed, ['items', '1', 'price'], 'value_error'],
    [
      'more than a card can be charged',
      () => ({ items: [{ priceId: on.peers.price({ unitAmountCents: 99_999_999 }), quantity: 2 }] }),
      ['items'],
      'amount_too_large',
    ],
    ['an end in the past', () => ({ cancelAt: past }), ['cancel_at'], 'value_error'],
    ['a trial that is over', () => ({ trialEnd: past }), ['trial_end'], 'value_error'],
    [
      'a coupon that is not there',
      () => ({ discount: { couponId: 'fcoup_none', promoCode: null } }),
      ['coupon'],
      'coupon_not_found',
    ],
    ['a coupon that was used up meanwhile', usedUp, ['coupon'], 'coupon_not_applicable'],
  ];
  const gone = () => {
    const id = on.peers.customer();
    on.peers.deleteCustomer(id);
    return id;
  };
  function usedUp() {
    const couponId = on.peers.coupon({ amountOffCents: 100n, duration: 'once' });
    on.peers.usedUp.add(couponId);
    return { discount: { couponId, promoCode: null } };
  }

  it.each(refusals)('%s, at its place, and writes nothing', async (_what, parts, path, type) => {
    await expect(make(parts())).rejects.toMatchObject({
      violations: [{ loc: ['body', 'subscription', ...path], type }],
    });
    expect(await madeCount()).toBe(0);
  });
});

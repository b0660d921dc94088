import { fromBinary } from '@bufbuild/protobuf';
import type { Scope } from '@eligo/postgres';
import { EventSchema } from '@eligo/proto/events/v1/events';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { newId } from '@eligo/values';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { runDueSubscriptions } from '../src/jobs/run-due.ts';
import { loadInvoiceCharges } from '../src/store/invoice-charges.ts';
import { loadInvoiceLines } from '../src/store/invoice-lines.ts';
import { listInvoices } from '../src/store/invoices.ts';
import { findSubscription } from '../src/store/subscriptions.ts';
import { type Fixture, openFixture, sell, someScope, start } from './fixture.ts';

let on: Fixture;
let scope: Scope;

beforeAll(async () => {
  on = await openFixture();
});
afterAll(() => on.close());
beforeEach(() => {
  on.at(start);
  scope = someScope();
});
afterEach(() => turnFailpointsOff());

const may = '2026-05-01T00:00:00.000Z';
const runAll = async (context = on.context) => {
  while (await runDueSubscriptions(context));
};
const read = async (id: string) => {
  const subscription = await findSubscription(on.database, scope, id);
  if (subscription === undefined) throw new Error('no subscription');
  return subscription;
};
const invoicesOf = async (subscriptionId: string) => {
  const { invoices } = await listInvoices(on.database, scope, { limit: 100 }, { subscriptionId, ids: [] });
  return invoices.reverse();
};
const renewedOf = async (subscriptionId: string) => {
  const renewed = (await invoicesOf(subscriptionId)).at(-1);
  if (renewed === undefined) throw new Error('no invoice');
  return renewed;
};
const eventsOf = async (...ids: string[]) =>
  (
    await on.test.admin<{ type: string }>(
      'select type from billing.outbox where aggregate_id = any($1) order by created_at, event_id',
      [ids],
    )
  ).map(({ type }) => type);
const takenBy = (customersInvoice: string) => on.peers.takenOf(customersInvoice);

describe('a subscription whose period is over', () => {
  it('begins the next one with an invoice that its card pays, and not before [D14.90]', async () => {
    const { subscriptionId, card } = await sell(on, scope);
    on.at('2026-04-30T23:59:59.999Z');
    await runAll();
    expect(await invoicesOf(subscriptionId)).toHaveLength(1);
    on.at(may);
    await runAll();
    const invoice = await renewedOf(subscriptionId);
    expect(invoice).toMatchObject({
      status: 'paid',
      totalCents: 3_000,
      amountPaidCents: 3_000,
      checkoutSessionId: null,
    });
    expect([invoice.periodStart.toISOString(), invoice.periodEnd.toISOString()]).toEqual([
      may,
      '2026-06-01T00:00:00.000Z',
    ]);
    expect(await read(subscriptionId)).toMatchObject({
      status: 'active',
      latestInvoiceId: invoice.id,
      currentPeriodStart: new Date(may),
      currentPeriodEnd: new Date('2026-06-01T00:00:00.000Z'),
      paymentAt: null,
      heldUntil: null,
    });
    expect(on.peers.taken.filter(({ invoiceId }) => invoiceId === invoice.id)).toMatchObject([
      { leg: 'health', paymentMethodId: card, amountCents: 3_000, healthcareCents: 3_000 },
    ]);
    expect((await eventsOf(subscriptionId)).slice(1)).toEqual(['customer.subscription.updated']);
    expect(await eventsOf(invoice.id)).toEqual(['invoice.created', 'invoice.finalized', 'invoice.paid']);
  });

  it.each([
    ['is charged', 0n, ['invoice.paid', 'paid']],
    ['costs nothing', 3_000n, ['invoice.paid', 'paid']],
    ['is under 50 cents', 2_960n, ['invoice.marked_uncollectible', 'uncollectible']],
  ])(
    'that %s has an invoice that is a draft and finalized at once, as its events say [D14.90, D14.194]',
    async (_case, amountOffCents, last) => {
      const coupons = amountOffCents === 0n ? [] : [{ couponId: newId('coupon'), amountOffCents, duration: 'forever' }];
      const { subscriptionId } = await sell(on, scope, { coupons });
      on.at(may);
      await runAll();
      const { id } = await renewedOf(subscriptionId);
      const select = 'select payload from billing.outbox where aggregate_id = $1 order by event_id';
      const events = await on.test.admin<{ payload: Buffer }>(select, [id]);
      const told = events.map(({ payload }) => {
        const { type, object } = fromBinary(EventSchema, payload);
        return [type, object.case === 'invoice' ? object.value.status : undefined];
      });
      expect(told).toEqual([['invoice.created', 'draft'], ['invoice.finalized', 'open'], last]);
      expect(await on.test.admin("select id from billing.invoices where status = 'draft'")).toEqual([]);
    },
  );

  it('charges the eligible part to the health card and the remainder to the other one, on a snapshot of the rules', async () => {
    const backup = on.peers.card(false);
    const { subscriptionId, card } = await sell(on, scope, {
      backup,
      items: [
        { unitAmountCents: 1_000, quantity: 3, taxCents: 240, shippingCents: 99 },
        { unitAmountCents: 2_000, quantity: 1, eligibility: 'not_eligible', taxCents: 160 },
      ],
    });
    on.peers.ruleVersion = '7';
    on.at(may);
    await runAll();
    const invoice = await renewedOf(subscriptionId);
    expect(invoice).toMatchObject({
      status: 'paid',
      totalCents: 5_499,
      eligibleCents: 3_339,
      backupChargeStatus: 'succeeded',
    });
    const charges = await loadInvoiceCharges(on.database, scope, invoice.id);
    expect(charges).toMatchObject([
      { leg: 'health', backup: false, paymentMethodId: card, amountCents: 3_339, status: 'succeeded' },
      { leg: 'other', backup: true, paymentMethodId: backup, amountCents: 2_160, status: 'succeeded' },
    ]);
    expect(invoice.paymentIntentId).toBe(charges[0]?.paymentIntentId);
    expect(await loadInvoiceLines(on.database, scope, invoice.id)).toMatchObject([
      {
        totalCents: 3_339,
        eligibleCents: 3_339,
        eligibility: 'auto_substantiation',
        rule: 'product',
        ruleVersion: '7',
      },
      { totalCents: 2_160, eligibleCents: 0, eligibility: 'not_eligible', ruleVersion: '7' },
    ]);
    on.peers.ruleVersion = '1';
  });

  it('charges nothing to a health card whose product is eligible no more, without another card', async () => {
    const { subscriptionId, priceIds } = await sell(on, scope);
    on.peers.classify(priceIds[0] ?? '', 'not_eligible');
    on.at(may);
    await runAll();
    const invoice = await renewedOf(subscriptionId);
    expect(invoice).toMatchObject({
      status: 'open',
      failureCode: 'backup_payment_method_required',
      amountPaidCents: 0,
    });
    expect(takenBy(invoice.id)).toBe(0);
    expect((await read(subscriptionId)).status).toBe('past_due');
  });

  it('charges no part to a health card while no card can pay the other part', async () => {
    const { subscriptionId } = await sell(on, scope, { items: [{}, { eligibility: 'not_eligible' }] });
    on.at(may);
    await runAll();
    const invoice = await renewedOf(subscriptionId);
    expect(invoice).toMatchObject({
      status: 'open',
      failureCode: 'backup_payment_method_required',
      eligibleCents: 3_000,
    });
    expect(takenBy(invoice.id)).toBe(0);
  });

  it('pays an invoice of 0 without a card, and writes off one that no card can be charged [D14.90]', async () => {
    const coupons = [{ couponId: newId('coupon'), amountOffCents: 2_960n, duration: 'forever' }];
    const free = await sell(on, scope, { items: [{ unitAmountCents: 0 }] });
    const small = await sell(on, scope, { coupons });
    on.at(may);
    await runAll();
    expect(await renewedOf(free.subscriptionId)).toMatchObject({ status: 'paid', totalCents: 0 });
    const invoice = await renewedOf(small.subscriptionId);
    expect(invoice).toMatchObject({ status: 'uncollectible', totalCents: 40 });
    expect(takenBy(invoice.id)).toBe(0);
    expect(await read(small.subscriptionId)).toMatchObject({ status: 'active', paymentAt: null });
  });

  it('numbers the invoices of an account in ascending order, each once', async () => {
    const sold = [];
    for (let i = 0; i < 20; i++) sold.push(await sell(on, scope));
    on.at(may);
    await runAll();
    const rows = await on.test.admin<{ number: bigint }>(
      'select number from billing.invoices where account_id = $1 order by number',
      [scope.accountId],
    );
    expect(rows.map(({ number }) => Number(number))).toEqual(Array.from({ length: 40 }, (_, i) => i + 1));
  });

  it('ends when its customer was deleted, and charges nothing', async () => {
    const { subscriptionId, customerId } = await sell(on, scope);
    on.peers.deleteCustomer(customerId);
    on.at(may);
    await runAll();
    expect((await read(subscriptionId)).status).toBe('canceled');
    expect(await invoicesOf(subscriptionId)).toHaveLength(1);
  });

  it('waits while the catalog is down, and renews once it is back', async () => {
    const { subscriptionId } = await sell(on, scope);
    on.peers.isCatalogDown = true;
    on.at(may);
    await runAll();
    expect(await invoicesOf(subscriptionId)).toHaveLength(1);
    on.peers.isCatalogDown = false;
    await runAll();
    expect(await invoicesOf(subscriptionId)).toHaveLength(1);
    on.at('2026-05-01T00:00:15.000Z');
    await runAll();
    expect(await invoicesOf(subscriptionId)).toHaveLength(2);
  });
});

describe('discounts', () => {
  const off = (duration: string, months?: number) => ({
    couponId: newId('coupon'),
    amountOffCents: 500n,
    duration,
    ...(months === undefined ? {} : { durationInMonths: months }),
  });
  const totals = async (parts: Parameters<typeof sell>[2]) => {
    const { subscriptionId } = await sell(on, scope, parts);
    for (const time of ['2026-05-01', '2026-06-01', '2026-07-01', '2026-08-01']) {
      on.at(`${time}T00:00:00.000Z`);
      await runAll();
    }
    return (await invoicesOf(subscriptionId)).slice(1).map(({ totalCents }) => totalCents);
  };

  it('that hold once are used up by the invoice of the sale [D14.92]', async () => {
    expect(await totals({ coupons: [off('once')] })).toEqual([3_000, 3_000, 3_000, 3_000]);
  });

  it('that hold once are used by the first invoice after a trial [D14.92]', async () => {
    expect(await totals({ coupons: [off('once')], trialDays: 30 })).toEqual([2_500, 3_000, 3_000, 3_000]);
  });

  it('that repeat end after their months, and the others stay [D14.92]', async () => {
    expect(await totals({ coupons: [off('repeating', 3)] })).toEqual([2_500, 2_500, 3_000, 3_000]);
    on.at(start);
    expect(await totals({ coupons: [off('forever')] })).toEqual([2_500, 2_500, 2_500, 2_500]);
  });
});

describe('a trial', () => {
  it('is announced three days before it ends, and then charged', async () => {
    const { subscriptionId } = await sell(on, scope, { trialDays: 14 });
    on.at('2026-04-11T23:59:59.999Z');
    await runAll();
    expect(await eventsOf(subscriptionId)).toEqual(['customer.subscription.created']);
    on.at('2026-04-12T00:00:00.000Z');
    await runAll();
    expect(await eventsOf(subscriptionId)).toEqual([
      'customer.subscription.created',
      'customer.subscription.trial_will_end',
    ]);
    on.at('2026-04-15T00:00:00.000Z');
    await runAll();
    expect(await read(subscriptionId)).toMatchObject({
      status: 'active',
      currentPeriodEnd: new Date('2026-05-15T00:00:00.000Z'),
    });
    expect(await renewedOf(subscriptionId)).toMatchObject({ status: 'paid', totalCents: 3_000 });
  });

  it.each([
    ['cancel', 'canceled'],
    ['pause', 'paused'],
    ['create_invoice', 'past_due'],
  ])('that ends without a card does as was agreed: %s', async (missingPaymentMethod, status) => {
    const { subscriptionId } = await sell(on, scope, { trialDays: 14, card: null, missingPaymentMethod });
    on.at('2026-04-15T00:00:00.000Z');
    await runAll();
    expect((await read(subscriptionId)).status).toBe(status);
  });
});

describe('each period is billed exactly once', () => {
  const failpoints = [
    'renewal.resolved',
    'renewal.invoiced',
    'invoice_charge.begun',
    'invoice_charge.answered',
    'invoice_charge.before_commit',
    'invoice_charge.recorded',
  ];
  const twoCards = () => ({ backup: on.peers.card(false), items: [{}, { eligibility: 'not_eligible' }] });

  it.each(failpoints.flatMap((name) => [0, 1].map((skip) => [name, skip] as const)))(
    'though it stops at %s, after %d passes',
    async (name, skip) => {
      const { subscriptionId } = await sell(on, scope, twoCards());
      turnFailpointsOn();
      armFailpoint(name, { action: 'error', skip });
      on.at(may);
      await runAll();
      on.at('2026-05-01T00:02:00.000Z');
      await runAll();
      const invoices = await invoicesOf(subscriptionId);
      expect(invoices).toHaveLength(2);
      expect(invoices[1]).toMatchObject({ status: 'paid', totalCents: 6_000, amountPaidCents: 6_000 });
      expect(takenBy(invoices[1]?.id ?? '')).toBe(6_000);
      const paid = (await eventsOf(invoices[1]?.id ?? '')).filter((type) => type === 'invoice.paid');
      expect(paid).toHaveLength(1);
    },
  );

  it.each(['lost_before', 'lost_after', 'unknown', 'down'] as const)(
    'though the answer to its charge is %s: it is asked again, and does not count as a failure',
    async (fault) => {
      const { subscriptionId, card } = await sell(on, scope, twoCards());
      on.peers.failOn(card, fault);
      on.at(may);
      await runAll();
      expect(await read(subscriptionId)).toMatchObject({ status: 'active', paymentAt: new Date(may) });
      on.at('2026-05-01T00:00:01.000Z');
      await runAll();
      const invoice = await renewedOf(subscriptionId);
      expect(invoice).toMatchObject({ status: 'paid', attempts: 0, firstFailedAt: null });
      expect(takenBy(invoice.id)).toBe(6_000);
      expect(await loadInvoiceCharges(on.database, scope, invoice.id)).toHaveLength(2);
    },
  );

  it('by two instances at once, each of which does a part', async () => {
    const sold = [];
    for (let i = 0; i < 60; i++) sold.push(await sell(on, scope));
    on.at(may);
    const other = on.another();
    const asked = on.peers.asked;
    await Promise.all([runAll(), runAll(other)]);
    await runAll();
    for (const { subscriptionId } of sold) {
      const invoices = await invoicesOf(subscriptionId);
      expect(invoices.map(({ status }) => status)).toEqual(['paid', 'paid']);
      expect(takenBy(invoices[1]?.id ?? '')).toBe(3_000);
    }
    expect(on.peers.asked - asked).toBe(60);
  });

  it('by a process that begins nothing once its hold is over, as behind a slow processor', async () => {
    for (let i = 0; i < 36; i++) await sell(on, scope);
    on.at(may);
    const { checkout } = on.context;
    const chargeInvoice: typeof checkout.chargeInvoice = (...given) => {
      on.at(new Date(new Date(may).getTime() + 61_000));
      return checkout.chargeInvoice(...given);
    };
    const asked = on.peers.asked;
    await runDueSubscriptions({ ...on.context, checkout: { ...checkout, chargeInvoice } });
    // All groups have begun to be renewed. One of them, of four or of sixteen, has asked before the time has passed.
    expect(on.peers.asked - asked).toBeGreaterThan(0);
    expect(on.peers.asked - asked).toBeLessThanOrEqual(16);
    await runAll();
    expect(on.peers.asked - asked).toBe(36);
  });

  it('when an outage of three months is made up, in the order of the periods [D14.93]', async () => {
    const { subscriptionId } = await sell(on, scope);
    on.at('2026-07-15T00:00:00.000Z');
    await runAll();
    const invoices = await invoicesOf(subscriptionId);
    expect(invoices.map(({ periodStart }) => periodStart.toISOString().slice(0, 10))).toEqual([
      '2026-04-01',
      '2026-05-01',
      '2026-06-01',
      '2026-07-01',
    ]);
    expect(invoices.every(({ id, status }, i) => status === 'paid' && (i === 0 || takenBy(id) === 3_000))).toBe(true);
  });
});

it('an account with one due subscription does not wait behind one with hundreds', async () => {
  for (let i = 0; i < 150; i++) await sell(on, scope);
  const single = someScope();
  const { subscriptionId } = await sell(on, single, { at: new Date('2026-04-01T00:00:01.000Z') });
  on.at('2026-05-01T00:00:01.000Z');
  expect(await runDueSubscriptions(on.context)).toBe(true);
  expect((await listInvoices(on.database, single, { limit: 10 }, { subscriptionId, ids: [] })).invoices).toHaveLength(
    2,
  );
  const [left] = await on.test.admin<{ count: string }>(
    'select count(*) from billing.subscriptions where account_id = $1 and work_at <= $2',
    [scope.accountId, on.context.clock.now()],
  );
  expect(Number(left?.count)).toBeGreaterThan(50);
  await runAll();
});

import type { Scope } from '@eligo/postgres';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createSubscription } from '../src/actions/create-subscription.ts';
import { advanceTestClock, createTestClock } from '../src/actions/test-clocks.ts';
import { callOf, type Fixture, openFixture, sell, someScope, start } from './fixture.ts';
import { callsOn, may } from './subscription-calls.ts';

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

const { runAt, read, eventsOf, update, pastDue } = callsOn(
  () => on,
  () => scope,
);
const waits = { code: 'lock_timeout', retryAfterSeconds: 1 };

describe('a card that is given while the last charge before an end is under way', () => {
  /** A past-due subscription whose last try is declined, and that has no answer yet. */
  const lastTry = async () => {
    const sold = await pastDue();
    for (const day of ['02', '04', '06']) await runAt(`2026-05-${day}T00:00:00.000Z`);
    on.peers.failOn(sold.card, 'lost_after');
    await runAt('2026-05-08T00:00:00.000Z');
    expect((await read(sold.subscriptionId)).subscription.status).toBe('past_due');
    return sold;
  };

  it('is refused until the outcome is known, and pays once it is given again: the subscription has not ended [D14.91, D14.116, D14.356]', async () => {
    const { subscriptionId: id, invoiceId, customerId } = await lastTry();
    const card = on.peers.cardOf(customerId, true);
    for (let asked = 0; asked < 2; asked++) {
      await expect(update(id, { defaultPaymentMethodId: card })).rejects.toMatchObject(waits);
    }
    expect((await read(id)).subscription.defaultPaymentMethodId).not.toBe(card);
    // The outcome comes five hours later, by which an hour after the charge is over.
    await runAt('2026-05-08T05:00:00.000Z');
    expect(await read(id)).toMatchObject({
      subscription: { status: 'past_due', paymentAt: new Date('2026-05-08T06:00:00.000Z') },
      invoice: { status: 'open', attempts: 5 },
    });
    expect(await update(id, { defaultPaymentMethodId: card })).toMatchObject({ status: 'active', paymentAt: null });
    expect((await read(id)).invoice).toMatchObject({ status: 'paid', attempts: 5 });
    expect(on.peers.takenOf(invoiceId)).toBe(3_000);
    expect(on.peers.taken.filter((one) => one.invoiceId === invoiceId)).toMatchObject([{ paymentMethodId: card }]);
  });

  it('and is not given again, is not charged: its subscription ends an hour later, after one more try of its own card [D14.356]', async () => {
    const { subscriptionId: id, invoiceId, customerId } = await lastTry();
    const card = on.peers.cardOf(customerId, true);
    await expect(update(id, { defaultPaymentMethodId: card })).rejects.toMatchObject(waits);
    await runAt('2026-05-08T00:00:05.000Z');
    await runAt('2026-05-08T00:59:00.000Z');
    expect((await read(id)).subscription.status).toBe('past_due');
    const { asked } = on.peers;
    await runAt('2026-05-08T01:00:05.000Z');
    expect(on.peers.asked).toBe(asked + 1);
    expect(await read(id)).toMatchObject({
      subscription: { status: 'canceled' },
      invoice: { status: 'uncollectible', attempts: 6 },
    });
    await runAt('2026-06-08T00:00:00.000Z');
    expect(on.peers.takenOf(invoiceId)).toBe(0);
  });

  it('is not waited for where none was given: the subscription ends with the last decline [D14.91]', async () => {
    const { subscriptionId: id } = await lastTry();
    await runAt('2026-05-08T00:00:05.000Z');
    expect((await read(id)).subscription.status).toBe('canceled');
  });

  it('changes nothing of a charge that pays [D14.356]', async () => {
    const { subscriptionId: id, invoiceId, customerId, card } = await pastDue();
    for (const day of ['02', '04', '06']) await runAt(`2026-05-${day}T00:00:00.000Z`);
    on.peers.behave(card, 'pays');
    on.peers.failOn(card, 'lost_after');
    await runAt('2026-05-08T00:00:00.000Z');
    await expect(update(id, { defaultPaymentMethodId: on.peers.cardOf(customerId, true) })).rejects.toMatchObject(
      waits,
    );
    await runAt('2026-05-08T00:00:05.000Z');
    expect((await read(id)).subscription).toMatchObject({ status: 'active', defaultPaymentMethodId: card });
    expect(on.peers.takenOf(invoiceId)).toBe(3_000);
  });

  it('pays the first invoice of a subscription whose 23 hours are over with that charge, within an hour [D14.115, D14.356]', async () => {
    const customerId = on.peers.customer();
    const declining = on.peers.cardOf(customerId, true, 'insufficient_funds');
    const create = async () => {
      const { subscriptionId } = await createSubscription(
        on.context,
        callOf(scope),
        {
          ...{ customerId, items: [{ priceId: on.peers.price(), quantity: 1 }], metadata: {}, prorationBehavior: null },
          ...{ trialEnd: null, trialDays: null, missingPaymentMethod: null, cancelAt: null, cancelAtPeriodEnd: false },
          ...{ discount: { couponId: null, promoCode: null } },
          ...{ defaultPaymentMethodId: declining, backupPaymentMethodId: null },
        },
        { key: `key-${customerId}-${on.peers.asked}`, requestHash: Buffer.alloc(32) },
      );
      return subscriptionId;
    };
    // No answer to any call until the 23 hours are over: of both creations, nor of both requests.
    for (const fault of ['lost_after', 'lost_after', 'unknown', 'unknown'] as const) on.peers.failOn(declining, fault);
    const [given, forgotten] = [await create(), await create()];
    const card = on.peers.cardOf(customerId, true);
    for (const id of [given, forgotten]) {
      await expect(update(id, { defaultPaymentMethodId: card })).rejects.toMatchObject(waits);
    }
    await runAt('2026-04-01T23:00:00.000Z');
    expect((await read(given)).subscription).toMatchObject({
      status: 'incomplete',
      expiresAt: new Date('2026-04-02T00:00:00.000Z'),
    });
    expect(await update(given, { defaultPaymentMethodId: card })).toMatchObject({ status: 'active', expiresAt: null });
    await runAt('2026-04-02T00:00:00.000Z');
    expect((await read(forgotten)).subscription.status).toBe('incomplete_expired');
    for (const [id, cents] of [
      [given, 3_000],
      [forgotten, 0],
    ] as const) {
      expect(on.peers.takenOf((await read(id)).invoice.id)).toBe(cents);
    }
  });

  it('pays the last invoice of a subscription that ends with its period, which ends after that [D14.335, D14.356]', async () => {
    const sellEnding = async () => {
      on.at(start);
      const sold = await sell(on, scope);
      on.at('2026-04-16T00:00:00.000Z');
      const priceId = on.peers.price({ unitAmountCents: 12_000 });
      await update(sold.subscriptionId, { items: [{ priceId, quantity: 1 }] });
      await update(sold.subscriptionId, { cancelAtPeriodEnd: true });
      on.peers.behave(sold.card, 'insufficient_funds');
      on.peers.failOn(sold.card, 'lost_after');
      return sold;
    };
    for (const [behavior, status] of [
      ['pays', 'paid'],
      ['insufficient_funds', 'uncollectible'],
    ] as const) {
      const { subscriptionId: id, customerId } = await sellEnding();
      await runAt(may);
      const card = on.peers.cardOf(customerId, true, behavior);
      expect(await update(id, { defaultPaymentMethodId: card })).toMatchObject({ status: 'active' });
      await runAt('2026-05-01T00:00:05.000Z');
      const { subscription, invoice } = await read(id);
      expect([subscription.status, invoice.status]).toEqual(['canceled', status]);
      expect(on.peers.takenOf(invoice.id)).toBe(behavior === 'pays' ? 4_500 : 0);
      expect((await eventsOf(id)).at(-1)).toBe('customer.subscription.deleted');
    }
  });

  it('has an hour of the test clock, where its subscription lives on one [D14.356]', async () => {
    const clock = await createTestClock(on.context, callOf(scope), { frozenTime: start, name: null });
    const declining = on.peers.card(true, 'insufficient_funds');
    const { subscriptionId: id, customerId } = await sell(on, scope, { testClockId: clock.id, card: declining });
    const advance = (time: string) => advanceTestClock(on.context, callOf(scope), clock.id, new Date(time));
    await advance('2026-05-07T00:00:00.000Z');
    const card = on.peers.cardOf(customerId, true);
    const { checkout } = on.context;
    let refused: Promise<unknown> | undefined;
    const chargeInvoice: typeof checkout.chargeInvoice = async (...given) => {
      refused ??= expect(update(id, { defaultPaymentMethodId: card })).rejects.toMatchObject(waits);
      await refused;
      return checkout.chargeInvoice(...given);
    };
    const context = { ...on.context, checkout: { ...checkout, chargeInvoice } };
    const until = new Date('2026-05-08T00:30:00.000Z');
    await advanceTestClock(context, callOf(scope), clock.id, until);
    await refused;
    expect((await read(id)).subscription).toMatchObject({
      status: 'past_due',
      paymentAt: new Date('2026-05-08T01:30:00.000Z'),
    });
    expect(await update(id, { defaultPaymentMethodId: card })).toMatchObject({ status: 'active' });
  });
});

it('a charge that is under way takes the notes of its cards alone, and none is taken back', async () => {
  const { subscriptionId, card } = await sell(on, scope);
  on.peers.failOn(card, 'lost_after');
  await runAt(may);
  const { invoice } = await read(subscriptionId);
  const change = (text: string) =>
    on.test.admin(`update billing.invoice_charges set ${text} where invoice_id = $1 and status = 'pending'`, [
      invoice.id,
    ]);
  const refused = { constraint: 'invoice_charge_state_table' };
  await expect(change('created_at = created_at')).rejects.toMatchObject(refused);
  await change('awaits_new_card = true');
  await expect(change('awaits_new_card = true')).rejects.toMatchObject(refused);
  await change('card_updated = true');
  await expect(change('awaits_new_card = false')).rejects.toMatchObject(refused);
  await expect(change(`awaits_new_card = false, status = 'declined', settled_at = now()`)).rejects.toMatchObject(
    refused,
  );
});

import type { Scope } from '@eligo/postgres';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createSubscription, type NewSubscription } from '../src/actions/create-subscription.ts';
import { callOf, type Fixture, openFixture, sell, someScope, start } from './fixture.ts';
import { callsOn } from './subscription-calls.ts';

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

const { runAt, read, refundsOf } = callsOn(
  () => on,
  () => scope,
);

const renewal = '2026-05-01T00:00:00.000Z';
const soonAfter = '2026-05-01T00:01:00.000Z';
const nextRenewal = '2026-06-01T00:00:00.000Z';

/** 30.00 on a health card and 9.00 on another card, each month. */
const ofTwoCards = async () => {
  const backup = on.peers.card(false);
  const items = [{}, { unitAmountCents: 900, quantity: 1, eligibility: 'not_eligible' }];
  const sold = await sell(on, scope, { items, backup, receivedCents: 3_900 });
  return { ...sold, backup };
};

describe('a renewal in flight whose customer is deleted', () => {
  it('charges nothing that had not begun, and ends at once [D14.140, D14.288]', async () => {
    const { subscriptionId, customerId, card } = await sell(on, scope);
    on.peers.failOn(card, 'lost_before');
    await runAt(renewal);
    on.peers.deleteCustomer(customerId);
    await runAt(soonAfter);
    await runAt(nextRenewal);
    const { subscription, invoice } = await read(subscriptionId);
    expect([subscription.status, invoice.status]).toEqual(['canceled', 'uncollectible']);
    expect(invoice).toMatchObject({ attempts: 1, failureCode: 'payment_method_not_found' });
    expect(on.peers.takenOf(invoice.id)).toBe(0);
  });

  it('keeps what was charged before, and does not renew again [D14.140, D14.288]', async () => {
    const { subscriptionId, customerId, card } = await sell(on, scope);
    on.peers.failOn(card, 'lost_after');
    await runAt(renewal);
    on.peers.deleteCustomer(customerId);
    await runAt(soonAfter);
    const { subscription, invoice } = await read(subscriptionId);
    expect([subscription.status, invoice.status]).toEqual(['active', 'paid']);
    expect(on.peers.takenOf(invoice.id)).toBe(3_000);
    const { length } = on.peers.taken;
    await runAt(nextRenewal);
    expect((await read(subscriptionId)).subscription).toMatchObject({
      status: 'canceled',
      latestInvoiceId: invoice.id,
    });
    expect(on.peers.taken.length).toBe(length);
    expect(await refundsOf(subscriptionId)).toEqual([]);
  });
});

describe('a second card that waits when its customer is deleted', () => {
  it('is not charged, and what the health card paid is refunded once [D14.140, D14.288]', async () => {
    const { subscriptionId, customerId, backup } = await ofTwoCards();
    on.peers.failOn(backup, 'lost_before');
    await runAt(renewal);
    const { invoice } = await read(subscriptionId);
    expect(invoice).toMatchObject({ status: 'open', amountPaidCents: 3_000, backupChargeStatus: 'pending' });
    on.peers.deleteCustomer(customerId);
    await runAt(soonAfter);
    const ended = await read(subscriptionId);
    expect(ended.invoice).toMatchObject({ backupChargeStatus: 'failed' });
    await runAt(nextRenewal);
    expect([ended.subscription.status, ended.invoice.status]).toEqual(['canceled', 'uncollectible']);
    expect(on.peers.takenOf(invoice.id)).toBe(3_000);
    expect(await refundsOf(subscriptionId)).toMatchObject([{ amountCents: 3_000 }]);
  });

  it('pays where it was charged before, and the subscription does not renew again', async () => {
    const { subscriptionId, customerId, backup } = await ofTwoCards();
    on.peers.failOn(backup, 'lost_after');
    await runAt(renewal);
    on.peers.deleteCustomer(customerId);
    await runAt(soonAfter);
    const { subscription, invoice } = await read(subscriptionId);
    expect([subscription.status, invoice.status]).toEqual(['active', 'paid']);
    await runAt(nextRenewal);
    expect((await read(subscriptionId)).subscription.status).toBe('canceled');
    expect(on.peers.takenOf(invoice.id)).toBe(3_900);
    expect(await refundsOf(subscriptionId)).toEqual([]);
  });

  it('is not begun after a crash between the two cards: the subscription ends, and the first part is refunded [D14.288]', async () => {
    const { subscriptionId, customerId } = await ofTwoCards();
    turnFailpointsOn();
    armFailpoint('invoice_charge.recorded', { action: 'error' });
    try {
      await runAt(renewal);
    } finally {
      turnFailpointsOff();
    }
    expect((await read(subscriptionId)).invoice).toMatchObject({ status: 'open', amountPaidCents: 3_000 });
    on.peers.deleteCustomer(customerId);
    await runAt(soonAfter);
    const { subscription, invoice } = await read(subscriptionId);
    expect([subscription.status, invoice.status]).toEqual(['canceled', 'uncollectible']);
    expect(on.peers.takenOf(invoice.id)).toBe(3_000);
    expect(await refundsOf(subscriptionId)).toMatchObject([{ amountCents: 3_000 }]);
  });
});

describe('a subscription of the API whose customer is deleted', () => {
  const made = async (parts: Partial<NewSubscription>) => {
    const customerId = on.peers.customer();
    const asked: NewSubscription = {
      ...{ customerId, items: [{ priceId: on.peers.price(), quantity: 1 }], defaultPaymentMethodId: null },
      ...{ discount: { couponId: null, promoCode: null }, trialEnd: null, trialDays: null, metadata: {} },
      ...{ missingPaymentMethod: null, cancelAt: null, cancelAtPeriodEnd: false, backupPaymentMethodId: null },
      ...{ prorationBehavior: null, ...parts },
    };
    const { subscriptionId } = await createSubscription(on.context, callOf(scope), { ...asked, customerId }, undefined);
    return { subscriptionId, customerId };
  };

  it.each(['cancel', 'pause', null])(
    'ends with the trial in which a set-up waits, whatever missing_payment_method says: %s [D14.288]',
    async (missingPaymentMethod) => {
      const { subscriptionId, customerId } = await made({ trialDays: 14, missingPaymentMethod });
      const trial = (await read(subscriptionId)).invoice.id;
      on.peers.deleteCustomer(customerId);
      await runAt('2026-04-15T00:00:00.000Z');
      expect((await read(subscriptionId)).subscription).toMatchObject({ status: 'canceled', latestInvoiceId: trial });
      expect(on.peers.setUps.isOver(subscriptionId)).toBe(true);
    },
  );
});

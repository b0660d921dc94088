import { type Scope, withTx } from '@eligo/postgres';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { beforeEach, describe, expect, it } from 'vitest';
import { cancelSubscription } from '../src/actions/cancel-subscription.ts';
import { createSubscription } from '../src/actions/create-subscription.ts';
import { recordSetUp } from '../src/actions/record-set-up.ts';
import { advanceTestClock, createTestClock } from '../src/actions/test-clocks.ts';
import { updateSubscription } from '../src/actions/update-subscription.ts';
import type { Creation } from './awaited-customers.ts';
import { callOf, type Fixture, start } from './fixture.ts';

const secret = 'seti_1_secret_8r';
const trialEnd = '2026-04-15T00:00:00.000Z';

/** Tests of cards that are set up for what a subscription charges later. */
export function setUpCardTests(using: () => Creation): void {
  let on: Fixture;
  let scope: Scope;
  let customerId: string;
  const { inputOf, make, read, runAt, eventsOf, madeCount } = using();
  beforeEach(() => {
    ({ on, scope, customerId } = using());
  });

  describe('a card that pays after a trial', () => {
    const key = { key: 'a-key', requestHash: Buffer.alloc(32) };
    const trial = { trialDays: 14, defaultPaymentMethodId: null };
    const create = (parts: Parameters<typeof inputOf>[0]) =>
      createSubscription(on.context, callOf(scope), inputOf(parts), key);
    /** The customer sets this card up with the secret; checkout says so, or is still to be asked. */
    const setsUp = (id: string, card: string) => on.peers.setUps.save(id, card);
    const hear = (told: ReturnType<typeof setsUp>) =>
      withTx(on.database, scope, (tx) => recordSetUp(on.context, tx, scope, told));
    const change = (id: string, defaultPaymentMethodId: string | null) =>
      updateSubscription(on.context, callOf(scope), id, {
        ...{ discount: { couponId: null, promoCode: null }, clearsDiscounts: false, defaultPaymentMethodId },
        ...{ cancelAtPeriodEnd: undefined, cancelAt: undefined, trialEnd: undefined, metadata: undefined },
        ...{ backupPaymentMethodId: undefined, prorationBehavior: undefined },
      });

    it('is set up with the secret of the response, which a replay reads again and nothing stores [SUB-9, D14.259]', async () => {
      const input = inputOf(trial);
      const made = await createSubscription(on.context, callOf(scope), input, key);
      expect(made).toMatchObject({ status: 'trialing', setupSecret: secret });
      expect(made.paymentSecret).toBeUndefined();
      const again = () => createSubscription(on.context, callOf(scope), input, key);
      expect(await again()).toMatchObject({ subscriptionId: made.subscriptionId, setupSecret: secret });
      for (const table of ['idempotency_keys', 'subscriptions', 'invoices', 'outbox']) {
        const rows = await on.test.admin<{ row: string }>(`select t::text as row from billing.${table} t`);
        const forms = [secret, Buffer.from(secret).toString('hex')];
        expect(rows.filter(({ row }) => forms.some((form) => row.includes(form)))).toEqual([]);
      }
      const card = on.peers.cardOf(customerId, true);
      const told = setsUp(made.subscriptionId, card);
      await hear(told);
      await hear(told);
      expect((await again()).setupSecret).toBeUndefined();
      expect((await read(made.subscriptionId)).subscription).toMatchObject({
        ...{ status: 'trialing', defaultPaymentMethodId: card, paymentAt: null },
      });
      expect(await eventsOf(made.subscriptionId)).toEqual([
        ...['customer.subscription.created', 'customer.subscription.updated'],
      ]);
      await runAt(trialEnd);
      expect(await read(made.subscriptionId)).toMatchObject({
        ...{ subscription: { status: 'active' }, invoice: { status: 'paid', amountPaidCents: 3_000 } },
      });
    });

    it('is set up where the first invoice is too small to be charged, and a change then credits nothing of it [D14.90, D14.259, D14.337]', async () => {
      const made = await create({
        ...{ items: [{ priceId: on.peers.price({ unitAmountCents: 49 }), quantity: 1 }], defaultPaymentMethodId: null },
      });
      expect(made).toMatchObject({ status: 'active', setupSecret: secret });
      const { invoice, subscription } = await read(made.subscriptionId);
      expect(invoice).toMatchObject({ status: 'uncollectible', totalCents: 49, amountPaidCents: 0 });
      expect(subscription.items).toMatchObject([{ invoicedCents: 0, invoicedEligible: false }]);
    });

    it('is asked about at the end of the trial, by the clock too, and charged if its customer was there in time [D14.259]', async () => {
      const clock = await createTestClock(on.context, callOf(scope), { frozenTime: start, name: null });
      const owner = on.peers.customer(clock.id);
      const missing = { missingPaymentMethod: 'cancel' } as const;
      const onClock = await make({ ...trial, ...missing, customerId: owner });
      const onWall = await make({ ...trial, ...missing });
      const cards = [onClock, onWall].map(({ subscriptionId, customerId: of }) => {
        const card = on.peers.cardOf(of ?? '', true);
        setsUp(subscriptionId, card);
        return { subscriptionId, card };
      });
      await advanceTestClock(on.context, callOf(scope), clock.id, new Date(trialEnd));
      await runAt(trialEnd);
      for (const { subscriptionId, card } of cards) {
        const { subscription, invoice } = await read(subscriptionId);
        expect(subscription).toMatchObject({
          ...{ status: 'active', defaultPaymentMethodId: card },
        });
        expect(invoice).toMatchObject({ status: 'paid', amountPaidCents: 3_000 });
      }
    });

    it.each([
      ['cancel', 'canceled'],
      ['pause', 'paused'],
      [null, 'past_due'],
    ])(
      'that nobody set up leaves the end of the trial to missing_payment_method: %s [SUB-9]',
      async (missing, status) => {
        const { subscriptionId: id } = await make({ ...trial, missingPaymentMethod: missing });
        await runAt(trialEnd);
        expect((await read(id)).subscription.status).toBe(status);
        expect(on.peers.setUps.isOver(id)).toBe(true);
        expect((await make({ ...trial })).setupSecret).toBe(secret);
      },
    );

    it('holds the end of the trial while checkout does not say whether it was set up', async () => {
      const { subscriptionId: id } = await make({ ...trial, missingPaymentMethod: 'cancel' });
      on.peers.setUps.isUnknown = true;
      await runAt(trialEnd);
      expect((await read(id)).subscription.status).toBe('trialing');
      on.peers.setUps.isUnknown = false;
      setsUp(id, on.peers.cardOf(customerId, true));
      await runAt('2026-04-15T00:00:16.000Z');
      expect((await read(id)).subscription.status).toBe('active');
    });

    it('pays what is owed if it was set up after the trial', async () => {
      const { subscriptionId: id } = await make(trial);
      await runAt(trialEnd);
      expect((await read(id)).subscription.status).toBe('past_due');
      await hear(setsUp(id, on.peers.cardOf(customerId, true)));
      await runAt('2026-04-15T00:00:01.000Z');
      expect(await read(id)).toMatchObject({ subscription: { status: 'active' }, invoice: { status: 'paid' } });
    });

    it('needs no customer, unless its bank asks or another card takes its place [D14.259]', async () => {
      expect((await make({ trialDays: 14 })).setupSecret).toBeUndefined();
      const asks = on.peers.cardOf(customerId, true, 'asks_bank');
      const { subscriptionId: id, setupSecret } = await make({ trialDays: 14, defaultPaymentMethodId: asks });
      expect(setupSecret).toBe(secret);
      const other = on.peers.cardOf(customerId, true);
      await hear(setsUp(id, other));
      expect((await read(id)).subscription.defaultPaymentMethodId).toBe(other);
    });

    it('gives way to one that the partner names meanwhile, and to the end of the subscription', async () => {
      const { subscriptionId: id } = await make(trial);
      const named = on.peers.cardOf(customerId, true);
      await change(id, named);
      const told = setsUp(id, on.peers.cardOf(customerId, true));
      await hear(told);
      expect((await read(id)).subscription.defaultPaymentMethodId).toBe(named);
      await change(id, null);
      await cancelSubscription(on.context, scope, id, { atPeriodEnd: false, refund: 'none', refundAmountCents: null });
      await hear(told);
      expect((await read(id)).subscription).toMatchObject({ status: 'canceled', defaultPaymentMethodId: null });
    });

    describe.each(['cancel', 'pause'] as const)(
      'that the partner has cleared, with missing_payment_method: %s,',
      (missing) => {
        const ended = { cancel: 'canceled', pause: 'paused' }[missing];
        const expectNothingCharged = async (id: string) => {
          await runAt(trialEnd);
          const { subscription, invoice } = await read(id);
          expect(subscription).toMatchObject({ status: ended, defaultPaymentMethodId: null });
          expect(invoice.amountPaidCents).toBe(0);
        };

        it('stays cleared at the end of the trial, which charges nothing [SUB-9, D14.259]', async () => {
          const input = { ...trial, missingPaymentMethod: missing };
          const { subscriptionId: id } = await create(input);
          const told = setsUp(id, on.peers.cardOf(customerId, true));
          await hear(told);
          await change(id, null);
          await hear(told);
          expect((await create(input)).setupSecret).toBeUndefined();
          await expectNothingCharged(id);
        });

        it('stays cleared if it needed no customer [SUB-9, D14.259]', async () => {
          const { subscriptionId: id } = await make({ trialDays: 14, missingPaymentMethod: missing });
          await change(id, null);
          await expectNothingCharged(id);
        });

        it('stays cleared if its customer authenticates afterwards [SUB-9, D14.259]', async () => {
          const asks = on.peers.cardOf(customerId, true, 'asks_bank');
          const parts = { trialDays: 14, defaultPaymentMethodId: asks, missingPaymentMethod: missing };
          const { subscriptionId: id } = await make(parts);
          await change(id, null);
          await hear(setsUp(id, asks));
          await expectNothingCharged(id);
        });

        it('gives way to another one that the customer sets up afterwards [SUB-9, D14.259]', async () => {
          const asks = on.peers.cardOf(customerId, true, 'asks_bank');
          const parts = { trialDays: 14, defaultPaymentMethodId: asks, missingPaymentMethod: missing };
          const { subscriptionId: id } = await make(parts);
          await change(id, null);
          const other = on.peers.cardOf(customerId, true);
          setsUp(id, other);
          await runAt(trialEnd);
          expect((await read(id)).subscription).toMatchObject({ status: 'active', defaultPaymentMethodId: other });
        });
      },
    );

    it('is told of once if its customer authenticates the card that the subscription has [D14.259]', async () => {
      const asks = on.peers.cardOf(customerId, true, 'asks_bank');
      const { subscriptionId: id } = await make({ trialDays: 14, defaultPaymentMethodId: asks });
      const told = setsUp(id, asks);
      await hear(told);
      await hear(told);
      expect(await eventsOf(id)).toEqual(['customer.subscription.created', 'customer.subscription.updated']);
    });

    it('is set up for a free first period, and not where nothing is charged later [D14.259]', async () => {
      const free = on.peers.coupon({ percentOffBasisPoints: 10_000, duration: 'once' });
      const made = await make({ discount: { couponId: free, promoCode: null }, defaultPaymentMethodId: null });
      expect(made).toMatchObject({ status: 'active', setupSecret: secret });
      const off = (duration: string) =>
        on.peers.coupon({
          percentOffBasisPoints: 10_000,
          duration,
          ...(duration === 'repeating' && { durationInMonths: 2 }),
        });
      for (const duration of ['once', 'repeating']) {
        const parts = { ...trial, discount: { couponId: off(duration), promoCode: null } };
        expect((await make(parts)).setupSecret, duration).toBe(secret);
      }
      const others: Parameters<typeof make>[0][] = [
        { ...trial, items: [{ priceId: on.peers.price({ unitAmountCents: 0 }), quantity: 1 }] },
        { ...trial, cancelAtPeriodEnd: true },
        { ...trial, cancelAt: new Date('2026-04-10T00:00:00.000Z') },
        {},
        { ...trial, discount: { couponId: off('forever'), promoCode: null } },
      ];
      for (const parts of others) expect((await make(parts)).setupSecret).toBeUndefined();
    });

    it('is begun by the next request with the same key if checkout does not answer, or a crash came first', async () => {
      on.peers.setUps.isUnknown = true;
      const made = await create(trial);
      expect(made).toMatchObject({ status: 'trialing' });
      expect(made.setupSecret).toBeUndefined();
      on.peers.setUps.isUnknown = false;
      expect(await create(trial)).toMatchObject({ subscriptionId: made.subscriptionId, setupSecret: secret });
      scope = { ...scope, accountId: `${scope.accountId}2` };
      turnFailpointsOn();
      armFailpoint('subscription.charged', { action: 'error', skip: 0 });
      await create(trial).catch(() => undefined);
      turnFailpointsOff();
      await on.test.admin(
        "update billing.idempotency_keys set lease_until = now() - interval '1 second' where state = 'in_progress'",
      );
      expect(await create(trial)).toMatchObject({ status: 'trialing', setupSecret: secret });
      expect(await madeCount()).toBe(1);
    });
  });
}

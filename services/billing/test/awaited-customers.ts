import { create } from '@bufbuild/protobuf';
import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import type { Subscription as SubscriptionMessage } from '@eligo/proto/billing/v1/billing';
import { ChargeAuthenticatedSchema } from '@eligo/proto/events/v1/events';
import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { newId } from '@eligo/values';
import { beforeEach, describe, expect, it } from 'vitest';
import { cancelSubscription } from '../src/actions/cancel-subscription.ts';
import { createSubscription, type NewSubscription } from '../src/actions/create-subscription.ts';
import { payInvoice } from '../src/actions/pay-invoice.ts';
import { recordAwaited } from '../src/actions/record-awaited.ts';
import { advanceTestClock, createTestClock } from '../src/actions/test-clocks.ts';
import { updateSubscription } from '../src/actions/update-subscription.ts';
import { voidInvoice } from '../src/actions/void-invoice.ts';
import type { Invoice } from '../src/domain/invoice.ts';
import type { Subscription } from '../src/domain/subscription.ts';
import { findPendingCharge } from '../src/store/invoice-charges.ts';
import { callOf, type Fixture, start } from './fixture.ts';

/** What the tests of a creation begin with. */
export interface Creation {
  readonly on: Fixture;
  readonly scope: Scope;
  readonly customerId: string;
  inputOf(parts?: Partial<NewSubscription>): NewSubscription;
  make(parts?: Partial<NewSubscription>): Promise<SubscriptionMessage>;
  read(id: string): Promise<{ subscription: Subscription; invoice: Invoice }>;
  runAt(time: string): Promise<void>;
  eventsOf(...ids: string[]): Promise<string[]>;
  madeCount(): Promise<number>;
}

/** Tests of first payments that wait for a customer whom the bank asks to authenticate. */
export function awaitedCustomerTests(using: () => Creation): void {
  let on: Fixture;
  let scope: Scope;
  let customerId: string;
  const { inputOf, make, read, runAt, eventsOf, madeCount } = using();
  beforeEach(() => {
    ({ on, scope, customerId } = using());
  });

  describe('a first payment whose bank asks for its customer', () => {
    const asking = (healthCard = true) => on.peers.cardOf(customerId, healthCard, 'asks_bank');
    const towel = () => on.peers.price({ unitAmountCents: 900, eligibility: 'not_eligible' });
    const mixed = () => [on.peers.price(), towel()].map((priceId) => ({ priceId, quantity: 1 }));
    const pendingOf = async (id: string) => {
      const { invoice } = await read(id);
      const charge = await findPendingCharge(on.database, scope, invoice.id);
      if (charge === undefined) throw new Error('no pending charge');
      return charge;
    };
    /** Checkout's command, after its customer has answered the bank. */
    const tell = async (subscriptionId: string, outcome: 'succeeded' | 'declined' | 'abandoned') => {
      const { id: operationId, invoiceId } = await pendingOf(subscriptionId);
      const failure = outcome === 'declined' ? { failureCode: 'payment_intent_authentication_failure' } : {};
      const told = create(ChargeAuthenticatedSchema, {
        ...{ operationId, invoiceId, subscriptionId, outcome, paymentIntentId: newId('payment_intent'), ...failure },
      });
      await withTx(on.database, scope, (tx) => recordAwaited(on.context, tx, scope, told));
      return told;
    };
    const key = { key: 'a-key', requestHash: Buffer.alloc(32) };

    it('answers with the secret of that payment, reads it again for a replay, and stores it nowhere [SUB-9, D14.115]', async () => {
      const input = inputOf({ defaultPaymentMethodId: asking() });
      const made = await createSubscription(on.context, callOf(scope), input, key);
      expect(made).toMatchObject({ status: 'incomplete', paymentSecret: 'pi_1_secret_7q' });
      expect(await createSubscription(on.context, callOf(scope), input, key)).toMatchObject({
        paymentSecret: 'pi_1_secret_7q',
      });
      for (const table of ['idempotency_keys', 'subscriptions', 'invoices', 'invoice_charges', 'outbox']) {
        const rows = await on.test.admin<{ row: string }>(`select t::text as row from billing.${table} t`);
        const paymentSecret = made.paymentSecret ?? '';
        const forms = [paymentSecret, Buffer.from(paymentSecret).toString('hex')];
        expect(rows.filter(({ row }) => forms.some((form) => row.includes(form)))).toEqual([]);
      }
      await tell(made.subscriptionId, 'succeeded');
      const replayed = await createSubscription(on.context, callOf(scope), input, key);
      expect(replayed).toMatchObject({ status: 'incomplete' });
      expect(replayed.paymentSecret).toBeUndefined();
    });

    it('becomes active with its events once checkout says that the customer has authenticated, and is asked for a few times before [D14.115]', async () => {
      const { subscriptionId: id } = await make({ defaultPaymentMethodId: asking() });
      const { asked } = on.peers;
      await runAt('2026-04-01T00:04:00.000Z');
      expect(on.peers.asked).toBe(asked);
      for (const [at, times] of [
        ['2026-04-01T00:05:00.000Z', 1],
        ['2026-04-01T00:09:00.000Z', 1],
        ['2026-04-01T00:10:00.000Z', 2],
        ['2026-04-01T12:00:00.000Z', 3],
        ['2026-04-01T22:59:00.000Z', 3],
      ] as const) {
        await runAt(at);
        expect([at, on.peers.asked]).toEqual([at, asked + times]);
      }
      expect((await read(id)).subscription).toMatchObject({ status: 'incomplete', heldUntil: null });
      const told = await tell(id, 'succeeded');
      const { subscription, invoice } = await read(id);
      expect(subscription).toMatchObject({ status: 'active', expiresAt: null, paymentAt: null });
      expect(invoice).toMatchObject({ status: 'paid', paymentIntentId: told.paymentIntentId });
      // The same command again, and the job after it.
      await withTx(on.database, scope, (tx) => recordAwaited(on.context, tx, scope, told));
      await runAt('2026-04-03T00:00:00.000Z');
      expect(await eventsOf(id)).toEqual(['customer.subscription.created', 'customer.subscription.updated']);
      expect(await eventsOf(invoice.id)).toEqual(['invoice.created', 'invoice.finalized', 'invoice.paid']);
    });

    it('is over after 23 hours: the payment is ended at checkout, and then the subscription expires [D14.115]', async () => {
      const card = asking();
      const { subscriptionId: id } = await make({ defaultPaymentMethodId: card });
      await runAt('2026-04-01T23:00:00.000Z');
      const { subscription, invoice } = await read(id);
      expect(subscription).toMatchObject({ status: 'incomplete_expired' });
      expect(invoice).toMatchObject({ status: 'void', failureCode: 'authentication_required' });
      expect(await eventsOf(id, invoice.id)).toEqual([
        ...['customer.subscription.created', 'invoice.created', 'invoice.finalized', 'invoice.payment_failed'],
        ...['invoice.voided', 'customer.subscription.updated'],
      ]);
      expect(on.peers.takenOf(invoice.id)).toBe(0);
    });

    it('is not charged again where its decline comes by the command while it is given up [D14.115]', async () => {
      const { subscriptionId: id } = await make({ defaultPaymentMethodId: asking() });
      const { invoice } = await read(id);
      const checkout = {
        ...on.context.checkout,
        resumeInvoiceAuthentication: async () => {
          await tell(id, 'declined');
          return {};
        },
      } as unknown as Fixture['context']['checkout'];
      const { asked } = on.peers;
      await voidInvoice({ ...on.context, checkout }, callOf(scope), invoice.id);
      expect(on.peers.asked).toBe(asked);
      expect(await read(id)).toMatchObject({
        subscription: { status: 'incomplete_expired' },
        invoice: { status: 'void', attempts: 1 },
      });
    });

    it('keeps the payment of a customer who was faster than the end of the wait', async () => {
      const card = asking();
      const { subscriptionId: id } = await make({ defaultPaymentMethodId: card });
      on.peers.behave(card, 'pays');
      await runAt('2026-04-01T23:00:00.000Z');
      expect((await read(id)).subscription.status).toBe('active');
    });

    it('holds no test clock back, and expires by it', async () => {
      const clock = await createTestClock(on.context, callOf(scope), { frozenTime: start, name: null });
      const owner = on.peers.customer(clock.id);
      const card = on.peers.cardOf(owner, true, 'asks_bank');
      const { subscriptionId: id } = await make({ customerId: owner, defaultPaymentMethodId: card });
      const advance = (time: string) => advanceTestClock(on.context, callOf(scope), clock.id, new Date(time));
      expect(await advance('2026-04-01T22:00:00.000Z')).toMatchObject({ status: 'ready' });
      expect((await read(id)).subscription.status).toBe('incomplete');
      expect(await advance('2026-04-02T00:00:00.000Z')).toMatchObject({ status: 'ready' });
      expect((await read(id)).subscription.status).toBe('incomplete_expired');
    });

    it('charges the other card once the health card is authenticated', async () => {
      const backupPaymentMethodId = on.peers.cardOf(customerId, false);
      const health = asking();
      const made = await make({ items: mixed(), defaultPaymentMethodId: health, backupPaymentMethodId });
      expect(made.paymentSecret).toBe('pi_1_secret_7q');
      await tell(made.subscriptionId, 'succeeded');
      expect((await read(made.subscriptionId)).invoice).toMatchObject({ status: 'open', amountPaidCents: 3_000 });
      await runAt('2026-04-01T00:00:01.000Z');
      expect(await read(made.subscriptionId)).toMatchObject({
        subscription: { status: 'active', defaultPaymentMethodId: health, backupPaymentMethodId },
        invoice: { status: 'paid', amountPaidCents: 3_900, backupChargeStatus: 'succeeded' },
      });
    });

    it('waits for the other card after the health card has paid, and refunds that if nobody comes', async () => {
      const cards = () => ({ items: mixed(), backupPaymentMethodId: asking(false) });
      const paid = await make(cards());
      expect(paid.paymentSecret).toBe('pi_1_secret_7q');
      await tell(paid.subscriptionId, 'succeeded');
      expect(await read(paid.subscriptionId)).toMatchObject({
        subscription: { status: 'active' },
        invoice: { status: 'paid', amountPaidCents: 3_900 },
      });
      on.at(start);
      const left = await make(cards());
      await runAt('2026-04-02T00:00:00.000Z');
      expect(await read(left.subscriptionId)).toMatchObject({
        subscription: { status: 'incomplete_expired' },
        invoice: { status: 'void', amountPaidCents: 3_000 },
      });
      expect(await eventsOf(left.subscriptionId)).toContain('command.refund');
    });

    it('leaves the subscription incomplete with a failed payment if the customer fails at the bank', async () => {
      const { subscriptionId: id } = await make({ defaultPaymentMethodId: asking() });
      await tell(id, 'declined');
      expect(await read(id)).toMatchObject({
        subscription: { status: 'incomplete', paymentAt: null },
        invoice: { status: 'open', attempts: 1, failureCode: 'payment_intent_authentication_failure' },
      });
    });

    it('is asked for again under the same operation if checkout abandoned it', async () => {
      const card = asking();
      const { subscriptionId: id } = await make({ defaultPaymentMethodId: card });
      const { id: operationId } = await pendingOf(id);
      await tell(id, 'abandoned');
      on.peers.behave(card, 'pays');
      await runAt('2026-04-01T00:00:01.000Z');
      expect((await read(id)).subscription.status).toBe('active');
      expect(on.peers.taken.at(-1)).toMatchObject({ operationId, withCustomer: true });
    });

    it.each(['invoice_charge.begun', 'invoice_charge.answered', 'subscription.charged'])(
      'waits after a crash at %s, and the same key answers with the secret',
      async (name) => {
        const input = inputOf({ defaultPaymentMethodId: asking() });
        turnFailpointsOn();
        armFailpoint(name, { action: 'error', skip: 0 });
        const tried = createSubscription(on.context, callOf(scope), input, key);
        await tried.catch((error: unknown) => expect(error).not.toBeInstanceOf(Failure));
        turnFailpointsOff();
        await on.test.admin(
          "update billing.idempotency_keys set lease_until = now() - interval '1 second' where state = 'in_progress'",
        );
        await runAt('2026-04-01T00:01:01.000Z');
        const made = await createSubscription(on.context, callOf(scope), input, key);
        expect(made).toMatchObject({ status: 'incomplete', paymentSecret: 'pi_1_secret_7q' });
        expect(await madeCount()).toBe(1);
        await tell(made.subscriptionId, 'succeeded');
        expect((await read(made.subscriptionId)).subscription.status).toBe('active');
      },
    );

    it('loses no command that comes before the wait is written', async () => {
      const { asked } = on.peers;
      turnFailpointsOn();
      armFailpoint('invoice_charge.answered', { action: 'error', skip: 0 });
      const card = asking();
      const made = await make({ defaultPaymentMethodId: card });
      turnFailpointsOff();
      expect(on.peers.asked).toBe(asked + 1);
      await tell(made.subscriptionId, 'succeeded');
      await runAt('2026-04-01T00:01:01.000Z');
      expect((await read(made.subscriptionId)).subscription).toMatchObject({ status: 'active', paymentAt: null });
      expect(on.peers.asked).toBe(asked + 1);
    });

    it.each<[string, (id: string, invoiceId: string) => Promise<unknown>, object]>([
      [
        'another card',
        (id) =>
          updateSubscription(on.context, callOf(scope), id, {
            ...{ discount: { couponId: null, promoCode: null }, clearsDiscounts: false },
            ...{ cancelAtPeriodEnd: undefined, cancelAt: undefined, trialEnd: undefined, metadata: undefined },
            ...{ backupPaymentMethodId: undefined, prorationBehavior: undefined },
            defaultPaymentMethodId: on.peers.cardOf(customerId, true),
          }),
        { subscription: { status: 'active' }, invoice: { status: 'paid' } },
      ],
      [
        'a payment with another card',
        (_id, invoiceId) => payInvoice(on.context, callOf(scope), invoiceId, on.peers.cardOf(customerId, true)),
        { subscription: { status: 'active' }, invoice: { status: 'paid' } },
      ],
      [
        'a cancellation',
        (id) =>
          cancelSubscription(on.context, scope, id, { atPeriodEnd: false, refund: 'none', refundAmountCents: null }),
        { subscription: { status: 'canceled' }, invoice: { status: 'uncollectible' } },
      ],
      [
        'a void',
        (_id, invoiceId) => voidInvoice(on.context, callOf(scope), invoiceId),
        { subscription: { status: 'incomplete_expired' }, invoice: { status: 'void' } },
      ],
    ])('is given up by %s, and takes no money after it', async (_what, end, after) => {
      const card = asking();
      const { subscriptionId: id } = await make({ defaultPaymentMethodId: card });
      const { invoice } = await read(id);
      await end(id, invoice.id);
      expect(await read(id)).toMatchObject(after);
      expect(on.peers.taken.filter(({ paymentMethodId }) => paymentMethodId === card)).toEqual([]);
    });

    it('is not canceled behind a customer who was faster: the partner decides about a paid subscription', async () => {
      const card = asking();
      const { subscriptionId: id } = await make({ defaultPaymentMethodId: card });
      on.peers.behave(card, 'pays');
      const now = { atPeriodEnd: false, refund: 'none', refundAmountCents: null } as const;
      await expect(cancelSubscription(on.context, scope, id, now)).rejects.toMatchObject({ code: 'lock_timeout' });
      expect(await read(id)).toMatchObject({ subscription: { status: 'active' }, invoice: { status: 'paid' } });
      expect(await cancelSubscription(on.context, scope, id, now)).toMatchObject({ status: 'canceled' });
    });

    it('is not said to need authentication while nobody knows its outcome', async () => {
      const card = on.peers.cardOf(customerId, true);
      for (let time = 0; time < 4; time += 1) on.peers.failOn(card, 'unknown');
      const { subscriptionId: id } = await make({ defaultPaymentMethodId: card });
      const { invoice } = await read(id);
      const refused = payInvoice(on.context, callOf(scope), invoice.id, undefined);
      await expect(refused).rejects.toMatchObject({ code: 'lock_timeout' });
    });

    it('is not paid without its customer: a request says that authentication is required', async () => {
      const { subscriptionId: id } = await make({ defaultPaymentMethodId: asking() });
      const { invoice } = await read(id);
      const refused = payInvoice(on.context, callOf(scope), invoice.id, undefined);
      await expect(refused).rejects.toMatchObject({
        code: 'authentication_required',
        detail: 'The bank waits for the customer to authenticate this payment.',
      });
      // It is asked for again as if nobody had paid.
      const paymentAt = new Date('2026-04-01T00:05:00.000Z');
      expect((await read(id)).subscription).toMatchObject({ status: 'incomplete', paymentAt });
    });

    it('becomes active within minutes if checkout never says so, as a process of the release before does not', async () => {
      const card = asking();
      const { subscriptionId: id } = await make({ defaultPaymentMethodId: card });
      on.peers.behave(card, 'pays');
      await runAt('2026-04-01T00:05:00.000Z');
      const { subscription, invoice } = await read(id);
      expect(subscription).toMatchObject({ status: 'active', expiresAt: null, paymentAt: null });
      expect(invoice).toMatchObject({ status: 'paid' });
      expect(on.peers.takenOf(invoice.id)).toBe(invoice.amountPaidCents);
    });
  });
}

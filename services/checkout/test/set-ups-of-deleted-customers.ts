import { newId } from '@eligo/values';
import { describe, expect, it } from 'vitest';
import { deleteCustomer } from '../src/actions/delete-customer.ts';
import { type SubscriptionToSetUp, setUpSubscription } from '../src/actions/set-up-subscription.ts';
import { findSetupIntent } from '../src/store/setup-intents.ts';
import { findSetUp } from '../src/store/subscription-set-ups.ts';
import type { ChargingFixture } from './charging-fixture.ts';

/** Tests of set-ups that wait for a customer who is deleted meanwhile. */
export function deletedCustomerSetUpTests(using: () => ChargingFixture): void {
  const port = () => using().context.processors.of(using().scope);
  const ask = (of: SubscriptionToSetUp) => setUpSubscription(using().context, using().scope, of);
  const deletes = ({ customerId }: SubscriptionToSetUp) => deleteCustomer(using().context, using().scope, customerId);
  const read = async ({ subscriptionId }: SubscriptionToSetUp) => {
    const setUp = await findSetUp(using().database, using().scope, subscriptionId);
    if (setUp === undefined) throw new Error('no set-up');
    return setUp;
  };
  const intentOf = async (of: SubscriptionToSetUp) =>
    findSetupIntent(using().database, using().scope, (await read(of)).setupIntentId);
  const told = async (of: SubscriptionToSetUp) =>
    using().test.admin("select 1 from checkout.outbox where type = 'command.card.set_up' and aggregate_id = $1", [
      (await read(of)).setupIntentId,
    ]);
  const waiting = async (): Promise<SubscriptionToSetUp> => {
    const { customerId } = await using().card('credit');
    const of = { subscriptionId: newId('subscription'), customerId, paymentMethodId: null };
    return { ...of, expiresInMs: 30 * 24 * 3_600_000, giveUp: false };
  };
  /** The customer gives a card in the browser. */
  const gives = async (of: SubscriptionToSetUp) => {
    const { processorSetupIntentId } = await read(of);
    const key = { idempotencyKey: newId('payment_method') };
    return port().confirmSetupIntent(processorSetupIntentId ?? '', { paymentMethod: 'pm_card_visa' }, key);
  };

  describe('the set-up of a subscription whose customer is deleted', () => {
    it('is canceled at the next look, and the customer can give no card any more [D14.288]', async () => {
      const of = await waiting();
      await ask(of);
      await deletes(of);
      expect(await ask(of)).toEqual({ outcome: 'over' });
      expect(await read(of)).toMatchObject({ status: 'canceled' });
      expect(await intentOf(of)).toMatchObject({ status: 'canceled' });
      expect(await gives(of)).toMatchObject({ kind: 'rejected' });
      expect(await told(of)).toEqual([]);
    });

    it('saves no card that was given before checkout learned of it, and the table refuses it [D14.288]', async () => {
      const of = await waiting();
      await ask(of);
      expect(await gives(of)).toMatchObject({ kind: 'succeeded' });
      await deletes(of);
      const save = using().test.admin(
        `update checkout.subscription_set_ups set status = 'saved', saved_payment_method_id = 'fpm_1' where subscription_id = $1`,
        [of.subscriptionId],
      );
      await expect(save).rejects.toMatchObject({ constraint: 'no_card_saved_for_a_deleted_customer' });
      expect(await ask(of)).toEqual({ outcome: 'over' });
      expect(await read(of)).toMatchObject({ status: 'canceled', savedCardId: null });
      expect(await intentOf(of)).toMatchObject({ status: 'canceled', paymentMethodId: null });
      const cards = 'select id from checkout.payment_methods where customer_id = $1';
      // The card that the fixture made with the customer.
      expect(await using().test.admin(cards, [of.customerId])).toHaveLength(1);
      expect(await told(of)).toEqual([]);
    });

    it.each(['drop_before', 'drop_after'])(
      'is over where the processor had not answered yet: %s [D14.288]',
      async (kind) => {
        const of = await waiting();
        await using().fault({ call: 'setup_intents.create', kind, times: 1 });
        await expect(ask(of)).rejects.toMatchObject({ code: 'service_unavailable' });
        await deletes(of);
        expect(await ask(of)).toEqual({ outcome: 'over' });
        expect(await read(of)).toMatchObject({ status: 'canceled' });
        // Named here or not, none is left open at the processor.
        expect(await using().setUpIntents(of.customerId)).toMatchObject([{ status: 'canceled' }]);
      },
    );

    it('is saved before a deletion at the same moment, or not at all [D14.288]', async () => {
      for (let round = 0; round < 5; round++) {
        const of = await waiting();
        await ask(of);
        await gives(of);
        await Promise.all([ask(of), deletes(of)]);
        const { status, savedCardId } = await read(of);
        expect(['saved', 'canceled']).toContain(status);
        expect(savedCardId !== null).toBe(status === 'saved');
        expect(await told(of)).toHaveLength(status === 'saved' ? 1 : 0);
      }
    });
  });
}

import type { TestCardName } from '@eligo/processor';
import { newId } from '@eligo/values';
import { describe, expect, it } from 'vitest';
import { acceptProcessorEvent } from '../src/actions/accept-processor-event.ts';
import { detachPaymentMethod } from '../src/actions/attach-payment-method.ts';
import { createCustomer } from '../src/actions/create-customer.ts';
import { deleteCustomer } from '../src/actions/delete-customer.ts';
import { type SubscriptionToSetUp, setUpSubscription } from '../src/actions/set-up-subscription.ts';
import type { Context } from '../src/context.ts';
import { setUpStates } from '../src/domain/subscription-set-up.ts';
import { findPaymentMethod } from '../src/store/payment-methods.ts';
import { findSetUp } from '../src/store/subscription-set-ups.ts';
import type { ChargingFixture } from './charging-fixture.ts';
import { aMonthMs, past, setUpSteps } from './set-up-steps.ts';

const unavailable = { code: 'service_unavailable' };

/** Tests of the set-up of the card of a subscription that charges nothing yet. */
export function subscriptionSetUpTests(using: () => ChargingFixture): void {
  const { port, ask, read, intentOf, subscriptionWith, gives, answersBank, told, pass, sweep, hears } =
    setUpSteps(using);
  const isOver = async (of: SubscriptionToSetUp, context?: Context) => {
    await pass(of);
    if (context === undefined) await sweep();
    else await ask(of, {}, context).catch(() => undefined);
  };
  const secret = expect.stringMatching(/^seti_.*_secret_/);
  /** The actions, and the set-up intents that the processor has made. */
  const noting = () => {
    const made = new Set<string>();
    const context = using().contextWith((at) => ({
      async createSetupIntent(input, call) {
        const answer = await at.createSetupIntent(input, call);
        if ('setupIntentId' in answer) made.add(answer.setupIntentId);
        return answer;
      },
    }));
    return { made, context };
  };

  describe('the card of a subscription that charges nothing yet', () => {
    it('is given by its customer with a secret, becomes a payment method of theirs once, and billing is told once [SUB-9, D14.259]', async () => {
      const { made, context } = noting();
      const of = await subscriptionWith();
      const first = await ask(of, {}, context);
      expect(first).toEqual({ outcome: 'waits', clientSecret: secret });
      expect(await ask(of, {}, context)).toEqual(first);
      expect(made.size).toBe(1);
      expect(await intentOf(of)).toMatchObject({ status: 'requires_payment_method', paymentMethodId: null });
      await gives(of, 'hsa');
      const { processorSetupIntentId: objectId = null } = await read(of);
      const event = {
        processor: 'sandbox',
        eventId: newId('event'),
        type: 'setup_intent.succeeded',
        createdAt: new Date(),
      };
      await acceptProcessorEvent(context, using().scope, { ...event, objectId: objectId ?? '' });
      await sweep();
      const { savedCardId } = await read(of);
      const saved = { outcome: 'saved', paymentMethodId: savedCardId, namedCardId: null };
      expect(await findPaymentMethod(using().database, using().scope, savedCardId ?? '')).toMatchObject({
        ...{ customerId: of.customerId, offSession: true, detachedAt: null, card: { hsaFsa: true } },
      });
      expect(await intentOf(of)).toMatchObject({ status: 'succeeded', paymentMethodId: savedCardId });
      // The event again, a poll, and the request again.
      await acceptProcessorEvent(context, using().scope, { ...event, objectId: objectId ?? '' });
      await isOver(of);
      expect(await ask(of)).toEqual(saved);
      expect(await told(of)).toMatchObject([{ subscriptionId: of.subscriptionId, paymentMethodId: savedCardId }]);
    });

    it('is set up in live mode as in test mode, each mode by itself', async () => {
      const live = { ...using().scope, testMode: false };
      const { customerId } = await createCustomer(using().context, live, {
        ...{ firstName: null, lastName: null, email: null, phone: null, employer: null, shipping: null, metadata: {} },
        testClockId: null,
      });
      const of = { subscriptionId: newId('subscription'), customerId, expiresInMs: aMonthMs, giveUp: false };
      const asked = { ...of, paymentMethodId: null };
      expect(await setUpSubscription(using().context, live, asked)).toEqual({ outcome: 'waits', clientSecret: secret });
      expect(await findSetUp(using().database, using().scope, of.subscriptionId)).toBeUndefined();
      const { processorSetupIntentId: id } = (await findSetUp(using().database, live, of.subscriptionId)) ?? {};
      const input = { paymentMethod: 'pm_card_visa' };
      await using()
        .context.processors.of(live)
        .confirmSetupIntent(id ?? '', input, { idempotencyKey: 'live card' });
      expect(await setUpSubscription(using().context, live, asked)).toMatchObject({ outcome: 'saved' });
    });

    it('is learned of without an event [D14.259]', async () => {
      const of = await subscriptionWith();
      await ask(of);
      await gives(of, 'credit');
      await sweep();
      expect(await read(of)).toMatchObject({ status: 'waiting' });
      await isOver(of);
      expect(await read(of)).toMatchObject({ status: 'saved' });
    });

    it('needs no customer where its bank asks for none, and nothing where it was set up before [D14.259]', async () => {
      const of = await subscriptionWith('credit');
      expect(await ask(of)).toMatchObject({ outcome: 'saved', paymentMethodId: of.paymentMethodId });
      expect(await told(of)).toEqual([]);
      const next = { ...of, subscriptionId: newId('subscription') };
      expect(await ask(next)).toEqual({ outcome: 'over' });
      await expect(read(next)).rejects.toThrow('no set-up');
    });

    it.each<[string, TestCardName]>([
      ['whose bank asks', 'authentication_required'],
      ['that is declined', 'declined'],
    ])('%s waits for its customer, who may give another one [D14.259]', async (_case, card) => {
      const of = await subscriptionWith(card);
      const waits = await ask(of);
      expect(waits).toEqual({ outcome: 'waits', clientSecret: secret });
      if (card === 'authentication_required') {
        expect(await intentOf(of)).toMatchObject({ status: 'processing', paymentMethodId: of.paymentMethodId });
        await answersBank(of, false);
      }
      expect(await ask(of)).toEqual(waits);
      expect(await intentOf(of)).toMatchObject({ status: 'requires_payment_method' });
      await gives(of, 'debit');
      await isOver(of);
      const { savedCardId } = await read(of);
      expect(savedCardId).not.toBe(of.paymentMethodId);
      expect(await told(of)).toMatchObject([
        { paymentMethodId: savedCardId, namedPaymentMethodId: of.paymentMethodId },
      ]);
    });

    it('whose bank asks is set up once its customer has authenticated [D14.259]', async () => {
      const of = await subscriptionWith('authentication_required');
      await ask(of);
      await answersBank(of, true);
      await isOver(of);
      expect(await read(of)).toMatchObject({ status: 'saved', savedCardId: of.paymentMethodId });
      expect(await told(of)).toMatchObject([{ paymentMethodId: of.paymentMethodId }]);
    });

    it.each([
      ['setup_intents.create', 'drop_before'],
      ['setup_intents.create', 'drop_after'],
      ['setup_intents.create', 'error_before'],
      ['setup_intents.confirm', 'drop_after'],
      ['setup_intents.confirm', 'error_before'],
      ['setup_intents.retrieve', 'drop_before'],
    ])('has one set-up intent whatever becomes of %s: %s [D14.259]', async (call, kind) => {
      const { made, context } = noting();
      const of = await subscriptionWith('authentication_required');
      await using().fault({ call, kind, times: 1 });
      await ask(of, {}, context).catch((error) => expect(error).toMatchObject(unavailable));
      // The job goes on with it, and so does the same request.
      await isOver(of, context);
      expect(await ask(of, {}, context)).toEqual({ outcome: 'waits', clientSecret: secret });
      expect(made.size).toBe(1);
    });

    it('has one set-up intent of several requests at once [D14.259]', async () => {
      const { made, context } = noting();
      const of = await subscriptionWith();
      await Promise.allSettled([1, 2, 3].map(() => ask(of, {}, context)));
      expect(await ask(of, {}, context)).toEqual({ outcome: 'waits', clientSecret: secret });
      expect(made.size).toBe(1);
    });

    it.each<[string, (of: SubscriptionToSetUp) => Promise<unknown>]>([
      ['its subscription has ended', (of) => hears(of, 'canceled').then(() => isOver(of))],
      [
        'its subscription has another card',
        (of) => hears(of, 'trialing', newId('payment_method')).then(() => isOver(of)),
      ],
      ['the first period is over', (of) => ask(of, { giveUp: true })],
      ['its time is over', (of) => pass(of, `next_check_at = ${past}, expires_at = ${past}`).then(() => sweep())],
    ])('is not set up any more once %s [D14.259]', async (_case, end) => {
      const of = await subscriptionWith();
      await ask(of);
      await end(of);
      expect(await read(of)).toMatchObject({ status: 'canceled' });
      expect(await intentOf(of)).toMatchObject({ status: 'canceled' });
      expect(await gives(of, 'credit')).toMatchObject({ kind: 'rejected' });
      await isOver(of);
      expect(await ask(of)).toEqual({ outcome: 'over' });
      expect(await told(of)).toEqual([]);
    });

    it.each(['drop_after', 'error_before', 'drop_before'])(
      'is not set up any more whatever becomes of the cancellation: %s [D14.259]',
      async (kind) => {
        const of = await subscriptionWith();
        await ask(of);
        await using().fault({ call: 'setup_intents.cancel', kind, times: 1 });
        await hears(of, 'canceled');
        // A due time is kept in whole milliseconds, rounded: what is due now may not be due yet.
        await pass(of);
        await sweep();
        await isOver(of);
        expect(await read(of)).toMatchObject({ status: 'canceled' });
      },
    );

    it.each<[string, (of: SubscriptionToSetUp) => Promise<unknown>]>([
      ['whose customer was deleted', (of) => deleteCustomer(using().context, using().scope, of.customerId)],
      [
        'whose card was detached',
        (of) => detachPaymentMethod(using().context, using().scope, of.paymentMethodId ?? ''),
      ],
    ])('%s while its set-up intent had no name here is canceled all the same [D14.273]', async (_case, goes) => {
      const of = await subscriptionWith('credit');
      await using().fault({ call: 'setup_intents.create', kind: 'drop_after', times: 1 });
      await expect(ask(of)).rejects.toMatchObject(unavailable);
      await goes(of);
      expect(await ask(of, { giveUp: true })).toEqual({ outcome: 'over' });
      expect(await read(of)).toMatchObject({ status: 'canceled' });
      expect(await using().setUpIntents(of.customerId)).toMatchObject([{ status: 'canceled' }]);
    });

    it('of a customer who was deleted is not confirmed any more, whoever looks [D14.273]', async () => {
      const of = await subscriptionWith('credit');
      await using().fault({ call: 'setup_intents.create', kind: 'drop_before', times: 1 });
      await expect(ask(of)).rejects.toMatchObject(unavailable);
      await deleteCustomer(using().context, using().scope, of.customerId);
      await isOver(of);
      expect(await read(of)).toMatchObject({ status: 'canceled' });
      expect(await using().setUpIntents(of.customerId)).toMatchObject([{ status: 'canceled' }]);
    });

    it('is over if its customer was deleted before the processor knew of them [D14.273]', async () => {
      const of = await subscriptionWith();
      await using().fault({ call: 'customers.create', kind: 'drop_before', times: 1 });
      await expect(ask(of)).rejects.toMatchObject(unavailable);
      await deleteCustomer(using().context, using().scope, of.customerId);
      expect(await ask(of, { giveUp: true })).toEqual({ outcome: 'over' });
      expect(await using().setUpIntents(of.customerId)).toEqual([]);
    });

    it('is canceled although the processor repeats a refusal of a moment in which it worked on the card [D14.273]', async () => {
      const of = await subscriptionWith();
      await ask(of);
      const refused = new Set<string>();
      const context = using().contextWith((at) => ({
        async cancelSetupIntent(id, call) {
          if (refused.size === 0) refused.add(call.idempotencyKey);
          if (!refused.has(call.idempotencyKey)) return at.cancelSetupIntent(id, call);
          return { kind: 'rejected', status: 400, code: 'setup_intent_unexpected_state', param: undefined };
        },
      }));
      await expect(ask(of, { giveUp: true }, context)).rejects.toMatchObject(unavailable);
      expect(await ask(of, { giveUp: true }, context)).toEqual({ outcome: 'over' });
      expect(await using().setUpIntents(of.customerId)).toMatchObject([{ status: 'canceled' }]);
    });

    it('goes on under the next key where another release has used one with other parameters [D14.273]', async () => {
      const of = await subscriptionWith();
      const context = using().contextWith((at) => ({
        async createSetupIntent(input, call) {
          if (!call.idempotencyKey.includes(':0:')) return at.createSetupIntent(input, call);
          return { kind: 'rejected', status: 400, code: 'idempotency_error', param: undefined };
        },
      }));
      expect(await ask(of, {}, context)).toEqual({ outcome: 'waits', clientSecret: secret });
    });

    it('is saved where its customer was faster than the end [D14.259]', async () => {
      const of = await subscriptionWith();
      await ask(of);
      await gives(of, 'credit');
      expect(await ask(of, { giveUp: true })).toMatchObject({ outcome: 'saved' });
      expect(await told(of)).toHaveLength(1);
    });

    it.each([false, true])(
      'is canceled at once if it was detached before checkout learned of it, with giveUp: %s [D14.259]',
      async (giveUp) => {
        const of = await subscriptionWith('credit');
        const cardId = of.paymentMethodId ?? '';
        const unnamed = { ...of, paymentMethodId: null };
        await ask(unnamed);
        const card = await findPaymentMethod(using().database, using().scope, cardId);
        const { processorSetupIntentId } = await read(of);
        const input = { paymentMethod: card?.processorPaymentMethodId ?? '' };
        const key = { idempotencyKey: newId('payment_method') };
        const confirmed = await port().confirmSetupIntent(processorSetupIntentId ?? '', input, key);
        expect(confirmed).toMatchObject({ kind: 'succeeded' });
        await detachPaymentMethod(using().context, using().scope, cardId);
        expect(await ask(unnamed, { giveUp })).toEqual({ outcome: 'over' });
        expect(await read(of)).toMatchObject({ status: 'canceled', savedCardId: null });
        expect(await intentOf(of)).toMatchObject({ status: 'canceled' });
        expect(await told(of)).toEqual([]);
      },
    );

    const refusing = (status: number, code: string) =>
      using().contextWith(() => ({
        retrievePaymentMethod: async () => ({ kind: 'rejected' as const, status, code, param: undefined }),
      }));

    it.each([
      [400, 'payment_method_invalid'],
      [404, 'resource_missing'],
    ])('is canceled at once if the processor has it no more: %i %s [D14.259]', async (status, code) => {
      const of = await subscriptionWith();
      await ask(of);
      await gives(of, 'credit');
      expect(await ask(of, {}, refusing(status, code))).toEqual({ outcome: 'over' });
      expect(await read(of)).toMatchObject({ status: 'canceled' });
    });

    it('waits until its time is over while the processor refuses Eligo’s own key [D14.259]', async () => {
      const of = await subscriptionWith();
      await ask(of);
      await gives(of, 'credit');
      const context = refusing(401, 'api_key_expired');
      await expect(ask(of, { giveUp: true }, context)).rejects.toMatchObject(unavailable);
      expect(await read(of)).toMatchObject({ status: 'waiting' });
      await pass(of, `expires_at = ${past}`);
      expect(await ask(of, { giveUp: true }, context)).toEqual({ outcome: 'over' });
    });

    it('leaves the end of the period unknown while the processor works on it [D14.259]', async () => {
      const of = await subscriptionWith();
      await ask(of);
      await gives(of, 'credit');
      const context = using().contextWith((at) => ({
        async retrieveSetupIntent(id, call) {
          const answer = await at.retrieveSetupIntent(id, call);
          return answer.kind === 'succeeded' ? { ...answer, kind: 'processing' } : answer;
        },
      }));
      expect(await ask(of, {}, context)).toEqual({ outcome: 'waits', clientSecret: secret });
      await expect(ask(of, { giveUp: true }, context)).rejects.toMatchObject(unavailable);
      expect(await ask(of, { giveUp: true })).toMatchObject({ outcome: 'saved' });
    });

    it('goes on waiting when its subscription changes otherwise, or is heard of with the same card', async () => {
      const named = await subscriptionWith('authentication_required');
      const unnamed = await subscriptionWith();
      for (const one of [named, unnamed]) await ask(one);
      await hears(named, 'trialing', named.paymentMethodId ?? '');
      await hears(unnamed, 'trialing');
      for (const one of [named, unnamed])
        expect(await read(one)).toMatchObject({ status: 'waiting', isGivenUp: false });
    });

    it('is begun neither by an end nor for a card that is gone', async () => {
      const of = await subscriptionWith('credit');
      expect(await ask(of, { giveUp: true })).toEqual({ outcome: 'over' });
      await detachPaymentMethod(using().context, using().scope, of.paymentMethodId ?? '');
      expect(await ask(of)).toEqual({ outcome: 'over' });
      expect(await ask(of, { customerId: newId('customer') })).toEqual({ outcome: 'over' });
      await expect(read(of)).rejects.toThrow('no set-up');
    });

    it('the table allows the moves of the state table, and no other', async () => {
      const of = await subscriptionWith();
      await ask(of);
      const { states } = setUpStates;
      for (const from of states) {
        for (const to of states) {
          const card = (status: string) => (status === 'saved' ? `'fpm_1'` : 'null');
          const moves = using().test.admin(
            `do $$ begin
               alter table checkout.subscription_set_ups disable trigger guard_subscription_set_up;
               update checkout.subscription_set_ups set status = '${from}', saved_payment_method_id = ${card(from)} where subscription_id = '${of.subscriptionId}';
               alter table checkout.subscription_set_ups enable trigger guard_subscription_set_up;
               update checkout.subscription_set_ups set status = '${to}', saved_payment_method_id = ${card(to)} where subscription_id = '${of.subscriptionId}';
             end $$`,
          );
          if (from === to || setUpStates.canMove(from, to)) await moves;
          else await expect(moves, `${from} to ${to}`).rejects.toThrow('a set-up does not move');
        }
      }
      await using().test.admin(
        `do $$ begin
           alter table checkout.subscription_set_ups disable trigger guard_subscription_set_up;
           update checkout.subscription_set_ups set status = 'waiting', saved_payment_method_id = null where subscription_id = '${of.subscriptionId}';
           alter table checkout.subscription_set_ups enable trigger guard_subscription_set_up;
         end $$`,
      );
      for (const change of [
        "processor_setup_intent_id = 'seti_2'",
        "payment_method_id = 'fpm_2'",
        "setup_intent_id = 'fsi_2'",
      ]) {
        await expect(pass(of, change)).rejects.toThrow('stays what it is');
      }
      await expect(pass(of, "status = 'saved'")).rejects.toThrow('saved_has_its_card');
    });
  });
}

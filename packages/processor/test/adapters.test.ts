import { startSandbox } from '@eligo/sandbox';
import { newId } from '@eligo/values';
import { describe, expect, onTestFinished, test } from 'vitest';
import { captureParts } from '../src/capture-references.ts';
import { openProcessors, type ProcessorPort } from '../src/index.ts';
import { newHome, newKey } from './support.ts';

/** The adapter of each processor on a sandbox's server: that of Stripe sends nothing outside of Stripe's dialect. */
async function openAdapter(name: 'sandbox' | 'stripe'): Promise<ProcessorPort> {
  const key = 'sk_live_port';
  const bank = await startSandbox({ home: newHome(), host: '127.0.0.1', port: 0, secretKey: key });
  onTestFinished(() => bank.stop());
  const processors = openProcessors(
    name === 'sandbox'
      ? { ELIGO_SANDBOX_URL: bank.url, ELIGO_SANDBOX_KEY: key }
      : { STRIPE_SECRET_KEY: key, STRIPE_ACCOUNTS: '{"facct_test":"acct_connected"}' },
    { stripeUrl: bank.url },
  );
  onTestFinished(() => processors.close());
  return processors.of({ accountId: 'facct_test', testMode: name === 'sandbox' });
}

// What each adapter does where processors differ: a new one is another name.
describe('an adapter of the port', () => {
  test.each(['sandbox', 'stripe'] as const)(
    'a refund at %s names the captures that it draws from, and takes of none more than it took where refunds are by capture [D14.238]',
    async (name) => {
      const port = await openAdapter(name);
      const token = await port.createPaymentMethod({ token: 'tok_visa' }, newKey());
      if (token.kind !== 'found') throw new Error(token.kind);
      const made = await port.createIntent(
        {
          ...{ attemptId: 'att_1', amountCents: 1_000, capture: 'manual', metadata: {} },
          paymentMethod: token.paymentMethodId,
        },
        newKey(),
      );
      if (made.kind !== 'created') throw new Error(made.kind);
      const { intentId } = made;
      await port.confirmIntent(intentId, { offSession: false, isHold: true }, newKey());
      const first = { captureId: 'fcap_1', amountCents: 300, finalCapture: false };
      const replayed = newKey();
      for (const _ of [1, 2])
        expect(await port.captureIntent(intentId, first, replayed)).toMatchObject({ amountReceivedCents: 300 });
      const last = { captureId: 'fcap_2', amountCents: 500, finalCapture: true };
      const done = await port.captureIntent(intentId, last, newKey());
      // A reference of a capture is no metadata of the intent.
      expect(done).toMatchObject({ kind: 'succeeded', amountReceivedCents: 800, metadata: { attempt: 'att_1' } });
      expect(done).not.toHaveProperty('metadata.sandbox_capture');

      const refund = (refundId: string, amountCents: number, parts: Record<string, number>, key = newKey()) => {
        const captures = Object.entries(parts).map(([captureId, part]) => ({ captureId, amountCents: part }));
        return port.createRefund({ refundId, intentId, amountCents, captures }, key);
      };
      const key = newKey();
      const given = await refund('fre_1', 400, { fcap_1: 250, fcap_2: 150 }, key);
      expect(given).toMatchObject({ kind: 'succeeded', amountCents: 400 });
      expect(await refund('fre_1', 400, { fcap_1: 250, fcap_2: 150 }, key)).toEqual(given);
      const beyond = [
        await refund('fre_2', 51, { fcap_1: 51 }),
        await refund('fre_3', 50, { fcap_none: 50 }),
        await refund('fre_4', 50, { fcap_1: 40, fcap_2: 40 }),
      ].map((outcome) => outcome.kind);
      if (!port.refundsByCapture) return expect(beyond).toEqual(['succeeded', 'succeeded', 'succeeded']);
      expect(beyond).toEqual(['rejected', 'rejected', 'rejected']);
      expect((await refund('fre_5', 50, { fcap_1: 50 })).kind).toBe('succeeded');
      expect((await refund('fre_6', 1, { fcap_1: 1 })).kind).toBe('rejected');
      // A refund that fails gives each capture its part back.
      if (given.kind === 'succeeded') await port.testBank?.failRefund(given.refundId);
      expect((await refund('fre_7', 250, { fcap_1: 250 })).kind).toBe('succeeded');
      return expect((await refund('fre_8', 500, { fcap_2: 500 })).kind).toBe('succeeded');
    },
  );

  test('a refund names as many captures as a session can have [D14.238]', () => {
    const captures = Array.from({ length: 50 }, (_, at) => ({
      captureId: newId('capture'),
      amountCents: 99_999_900 + at,
    }));
    const texts = captureParts({ refundId: 'fre_1', intentId: 'pi_1', amountCents: 1, captures });
    const longest = Math.max(...Object.values(texts).map((text) => text.length));
    expect(longest).toBeLessThanOrEqual(500);
    const named = Object.values(texts).flatMap((text) => text.split(','));
    expect(named).toEqual(captures.map(({ captureId, amountCents }) => `${captureId}=${amountCents}`));
  });

  test.each(['sandbox', 'stripe'] as const)(
    'a card that is saved at %s has a mandate, which charges without its owner name, and no other card’s [D14.239]',
    async (name) => {
      const port = await openAdapter(name);
      const customer = await port.createCustomer({}, newKey());
      if (customer.kind !== 'found') throw new Error(customer.kind);
      const newMethod = async () => {
        const made = await port.createPaymentMethod({ token: 'tok_visa' }, newKey());
        if (made.kind !== 'found') throw new Error(made.kind);
        return made.paymentMethodId;
      };
      const pay = async (
        paymentMethod: string,
        input: { keepsCardFor?: 'on_session' | 'off_session'; offSession: boolean; mandate?: string },
      ) => {
        const { keepsCardFor, offSession, mandate } = input;
        const keepsCard = keepsCardFor === 'off_session';
        const made = await port.createIntent(
          {
            ...{ attemptId: 'att_1', amountCents: 1_000, capture: 'automatic', metadata: {} },
            ...{ customer: customer.customerId, paymentMethod, keepsCardFor },
          },
          newKey(),
        );
        if (made.kind !== 'created') throw new Error(made.kind);
        return port.confirmIntent(made.intentId, { paymentMethod, offSession, keepsCard, mandate }, newKey());
      };
      const [paid, setUp] = await Promise.all([newMethod(), newMethod()]);
      const kept = await pay(paid, { keepsCardFor: 'off_session', offSession: false });
      const agreement = { mandateId: expect.stringMatching(/^mandate_/), networkTransactionId: expect.any(String) };
      expect(kept).toMatchObject({ kind: 'succeeded', agreement });
      const input = { customer: customer.customerId, paymentMethod: setUp };
      const created = await port.createSetupIntent(input, newKey());
      if (created.kind !== 'confirmable') throw new Error(created.kind);
      expect(created.agreement).toBeUndefined();
      const saved = await port.confirmSetupIntent(created.setupIntentId, {}, newKey());
      expect(saved).toMatchObject({ kind: 'succeeded', agreement: { mandateId: agreement.mandateId } });
      const mandates = [kept, saved].map((one) => (one.kind === 'succeeded' ? one.agreement?.mandateId : undefined));
      expect(await port.retrieveSetupIntent(created.setupIntentId)).toMatchObject({
        agreement: { mandateId: mandates[1] },
      });
      expect(await pay(paid, { offSession: true, mandate: mandates[0] ?? '' })).toMatchObject({ kind: 'succeeded' });
      expect(await pay(setUp, { offSession: true, mandate: mandates[0] ?? '' })).toMatchObject({
        kind: 'rejected',
        code: 'payment_intent_mandate_invalid',
      });
      // A card that is kept for its owner’s own payments has none: its owner has agreed to no other charge.
      const onSession = await pay(await newMethod(), { keepsCardFor: 'on_session', offSession: false });
      expect(onSession).toMatchObject({ kind: 'succeeded' });
      expect(onSession).not.toHaveProperty('agreement.mandateId');
      // With its owner there a charge needs no mandate, and names none.
      expect(await pay(setUp, { offSession: false, mandate: mandates[0] ?? '' })).toMatchObject({ kind: 'succeeded' });
    },
  );
});

import type { SetupOutcome } from '@eligo/processor';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { attachPaymentMethod, detachPaymentMethod } from '../src/actions/attach-payment-method.ts';
import { completeSession } from '../src/actions/complete-session.ts';
import { createCustomer } from '../src/actions/create-customer.ts';
import { createTestPaymentMethod } from '../src/actions/create-test-payment-method.ts';
import type { Context } from '../src/context.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { loadSession } from '../src/store/sessions.ts';
import { findSetupIntent, listSetupIntents } from '../src/store/setup-intents.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { setUpCrashTests } from './set-up-crashes.ts';
import { deletedCustomerSetUpTests } from './set-ups-of-deleted-customers.ts';
import { subscriptionSetUpTests } from './subscription-set-ups.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());
afterEach(() => fixture.clearFaults());

const unavailable = { code: 'service_unavailable' };
const setUp = (session: Session, card: PaymentMethod, context: Context) =>
  completeSession(context, fixture.scope, {
    ...{ sessionId: session.id, paymentMethodIds: [card.id], shippingDetails: null },
  });

// The keys that the processor was asked under, by call.
function noted(): { context: Context; keys: string[] } {
  const keys: string[] = [];
  const note = async (key: string, answer: Promise<SetupOutcome>) => {
    keys.push(key.split(':').slice(2).join(' '));
    return answer;
  };
  const context = fixture.contextWith((port) => ({
    createSetupIntent: (input, call) => note(call.idempotencyKey, port.createSetupIntent(input, call)),
    confirmSetupIntent: (id, input, call) => note(call.idempotencyKey, port.confirmSetupIntent(id, input, call)),
  }));
  return { context, keys };
}

async function setupSession(): Promise<{ session: Session; card: PaymentMethod }> {
  const card = await fixture.card('credit');
  return { card, session: await fixture.session({ mode: 'setup', lines: [], customerId: card.customerId }) };
}

describe('a customer and their card at the processor', () => {
  const unowned = async () => {
    const method = await createTestPaymentMethod(fixture.context, fixture.scope, {
      ...{ customerId: null, card: 'hsa', cardLoc: [], offSession: true },
    });
    const customer = await createCustomer(fixture.context, fixture.scope, {
      ...{ firstName: null, lastName: null, email: null, phone: null, employer: null, shipping: null, metadata: {} },
      testClockId: null,
    });
    return { method, customerId: customer.customerId };
  };
  const needs = () => ({ ...fixture.context, processors: fixture.context.processors });
  const attach = ({ method, customerId }: Awaited<ReturnType<typeof unowned>>) =>
    attachPaymentMethod(needs(), fixture.scope, method.id, customerId);

  it.each(['customers.create', 'payment_methods.attach'])(
    'are not kept apart for a day by an error of %s that the processor has stored',
    async (call) => {
      const pair = await unowned();
      await fixture.fault({ call, kind: 'error_before', times: 1 });
      await expect(attach(pair)).rejects.toMatchObject(unavailable);
      expect(await attach(pair)).toMatchObject({ customerId: pair.customerId });
    },
  );

  it.each(['error_before', 'error_after'])('are parted again whatever the processor has stored: %s', async (kind) => {
    const pair = await unowned();
    await attach(pair);
    await fixture.fault({ call: 'payment_methods.detach', kind, times: 1 });
    await detachPaymentMethod(needs(), fixture.scope, pair.method.id).catch(() => undefined);
    const parted = await detachPaymentMethod(needs(), fixture.scope, pair.method.id);
    expect(parted).toMatchObject({ customerId: null, detachedAt: expect.any(Date) });
  });

  it('are not reported as incompatible when the processor refuses Eligo’s own key', async () => {
    const pair = await unowned();
    const { processors } = fixture.contextWith(() => ({
      attachPaymentMethod: async () => ({ kind: 'rejected', code: 'api_key_expired', status: 401, param: undefined }),
    }));
    await expect(
      attachPaymentMethod({ ...needs(), processors }, fixture.scope, pair.method.id, pair.customerId),
    ).rejects.toMatchObject(unavailable);
    expect(await attach(pair)).toMatchObject({ customerId: pair.customerId });
  });

  it('are together when the error came after it was done', async () => {
    const pair = await unowned();
    await fixture.fault({ call: 'payment_methods.attach', kind: 'error_after', times: 1 });
    expect(await attach(pair)).toMatchObject({ customerId: pair.customerId });
  });
});

describe('a card that is set up', () => {
  it.each(['setup_intents.create', 'setup_intents.confirm'])(
    'does not wait a day for an error of %s that the processor has stored: the next request moves on to a new key [D14.33]',
    async (call) => {
      const { session, card } = await setupSession();
      const { context, keys } = noted();
      await fixture.fault({ call, kind: 'error_before', times: 1 });
      await expect(setUp(session, card, context)).rejects.toMatchObject(unavailable);
      expect(await setUp(session, card, context)).toMatchObject({ status: 'complete' });
      expect(keys.at(-1)).toBe('1 confirm');
      expect(keys.filter((key) => key === '0 create')).toHaveLength(2);
    },
  );

  it.each(['drop_before', 'drop_after', 'in_progress'])(
    'is asked for again under the same key when nobody knows what became of it: %s [D14.33]',
    async (kind) => {
      const { session, card } = await setupSession();
      const { context, keys } = noted();
      await fixture.fault({ call: 'setup_intents.confirm', kind, times: 1 });
      await expect(setUp(session, card, context)).rejects.toMatchObject(unavailable);
      expect(await setUp(session, card, context)).toMatchObject({ status: 'complete' });
      expect(keys).toEqual(['0 create', '0 confirm', '0 create', '0 confirm']);
    },
  );

  it('says why its bank declined it [D14.374]', async () => {
    const { session } = await setupSession();
    expect((await setUp(session, await fixture.card('insufficient_funds'), fixture.context)).nextAction).toMatchObject({
      ...{ type: 'payment_failed', errorCode: 'card_declined', declineCode: 'insufficient_funds' },
    });
  });

  it('is the one that its set-up intent names, whichever another request has begun to set up meanwhile', async () => {
    const { session, card } = await setupSession();
    const other = await fixture.card('declined');
    const context = fixture.contextWith((port) => ({
      confirmSetupIntent: async (...call) => {
        await setUp(session, other, fixture.context);
        return port.confirmSetupIntent(...call);
      },
    }));
    const done = await setUp(session, card, context);
    expect(done.status).toBe('complete');
    expect(await findSetupIntent(fixture.database, fixture.scope, done.setupIntentId ?? '')).toMatchObject({
      status: 'succeeded',
      paymentMethodId: card.id,
    });
  });

  it.each([
    ['api_key_expired', 401],
    ['idempotency_error', 400],
  ])('is not refused for trouble of our own, %s: an operator mends that', async (code, status) => {
    const { session, card } = await setupSession();
    const refused = async () => ({ kind: 'rejected' as const, code, status, param: undefined });
    for (const change of [{ createSetupIntent: refused }, { confirmSetupIntent: refused }]) {
      const context = fixture.contextWith(() => change);
      await expect(setUp(session, card, context)).rejects.toMatchObject(unavailable);
    }
    expect((await loadSession(fixture.database, fixture.scope, session.id))?.nextAction).toBeNull();
    expect(await setUp(session, card, fixture.context)).toMatchObject({ status: 'complete' });
  });

  it('continues from the last key after several stored errors, and not from the first', async () => {
    const { session, card } = await setupSession();
    const { context, keys } = noted();
    // A replayed answer uses up one of them, too.
    await fixture.fault({ call: 'setup_intents.create', kind: 'error_before', times: 3 });
    for (let round = 0; round < 2; round++) {
      await expect(setUp(session, card, context)).rejects.toMatchObject(unavailable);
    }
    expect(await setUp(session, card, context)).toMatchObject({ status: 'complete' });
    expect(keys).toEqual(['0 create', '0 create', '1 create', '1 create', '2 create', '2 confirm']);
  });
});

describe('the two cards of a set-up', () => {
  const both = (session: Session, cards: readonly PaymentMethod[], context = fixture.context) =>
    completeSession(context, fixture.scope, {
      ...{ sessionId: session.id, paymentMethodIds: cards.map(({ id }) => id), slots: ['health', 'other'] },
      shippingDetails: null,
    });
  const lostAnswer = { kind: 'unknown', reason: 'timeout', mayHaveHappened: true, replayed: false } as const;
  const intentsOf = async ({ customerId }: Session) =>
    (await listSetupIntents(fixture.database, fixture.scope, { limit: 10 }, customerId ?? '')).setupIntents.map(
      ({ id, status, paymentMethodId }) => ({ id, status, paymentMethodId }),
    );
  async function cardsAndSession() {
    const health = await fixture.card('hsa');
    const other = await fixture.card('credit');
    return {
      health,
      other,
      session: await fixture.session({ mode: 'setup', lines: [], customerId: health.customerId }),
    };
  }

  it('are both saved, each with a set-up intent of its own; the session names the first one’s [D14.173]', async () => {
    const { health, other, session } = await cardsAndSession();
    const done = await both(session, [health, other]);
    expect(done).toMatchObject({ status: 'complete', nextAction: null });
    expect(await intentsOf(done)).toEqual([
      { id: expect.any(String), status: 'succeeded', paymentMethodId: other.id },
      { id: done.setupIntentId, status: 'succeeded', paymentMethodId: health.id },
    ]);
    expect(await fixture.told(session)).toMatchObject({ 'checkout.session.completed': 1 });
  });

  it('are not complete with one alone: a declined second card leaves the session open for another [D14.173]', async () => {
    const { health, other, session } = await cardsAndSession();
    const open = await both(session, [health, await fixture.card('declined')]);
    expect(open).toMatchObject({ status: 'open', completedAt: null, nextAction: { type: 'payment_failed' } });
    const { context, keys } = noted();
    expect(await both(session, [health, other], context)).toMatchObject({ status: 'complete' });
    // The first one was set up already.
    expect(keys).toEqual(['0 create', '0 confirm']);
    expect((await intentsOf(session)).map(({ status }) => status)).toEqual(['succeeded', 'succeeded']);
  });

  it('are saved once each when the processor’s answer for the second one is lost [D14.173]', async () => {
    const { health, other, session } = await cardsAndSession();
    const lost = fixture.contextWith((port) => ({
      confirmSetupIntent: async (id, input, call) => {
        const outcome = await port.confirmSetupIntent(id, input, call);
        return input.paymentMethod === other.processorPaymentMethodId ? lostAnswer : outcome;
      },
    }));
    await expect(both(session, [health, other], lost)).rejects.toMatchObject(unavailable);
    expect(await loadSession(fixture.database, fixture.scope, session.id)).toMatchObject({ status: 'open' });
    const { context, keys } = noted();
    expect(await both(session, [health, other], context)).toMatchObject({ status: 'complete' });
    expect(keys).toEqual(['0 create', '0 confirm']);
    expect(await intentsOf(session)).toHaveLength(2);
  });

  it('are one card where the same is given twice [D14.173]', async () => {
    const { health, session } = await cardsAndSession();
    expect(await both(session, [health, health])).toMatchObject({ status: 'complete' });
    expect(await intentsOf(session)).toHaveLength(1);
  });
});

subscriptionSetUpTests(() => fixture);
deletedCustomerSetUpTests(() => fixture);
describe('a set-up of a subscription makes one set-up intent, wherever its process dies and whatever answer is lost [D14.273]', () =>
  setUpCrashTests(() => fixture));

import { withTx } from '@eligo/postgres';
import { withRequestContext } from '@eligo/rpc';
import { createLogger } from '@eligo/service';
import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import { confirmSession } from '../src/actions/confirm-session.ts';
import { deleteCustomer } from '../src/actions/delete-customer.ts';
import { cancelSession, expireSession } from '../src/actions/end-session.ts';
import { takePaymentLocks } from '../src/store/payment-locks.ts';
import { loadSessionLines } from '../src/store/session-lines.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line, shortBudgets, start } from './fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

const refusal = (code: string) => expect.objectContaining({ code });

describe('a confirm that charges', () => {
  it('charges exactly the eligible part, once, and completes the session [CONF-2, D1.7]', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    const answer = await fixture.confirm(session, card);
    expect(answer.session).toMatchObject({
      status: 'complete',
      amountReceivedCents: 4_000n,
      amountTotalCents: 10_000n,
    });
    expect(answer.paymentIntent).toMatchObject({ status: 'succeeded', amountReceivedCents: 4_000n });
    expect(await fixture.charges(session)).toMatchObject([
      { amount: 4_000, amount_captured: 4_000, status: 'succeeded' },
    ]);
  });

  it('notes which lines the card paid, and leaves the others uncaptured', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    await fixture.confirm(session, card);
    const lines = await loadSessionLines(fixture.database, fixture.scope, session.id);
    expect(lines.map((one) => one.amountCapturedCents)).toEqual([4_000, 0]);
  });

  it('charges what was split at creation, whatever the catalog says since [CONF-2]', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.session({
      lines: [line({ unitAmount: 1_000, class: 'vision' })],
      customerId: card.customerId,
    });
    await fixture.confirm(session, card);
    expect(await fixture.charges(session)).toMatchObject([{ amount: 1_000 }]);
  });

  it('writes the state change and its events in one transaction', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    const { paymentIntent } = await fixture.confirm(session, card);
    const events = await fixture.test.admin<{ type: string }>(
      'select type from checkout.outbox where aggregate_id = any($1) order by event_id',
      [[session.id, paymentIntent?.paymentIntentId, paymentIntent?.latestChargeId]],
    );
    expect(events.map((event) => event.type)).toEqual(
      expect.arrayContaining([
        'payment_intent.created',
        'payment_intent.succeeded',
        'charge.succeeded',
        'checkout.session.completed',
      ]),
    );
  });

  it('charges nothing below 50 cents: 200, complete, payment_intent null [CONF-3, LIM-3]', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.session({
      lines: [line({ unitAmount: 49, class: 'vision' }), line({ unitAmount: 500 })],
      customerId: card.customerId,
    });
    const answer = await fixture.confirm(session, card);
    expect(answer.session?.status).toBe('complete');
    expect(answer.paymentIntent).toBeUndefined();
    expect(await fixture.charges(session)).toEqual([]);
  });

  it('charges exactly 50 cents, which is the least that the processor takes', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.session({
      lines: [line({ unitAmount: 50, class: 'vision' }), line({ unitAmount: 500 })],
      customerId: card.customerId,
    });
    expect((await fixture.confirm(session, card)).session?.amountReceivedCents).toBe(50n);
  });

  it('only holds the money while a letter is pending [D14.1]', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.session({
      lines: [line({ unitAmount: 3_000, class: 'letter_of_medical_necessity' })],
      customerId: card.customerId,
    });
    const answer = await fixture.confirm(session, card);
    expect(answer.session).toMatchObject({ status: 'paid', amountReceivedCents: 0n });
    expect(answer.session?.nextAction?.type).toBe('collect_letter_of_medical_necessity');
    expect(await fixture.charges(session)).toMatchObject([{ amount: 3_000, amount_captured: 0 }]);
  });
});

describe('a charge that the processor calls malformed', () => {
  it('is a decline to the partner, and an error in the log that names the attempt and nothing of the card [D14.18]', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    await fixture.test.admin(
      "update checkout.payment_methods set processor_payment_method_id = 'pm_gone' where id = $1",
      [card.id],
    );
    const lines: string[] = [];
    const logger = createLogger({ service: 'checkout', destination: { write: (text) => lines.push(text) } });
    const context = { ...fixture.context, logger };
    const request = { sessionId: session.id, paymentMethodId: card.id, captureMethod: null, expand: [], features: [] };
    await expect(
      confirmSession(context, fixture.scope, { ...request, key: 'malformed', requestHash: Buffer.alloc(32) }),
    ).rejects.toMatchObject({ code: 'card_declined', declineCode: 'processing_error' });
    const [attempt] = await fixture.test.admin<{ id: string; payment_intent_id: string }>(
      'select id, payment_intent_id from checkout.charge_attempts where subject_id = $1',
      [session.id],
    );
    const logged = lines.map((text) => JSON.parse(text)).find(({ level }) => level === 'error');
    expect(logged).toMatchObject({ attemptId: attempt?.id, paymentIntentId: attempt?.payment_intent_id });
  });
});

describe('a decline', () => {
  it("is a line in the log with the partner's request id, the session and the processor's code [D14.220]", async () => {
    const card = await fixture.card('declined');
    const session = await fixture.mixedSession(card);
    const lines: string[] = [];
    const logger = createLogger({ service: 'checkout', destination: { write: (text) => lines.push(text) } });
    const request = { sessionId: session.id, paymentMethodId: card.id, captureMethod: null, expand: [], features: [] };
    const confirmed = withRequestContext({ requestId: 'freq_of_the_partner' }, () =>
      confirmSession({ ...fixture.context, logger }, fixture.scope, {
        ...{ ...request, key: 'logged', requestHash: Buffer.alloc(32) },
      }),
    );
    await expect(confirmed).rejects.toMatchObject({ code: 'card_declined' });
    expect(lines.map((text) => JSON.parse(text))).toEqual([
      expect.objectContaining({
        ...{ level: 'info', msg: 'Card was declined', requestId: 'freq_of_the_partner', recordId: session.id },
        ...{ accountId: fixture.scope.accountId, code: 'card_declined', declineCode: 'generic_decline' },
      }),
    ]);
  });
});

describe('the same key', () => {
  it('answers the same bytes, also with records expanded that have changed since', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    const first = await fixture.confirm(session, card, { key: 'same', expand: ['customer'] });
    await deleteCustomer(fixture.context, fixture.scope, card.customerId);
    const second = await fixture.confirm(session, card, { key: 'same', expand: ['customer'] });
    expect({ ...second, replayed: false }).toEqual(first);
    expect(second.replayed).toBe(true);
    expect(await fixture.charges(session)).toHaveLength(1);
  });

  it('is refused for another request: 409 idempotency_key_reused', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    await fixture.confirm(session, card, { key: 'reused' });
    await expect(fixture.confirm(session, card, { key: 'reused', requestHash: Buffer.alloc(32) })).rejects.toThrow(
      refusal('idempotency_key_reused'),
    );
  });

  it('replays a decline, which is terminal for the key and not for the session [CONF-5]', async () => {
    const declined = await fixture.card('declined');
    const session = await fixture.mixedSession(declined);
    for (const _ of [1, 2]) {
      await expect(fixture.confirm(session, declined, { key: 'declined' })).rejects.toMatchObject({
        code: 'card_declined',
        declineCode: 'generic_decline',
        status: 402,
      });
    }
    const good = await fixture.card('hsa', { customerId: declined.customerId });
    expect((await fixture.confirm(session, good)).session?.status).toBe('complete');
  });

  it('is 503 idempotency_key_in_use while its request is in flight', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    const [asked, answered] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const waiting = fixture.contextWith((port) => ({
      async confirmIntent(...call) {
        asked.resolve();
        await answered.promise;
        return port.confirmIntent(...call);
      },
    }));
    const first = fixture.confirm(session, card, { key: 'in flight' }, waiting);
    await asked.promise;
    await expect(fixture.confirm(session, card, { key: 'in flight' })).rejects.toThrow(
      refusal('idempotency_key_in_use'),
    );
    answered.resolve();
    expect((await first).session?.status).toBe('complete');
  });
});

describe('every refusal', () => {
  it('404 checkout_session_not_found', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    await expect(fixture.confirm({ ...session, id: newId('checkout_session') }, card)).rejects.toThrow(
      refusal('checkout_session_not_found'),
    );
  });

  it('400 checkout_session_already_processed, expired, canceled', async () => {
    const card = await fixture.card('hsa');
    const [done, expired, canceled, late] = await Promise.all([1, 2, 3, 4].map(() => fixture.mixedSession(card)));
    if (!done || !expired || !canceled || !late) throw new Error('four sessions');
    await fixture.confirm(done, card);
    await expireSession(fixture.context, fixture.scope, expired.id);
    await cancelSession(fixture.context, fixture.scope, canceled.id);
    await expect(fixture.confirm(done, card)).rejects.toThrow(refusal('checkout_session_already_processed'));
    await expect(fixture.confirm(expired, card)).rejects.toThrow(refusal('checkout_session_expired'));
    await expect(fixture.confirm(canceled, card)).rejects.toThrow(refusal('checkout_session_canceled'));
    fixture.clock.set(new Date(start.getTime() + 25 * 3_600_000));
    await expect(fixture.confirm(late, card)).rejects.toThrow(refusal('checkout_session_expired'));
    fixture.clock.set(start);
  });

  it('404 eligibility_record_not_found for a session without lines', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.session({ mode: 'setup', lines: [], customerId: card.customerId });
    await expect(fixture.confirm(session, card)).rejects.toThrow(refusal('eligibility_record_not_found'));
  });

  it('404 food_eligibility_not_enabled once the account has lost the feature', async () => {
    const card = await fixture.card('hsa');
    const food = line({ unitAmount: 900, class: 'auto_substantiation', rule: 'food_policy', ruleVersion: '1' });
    const session = await fixture.session({ lines: [food], customerId: card.customerId });
    await expect(fixture.confirm(session, card)).rejects.toThrow(refusal('food_eligibility_not_enabled'));
    const features = ['food_eligibility'];
    expect((await fixture.confirm(session, card, { features })).session?.status).toBe('complete');
  });

  it('409 eligibility_record_already_charged while the page holds the health leg', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    await completeSession(fixture.context, fixture.scope, {
      sessionId: session.id,
      paymentMethodIds: [card.id],
      shippingDetails: null,
    });
    await expect(fixture.confirm(session, card)).rejects.toThrow(refusal('eligibility_record_already_charged'));
  });

  it('404 payment_method_not_found for an unknown card and for another customer’s [D14.17]', async () => {
    const [card, stranger] = await Promise.all([fixture.card('hsa'), fixture.card('hsa')]);
    const session = await fixture.mixedSession(card);
    const unknown = { ...card, id: newId('payment_method') };
    await expect(fixture.confirm(session, unknown)).rejects.toThrow(refusal('payment_method_not_found'));
    await expect(fixture.confirm(session, stranger)).rejects.toThrow(refusal('payment_method_not_found'));
  });

  it('404 customer_not_found when the customer was deleted since creation', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    await deleteCustomer(fixture.context, fixture.scope, card.customerId);
    await expect(fixture.confirm(session, card)).rejects.toThrow(refusal('customer_not_found'));
  });

  it('422 payment_method_not_off_session, 422 manual_capture_not_supported', async () => {
    const card = await fixture.card('hsa', { offSession: false });
    const session = await fixture.mixedSession(card);
    await expect(fixture.confirm(session, card)).rejects.toThrow(refusal('payment_method_not_off_session'));
    await expect(fixture.confirm(session, card, { captureMethod: 'manual' })).rejects.toThrow(
      refusal('manual_capture_not_supported'),
    );
  });

  it.each([
    ['insufficient_funds', 'card_declined', 'insufficient_funds'],
    ['authentication_required', 'authentication_required', 'authentication_required'],
    ['expired_card', 'card_declined', 'expired_card'],
  ])('402 for the card %s', async (name, code, declineCode) => {
    const card = await fixture.card(name);
    const session = await fixture.mixedSession(card);
    await expect(fixture.confirm(session, card)).rejects.toMatchObject({ status: 402, code, declineCode });
    expect((await loadSession(fixture.database, fixture.scope, session.id))?.status).toBe('open');
  });

  it('503 lock_timeout while another charge holds the customer, and leaves nothing behind', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    await withTx(fixture.database, fixture.scope, (tx) =>
      takePaymentLocks(tx, fixture.scope, {
        attemptId: 'another',
        customerId: card.customerId,
        paymentMethodId: card.id,
        leaseMs: 60_000,
      }),
    );
    const hurried = { ...fixture.context, budgets: shortBudgets };
    await expect(fixture.confirm(session, card, { key: 'held' }, hurried)).rejects.toThrow(refusal('lock_timeout'));
    const left = await fixture.test.admin('select 1 from checkout.charge_attempts where subject_id = $1', [session.id]);
    expect(left).toEqual([]);
  });
});

describe('at once', () => {
  it('12 sessions of one customer with one card each have their turn', async () => {
    const card = await fixture.card('hsa');
    const sessions = await Promise.all(Array.from({ length: 12 }, () => fixture.mixedSession(card)));
    const patient = { ...fixture.context, budgets: { ...fixture.context.budgets, answerMs: 30_000 } };
    const answers = await Promise.all(sessions.map((session) => fixture.confirm(session, card, {}, patient)));
    expect(answers.map(({ session }) => session?.status)).toEqual(sessions.map(() => 'complete'));
    for (const session of sessions) expect(await fixture.charges(session)).toHaveLength(1);
  });

  it.each([
    ['one key', () => 'one'],
    ['16 keys', (index: number) => `key ${index}`],
  ])('16 confirms with %s charge once, five rounds', async (name, keyOf) => {
    for (let round = 0; round < 5; round++) {
      const card = await fixture.card('hsa');
      const session = await fixture.mixedSession(card);
      const answers = await Promise.allSettled(
        Array.from({ length: 16 }, (_, index) =>
          fixture.confirm(session, card, { key: `${name} ${keyOf(index)} ${round}` }),
        ),
      );
      expect(answers.filter((answer) => answer.status === 'fulfilled').length).toBeGreaterThanOrEqual(1);
      for (const answer of answers) {
        if (answer.status === 'rejected') {
          expect(['lock_timeout', 'idempotency_key_in_use', 'checkout_session_already_processed']).toContain(
            answer.reason.code,
          );
        }
      }
      expect(await fixture.charges(session)).toHaveLength(1);
    }
  });
});

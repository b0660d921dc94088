import { openProcessors } from '@eligo/processor';
import { waitUntil } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { booksAgree } from '../src/books.ts';
import { type Cart, newCart, openRunningShop, type RunningShop, shortBudgets } from '../src/crashes/running-shop.ts';
import { type Json, record, records } from '../src/records.ts';
import { newCard } from '../src/shop.ts';

// The payment ends at the failpoint only if the sweep does not take it over first, also where the processor answers after two seconds.
const budgets = {
  ...shortBudgets,
  ELIGO_CHARGE_CALL_MS: '4000',
  ELIGO_CHARGE_MARGIN_MS: '2000',
  ELIGO_CHARGE_LEASE_MS: '8000',
};

describe('a hold that is gone when the other card has paid', () => {
  let running: RunningShop;
  beforeAll(async () => {
    running = await openRunningShop('in-process', budgets);
  }, 120_000);
  afterAll(() => running?.eligo.stop(), 60_000);

  const sessionOf = async ({ sessionId }: Cart) =>
    record(await running.api.ok('GET', `/v1/checkout/sessions/${sessionId}`), 'checkout_session');

  it('cancels the session, refunds the other card, and publishes both events', { timeout: 120_000 }, async () => {
    const cart = await newCart(running);
    const rest = cart.totalCents - cart.eligibleCents;
    await payUntilTheCapture(running, cart);
    expect(await sessionOf(cart)).toMatchObject({ status: 'open', amount_received: rest });
    await cancelHold(running, cart);

    const session = await waitUntil(
      async () => {
        const now = await sessionOf(cart);
        return now.amount_refunded === rest && now;
      },
      { withinMs: 60_000, everyMs: 100, what: 'the refund of what was received' },
    );
    expect(session).toMatchObject({ status: 'canceled', next_action: null, amount_received: rest });
    await booksAgree(running.eligo);

    const [refundId] = session.refunds as string[];
    const { refund } = (await running.api.ok('GET', `/v1/refunds/${refundId}`)) as { refund: Json };
    expect(refund).toMatchObject({ amount: rest, status: 'succeeded', reason: 'payment_incomplete' });
    const given = records(await running.eligo.sandbox('GET', '/sandbox/refunds'), 'data');
    expect(given.filter(({ amount }) => amount === rest)).toHaveLength(1);

    const once = ['checkout.session.expired', 'checkout.session.refunded', 'payment_intent.canceled', 'refund.created'];
    const told = await waitUntil(
      async () => {
        const types = records(await running.api.ok('GET', '/v1/events?limit=100'), 'events').map(
          (event) => event.event_type,
        );
        return once.every((type) => types.includes(type)) && types;
      },
      { withinMs: 30_000, what: 'the events' },
    );
    for (const type of once) {
      expect(told.filter((one) => one === type)).toHaveLength(1);
    }
    expect(told).not.toContain('checkout.session.completed');

    const metrics = await (await fetch(`${running.eligo.adminOf('checkout')}/metrics`)).text();
    for (const name of ['charge_attempts_in_doubt', 'payment_plans_waiting', 'hold_operations_waiting']) {
      expect(metrics).toContain(`eligo_${name}{service="checkout"} 0\n`);
    }
  });
});

// Both cards are given; the process fails when the health card's hold is to be captured.
async function payUntilTheCapture({ eligo, api }: RunningShop, cart: Cart): Promise<void> {
  const second = await newCard(api, cart.customer, 'credit');
  await eligo.armFailpoint('checkout', 'plan.hold_decided', { action: 'error' });
  const answer = await api.post(`/v1/test_helpers/checkout/sessions/${cart.sessionId}/complete`, {
    checkout_session: { payment_method: cart.card, second_payment_method: second },
  });
  expect(answer.status).toBe(500);
}

async function cancelHold({ eligo }: RunningShop, cart: Cart): Promise<void> {
  const [hold] = await eligo.database.admin<{ account_id: string; processor_intent_id: string }>(
    "select account_id, processor_intent_id from checkout.charge_attempts where subject_id = $1 and leg = 'health'",
    [cart.sessionId],
  );
  if (hold === undefined) throw new Error('there is no hold');
  const { url, key } = eligo.processor;
  const processors = openProcessors({ ELIGO_SANDBOX_URL: url, ELIGO_SANDBOX_KEY: key });
  try {
    const processor = processors.of({ accountId: hold.account_id, testMode: true });
    const canceled = await processor.cancelIntent(hold.processor_intent_id, { idempotencyKey: cart.sessionId });
    expect(canceled.kind).toBe('canceled');
  } finally {
    processors.close();
  }
}

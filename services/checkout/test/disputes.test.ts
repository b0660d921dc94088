import { cents, newId } from '@eligo/values';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import { recordDispute } from '../src/actions/record-dispute.ts';
import { reserveRefund } from '../src/actions/reserve-refund.ts';
import type { RefundInstruction } from '../src/domain/refund-allocation.ts';
import type { Session } from '../src/domain/session.ts';
import { intentMessage } from '../src/messages/intents.ts';
import { listCharges } from '../src/store/charges.ts';
import { findChargeAtProcessor } from '../src/store/disputes.ts';
import { findIntent } from '../src/store/payment-intents.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

// 40.00 on a health card, 60.00 on another.
async function paidSession() {
  const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
  const made = await fixture.mixedSession(hsa);
  const session = await completeSession(fixture.context, fixture.scope, {
    sessionId: made.id,
    paymentMethodIds: [hsa.id, credit.id],
    shippingDetails: null,
  });
  const [health] = await fixture.test.admin<{ processor_intent_id: string; payment_intent_id: string }>(
    `select processor_intent_id, payment_intent_id from checkout.charge_attempts where subject_id = $1 and leg = 'health'`,
    [session.id],
  );
  if (health === undefined) throw new Error('The health card was not charged');
  return { session, intent: health.processor_intent_id, paymentIntentId: health.payment_intent_id };
}

const tell = (intent: string, held: number, options: { id?: string; amount?: number; seq?: bigint } = {}) =>
  recordDispute(fixture.context, fixture.scope, intent, {
    disputeId: options.id ?? newId('dispute'),
    amountCents: cents(options.amount ?? held),
    heldCents: cents(held),
    seq: options.seq ?? 1n,
  });
const reserve = ({ id }: Session, instruction: Partial<RefundInstruction> = {}) =>
  reserveRefund(fixture.context, fixture.scope, {
    ...{ refundId: newId('refund'), sessionId: id, paymentIntentId: null, features: [], preview: false },
    instruction: { entries: [], methods: [], ...instruction },
  });
async function eligibleEntry({ id }: Session, paymentIntentId: string, amount: number) {
  const [line] = await fixture.test.admin<{ price_id: string }>(
    'select price_id from checkout.session_lines where session_id = $1 and payment_intent_id = $2',
    [id, paymentIntentId],
  );
  return { priceId: line?.price_id ?? '', amount: cents(amount) };
}
const reload = ({ id }: Session) => loadSession(fixture.database, fixture.scope, id);
const exceeds = { code: 'refund_amount_exceeds_remaining' };

it('holds its amount against new refunds, of the session and of its card, and frees it when it is won [D14.124]', async () => {
  const { session, intent, paymentIntentId } = await paidSession();
  const id = newId('dispute');
  const { charge, isBeyondReceived } = await tell(intent, 3_000, { id });
  expect(isBeyondReceived).toBe(false);
  expect(await reload(session)).toMatchObject({ amountDisputedCents: 3_000, disputeIds: [id] });
  const held = await findIntent(fixture.database, fixture.scope, paymentIntentId);
  expect(held && intentMessage(fixture.scope, held)).toMatchObject({ amountDisputedCents: 3_000n });
  const { charges } = await listCharges(fixture.database, fixture.scope, { limit: 1 }, paymentIntentId);
  expect(charges).toMatchObject([{ id: charge.chargeId, disputed: true }]);
  const found = await findChargeAtProcessor(fixture.database, fixture.scope, charge.chargeId);
  expect(found).toMatchObject({ sessionId: session.id, processorChargeId: expect.stringMatching(/^ch_/) });

  await expect(reserve(session, { amount: cents(7_002) })).rejects.toMatchObject(exceeds);
  const entries = [await eligibleEntry(session, paymentIntentId, 1_001)];
  await expect(reserve(session, { entries })).rejects.toMatchObject(exceeds);
  // All that remains: what the dispute does not hold of its card, and the whole of the other.
  const all = await reserve(session);
  expect(Object.fromEntries(all.cards.map((card) => [card.intent.id === paymentIntentId, card.amountCents]))).toEqual({
    true: 1_000,
    false: 6_000,
  });
  await expect(reserve(session, { amount: cents(1) })).rejects.toMatchObject(exceeds);
  await tell(intent, 0, { id, amount: 3_000, seq: 2n });
  expect(await reload(session)).toMatchObject({ amountDisputedCents: 0, disputeIds: [id] });
  expect((await reserve(session)).cards.map((card) => card.amountCents)).toEqual([3_000]);
});

it('is recorded beyond what was received and not refunded, and an inquiry holds nothing [D14.124]', async () => {
  const { session, intent } = await paidSession();
  await tell(intent, 0, { amount: 4_000 });
  expect((await reserve(session)).cards).toHaveLength(2);
  const id = newId('dispute');
  expect((await tell(intent, 4_000, { id })).isBeyondReceived).toBe(true);
  expect(await reload(session)).toMatchObject({ amountDisputedCents: 4_000, amountRefundedCents: 10_000 });
  // A bank that disputes more than it was charged.
  await tell(intent, 50_000, { id, seq: 2n });
  expect(await reload(session)).toMatchObject({ amountDisputedCents: 10_000 });
});

it('does not keep the other card from being refunded, whatever it holds of its own [D14.124]', async () => {
  const { session, intent, paymentIntentId } = await paidSession();
  const { cards } = await reserve(session, { entries: [await eligibleEntry(session, paymentIntentId, 4_000)] });
  expect(cards.map((card) => [card.intent.id, card.amountCents])).toEqual([[paymentIntentId, 4_000]]);
  // The whole of a card that was refunded already, and more than the session received.
  await tell(intent, 50_000);
  expect((await reserve(session)).cards.map((card) => card.amountCents)).toEqual([6_000]);
  expect(await reload(session)).toMatchObject({ amountRefundedCents: 10_000, amountDisputedCents: 10_000 });
});

it('keeps the later of two looks, in whatever order they are told, and counts a repetition once [D14.122]', async () => {
  const { session, intent } = await paidSession();
  const id = newId('dispute');
  await tell(intent, 0, { id, amount: 4_000, seq: 5n });
  for (const seq of [4n, 5n, 1n]) await tell(intent, 4_000, { id, seq });
  expect(await reload(session)).toMatchObject({ amountDisputedCents: 0, disputeIds: [id] });
  await Promise.all([6n, 7n, 8n].map((seq) => tell(intent, 4_000, { id, seq })));
  expect(await reload(session)).toMatchObject({ amountDisputedCents: 4_000, disputeIds: [id] });
  await expect(tell('pi_of_somebody_else', 1)).rejects.toMatchObject({ code: 'charge_not_found' });
});

it('and twenty refunds at once never give back what it holds [D14.124]', async () => {
  const { session, intent } = await paidSession();
  const refunds = Array.from({ length: 20 }, () => reserve(session, { amount: cents(1_000) }));
  const [, ...settled] = await Promise.allSettled([tell(intent, 4_000), ...refunds]);
  const after = await reload(session);
  const given = settled.filter(({ status }) => status === 'fulfilled').length * 1_000;
  expect(after?.amountRefundedCents).toBe(given);
  expect(given).toBeLessThanOrEqual(10_000);
  await expect(reserve(session, { amount: cents(10_000 - given + 1) })).rejects.toMatchObject(exceeds);
  expect(given).toBeGreaterThan(0);
});

it('is held by the tables alone, too [D14.124]', async () => {
  const { session, intent, paymentIntentId } = await paidSession();
  await tell(intent, 3_000);
  const set = (table: string, id: string, text: string) =>
    fixture.test.admin(`update checkout.${table} set ${text} where id = $1`, [id]);
  const refused = /refunded_within_undisputed|would refund what a dispute holds/;
  await expect(set('payment_intents', paymentIntentId, 'amount_refunded_cents = 1001')).rejects.toThrow(refused);
  const dispute = 'update checkout.disputes set held_cents = amount_cents + 1 where session_id = $1';
  await expect(fixture.test.admin(dispute, [session.id])).rejects.toThrow(/check/);
});

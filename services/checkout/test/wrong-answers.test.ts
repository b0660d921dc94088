import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingWorld, openChargingWorld } from './charging-world.ts';
import { line } from './world.ts';

let world: ChargingWorld;
beforeAll(async () => {
  world = await openChargingWorld();
});
afterAll(() => world.close());

// Whatever is asked of the intent is answered with these differences.
const answering = (differs: object) =>
  world.chargingWith((port) => ({
    confirmIntent: async (...call) => ({ ...(await port.confirmIntent(...call)), ...differs }) as never,
    retrieveIntent: async (...call) => ({ ...(await port.retrieveIntent(...call)), ...differs }) as never,
  }));

async function waitsUntilLookedAt(session: Session, card: PaymentMethod, differs: object): Promise<void> {
  await expect(world.confirm(session, card, { key: 'k' }, answering(differs))).rejects.toThrow(
    /does not match charge attempt/,
  );
  await world.lapseLeases();
  await sweepCharges(answering(differs));
  expect(await loadSession(world.database, world.scope, session.id)).toMatchObject({
    ...{ status: 'open', amountReceivedCents: 0, paymentIntentIds: [] },
  });
  const left = await world.test.admin(
    'select a.status, i.status as intent from checkout.charge_attempts a join checkout.payment_intents i on i.id = a.payment_intent_id where subject_id = $1',
    [session.id],
  );
  expect(left).toEqual([{ status: 'unknown', intent: 'processing' }]);
}

describe('a charge that does not match its request is left unsettled and logged as an error [D14.53]', () => {
  it.each([
    ['another amount', { amountCents: 3_999 }],
    ['a part of the money', { amountReceivedCents: 3_999 }],
    ['another currency', { currency: 'eur' }],
    ['another attempt’s charge', { metadata: { attempt: 'another' } }],
    ['a hold', { kind: 'requires_capture', amountReceivedCents: 0, amountCapturableCents: 4_000 }],
  ])('%s', async (_what, differs) => {
    const card = await world.card('hsa');
    const session = await world.mixedSession(card);
    await waitsUntilLookedAt(session, card, differs);
    expect((await world.confirm(session, card, { key: 'k' })).session?.status).toBe('complete');
    expect(await world.charges(session)).toHaveLength(1);
  });
});

describe('a processor that refuses us and not the card has decided nothing', () => {
  it.each([
    ['api_key_expired', 401],
    ['account_invalid', 403],
    ['idempotency_error', 400],
  ])('%s', async (code, status) => {
    const refuse = async () => ({ kind: 'rejected' as const, code, status, param: undefined });
    for (const [call, left] of [
      ['createIntent', 'created'],
      ['confirmIntent', 'unknown'],
    ] as const) {
      const card = await world.card('hsa');
      const session = await world.mixedSession(card);
      const refusing = world.chargingWith(() => ({ [call]: refuse }));
      await expect(world.confirm(session, card, { key: call }, refusing)).rejects.toMatchObject({
        code: 'idempotency_key_in_use',
      });
      const attempts = 'select status from checkout.charge_attempts where subject_id = $1';
      expect(await world.test.admin(attempts, [session.id])).toEqual([{ status: left }]);
      expect((await world.confirm(session, card, { key: call })).session?.status).toBe('complete');
    }
  });
});

describe('a hold that is not what was asked for [D14.53]', () => {
  it.each([
    ['of a part of the money', { amountCapturableCents: 2_999 }],
    ['already captured', { kind: 'succeeded', amountReceivedCents: 3_000, amountCapturableCents: 0 }],
  ])('%s', async (_what, differs) => {
    const card = await world.card('hsa');
    const session = await world.session({
      lines: [line({ unitAmount: 3_000, class: 'letter_of_medical_necessity' })],
      customerId: card.customerId,
    });
    await waitsUntilLookedAt(session, card, differs);
    expect((await world.confirm(session, card, { key: 'k' })).session?.status).toBe('paid');
  });
});

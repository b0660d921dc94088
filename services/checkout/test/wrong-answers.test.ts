import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
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
    ['resource_missing', 404],
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

describe('an object of ours that the processor does not have', () => {
  // The calls go to another account of the processor than the one that took the money.
  const elsewhere = () => {
    const { retrieveIntent, confirmIntent, cancelIntent, captureIntent } = world.charging.processors.of({
      ...world.scope,
      accountId: newId('account'),
    });
    return world.chargingWith(() => ({ retrieveIntent, confirmIntent, cancelIntent, captureIntent }));
  };
  const statusOf = (session: Session) =>
    world.test.admin('select status from checkout.charge_attempts where subject_id = $1', [session.id]);

  it('leaves a charge unknown at each check, and it settles once the processor has the object again [D14.74]', async () => {
    const card = await world.card('hsa');
    const [sent, lost] = [await world.mixedSession(card), await world.mixedSession(card)];
    // Its confirmation answers 404; and one that was charged, whose answer was lost, is not found at any check.
    await expect(world.confirm(sent, card, { key: 'sent' }, elsewhere())).rejects.toMatchObject({
      code: 'idempotency_key_in_use',
    });
    await world.lapseLeases();
    await world.confirm(sent, card, { key: 'sent' });
    await world.fault({ call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
    await expect(world.confirm(lost, card, { key: 'lost' })).rejects.toMatchObject({ code: 'idempotency_key_in_use' });
    for (let check = 0; check < 3; check++) {
      await world.lapseLeases();
      await sweepCharges(elsewhere());
      expect(await statusOf(lost)).toEqual([{ status: 'unknown' }]);
    }
    await world.lapseLeases();
    await sweepCharges(world.charging);
    expect([await statusOf(sent), await statusOf(lost)]).toEqual([
      [{ status: 'succeeded' }],
      [{ status: 'succeeded' }],
    ]);
    expect([...(await world.charges(sent)), ...(await world.charges(lost))]).toHaveLength(2);
  });

  it('keeps the capture of a hold pending, and neither loses the hold nor counts it as captured [D14.74]', async () => {
    const [hsa, credit] = await Promise.all([world.card('hsa'), world.card('credit')]);
    const session = await world.mixedSession(hsa);
    await world.fault({ call: 'payment_intents.capture', kind: 'drop_before', times: 1 });
    await completeSession(world.charging, world.scope, {
      ...{ sessionId: session.id, paymentMethodIds: [hsa.id, credit.id], shippingDetails: null },
    });
    for (let check = 0; check < 3; check++) {
      await world.lapseLeases();
      await sweepCharges(elsewhere());
      const [operation] = await world.test.admin(
        'select o.status from checkout.intent_operations o join checkout.charge_attempts a on a.id = o.attempt_id where a.subject_id = $1',
        [session.id],
      );
      expect(operation).toEqual({ status: 'pending' });
    }
    for (let round = 0; round < 3; round++) {
      await world.lapseLeases();
      await sweepCharges(world.charging);
    }
    expect(await loadSession(world.database, world.scope, session.id)).toMatchObject({
      status: 'complete',
      amountReceivedCents: 10_000,
    });
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

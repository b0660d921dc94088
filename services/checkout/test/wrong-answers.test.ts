import { newId } from '@eligo/values';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

// Whatever is asked of the intent is answered with these differences.
const answering = (differs: object) =>
  fixture.contextWith((port) => ({
    confirmIntent: async (...call) => ({ ...(await port.confirmIntent(...call)), ...differs }) as never,
    retrieveIntent: async (...call) => ({ ...(await port.retrieveIntent(...call)), ...differs }) as never,
  }));

async function waitsUntilLookedAt(session: Session, card: PaymentMethod, differs: object): Promise<void> {
  await expect(fixture.confirm(session, card, { key: 'k' }, answering(differs))).rejects.toThrow(
    /does not match charge attempt/,
  );
  await fixture.lapseLeases();
  await sweepCharges(answering(differs));
  expect(await loadSession(fixture.database, fixture.scope, session.id)).toMatchObject({
    ...{ status: 'open', amountReceivedCents: 0, paymentIntentIds: [] },
  });
  const left = await fixture.test.admin(
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
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    await waitsUntilLookedAt(session, card, differs);
    expect((await fixture.confirm(session, card, { key: 'k' })).session?.status).toBe('complete');
    expect(await fixture.charges(session)).toHaveLength(1);
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
      const card = await fixture.card('hsa');
      const session = await fixture.mixedSession(card);
      const refusing = fixture.contextWith(() => ({ [call]: refuse }));
      await expect(fixture.confirm(session, card, { key: call }, refusing)).rejects.toMatchObject({
        code: 'idempotency_key_in_use',
      });
      const attempts = 'select status from checkout.charge_attempts where subject_id = $1';
      expect(await fixture.test.admin(attempts, [session.id])).toEqual([{ status: left }]);
      expect((await fixture.confirm(session, card, { key: call })).session?.status).toBe('complete');
    }
  });
});

describe('an object of ours that the processor does not have', () => {
  // The calls go to another account of the processor than the one that took the money.
  const elsewhere = () => {
    const { retrieveIntent, confirmIntent, cancelIntent, captureIntent } = fixture.context.processors.of({
      ...fixture.scope,
      accountId: newId('account'),
    });
    return fixture.contextWith(() => ({ retrieveIntent, confirmIntent, cancelIntent, captureIntent }));
  };
  const statusOf = (session: Session) =>
    fixture.test.admin('select status from checkout.charge_attempts where subject_id = $1', [session.id]);

  it('leaves a charge unknown at each check, and it settles once the processor has the object again [D14.74]', async () => {
    const card = await fixture.card('hsa');
    const [sent, lost] = [await fixture.mixedSession(card), await fixture.mixedSession(card)];
    // Its confirmation answers 404; and one that was charged, whose answer was lost, is not found at any check.
    await expect(fixture.confirm(sent, card, { key: 'sent' }, elsewhere())).rejects.toMatchObject({
      code: 'idempotency_key_in_use',
    });
    await fixture.lapseLeases();
    await fixture.confirm(sent, card, { key: 'sent' });
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
    await expect(fixture.confirm(lost, card, { key: 'lost' })).rejects.toMatchObject({
      code: 'idempotency_key_in_use',
    });
    for (let check = 0; check < 3; check++) {
      await fixture.lapseLeases();
      await sweepCharges(elsewhere());
      expect(await statusOf(lost)).toEqual([{ status: 'unknown' }]);
    }
    await fixture.lapseLeases();
    await sweepCharges(fixture.context);
    expect([await statusOf(sent), await statusOf(lost)]).toEqual([
      [{ status: 'succeeded' }],
      [{ status: 'succeeded' }],
    ]);
    expect([...(await fixture.charges(sent)), ...(await fixture.charges(lost))]).toHaveLength(2);
  });

  it('keeps the capture of a hold pending, and neither loses the hold nor counts it as captured [D14.74]', async () => {
    const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const session = await fixture.mixedSession(hsa);
    await fixture.fault({ call: 'payment_intents.capture', kind: 'drop_before', times: 1 });
    await completeSession(fixture.context, fixture.scope, {
      ...{ sessionId: session.id, paymentMethodIds: [hsa.id, credit.id], shippingDetails: null },
    });
    for (let check = 0; check < 3; check++) {
      await fixture.lapseLeases();
      await sweepCharges(elsewhere());
      const [operation] = await fixture.test.admin(
        'select o.status from checkout.intent_operations o join checkout.charge_attempts a on a.id = o.attempt_id where a.subject_id = $1',
        [session.id],
      );
      expect(operation).toEqual({ status: 'pending' });
    }
    for (let round = 0; round < 3; round++) {
      await fixture.lapseLeases();
      await sweepCharges(fixture.context);
    }
    expect(await loadSession(fixture.database, fixture.scope, session.id)).toMatchObject({
      status: 'complete',
      amountReceivedCents: 10_000,
    });
  });
});

describe('a hold that is not what was asked for [D14.53]', () => {
  const letter = (card: { customerId: string }) =>
    fixture.session({
      lines: [line({ unitAmount: 3_000, class: 'letter_of_medical_necessity' })],
      customerId: card.customerId,
    });

  it('already captured', async () => {
    const card = await fixture.card('hsa');
    const session = await letter(card);
    const differs = { kind: 'succeeded', amountReceivedCents: 3_000, amountCapturableCents: 0 };
    await waitsUntilLookedAt(session, card, differs);
    expect((await fixture.confirm(session, card, { key: 'k' })).session?.status).toBe('paid');
  });

  it('of a part of the money, which nobody asked for, is voided, and the card is declined', async () => {
    const card = await fixture.card('hsa');
    const session = await letter(card);
    const declined = fixture.confirm(session, card, { key: 'k' }, answering({ amountCapturableCents: 2_999 }));
    await expect(declined).rejects.toMatchObject({ code: 'card_declined' });
    const [charge] = await fixture.test.admin<{ processor_intent_id: string }>(
      "select processor_intent_id from checkout.charge_attempts where subject_id = $1 and status = 'declined'",
      [session.id],
    );
    const processor = fixture.context.processors.of(fixture.scope);
    expect(await processor.retrieveIntent(charge?.processor_intent_id ?? '')).toMatchObject({ kind: 'canceled' });
    expect((await fixture.confirm(session, card, { key: 'other' })).session?.status).toBe('paid');
  });
});

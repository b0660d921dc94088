import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chargeAtOnce } from '../src/actions/charge-at-once.ts';
import { updatePaymentMethod } from '../src/actions/update-payment-method.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

const state = (method: PaymentMethod, hsaFsa: boolean) =>
  updatePaymentMethod(fixture.context, fixture.scope, method.id, { hsaFsa });
const held = async (session: Session) =>
  (await fixture.charges(session)).map(({ amount, amount_captured }) => [amount, amount_captured]);

describe('a session that was charged off-session at creation, and holds the eligible part', () => {
  const awaiting = async (name = 'undescribed') => {
    const card = await fixture.card(name);
    const created = await fixture.mixedSession(card, { mode: 'off_session', paymentMethodId: card.id });
    const session = await chargeAtOnce(fixture.context, fixture.scope, created, false);
    expect(session).toMatchObject({
      status: 'open',
      nextAction: {
        type: 'provide_second_payment_method',
        ...{ eligibleAmountCents: 4_000, ineligibleAmountCents: 6_000 },
      },
    });
    return { card, session, credit: await fixture.card('credit', { customerId: card.customerId }) };
  };
  const complete = { status: 'complete', amountReceivedCents: 10_000n };
  const both = [
    [4_000, 4_000],
    [6_000, 6_000],
  ];

  it.each(['undescribed', 'hsa'])(
    '%s: a confirm with another card pays the remainder, and completes the session once [D14.70]',
    async (name) => {
      const { session, credit } = await awaiting(name);
      const key = 'second card';
      expect(await fixture.confirm(session, credit, { key })).toMatchObject({ replayed: false, session: complete });
      expect(await fixture.confirm(session, credit, { key })).toMatchObject({ replayed: true, session: complete });
      expect((await held(session)).toSorted()).toEqual(both);
      await expect(fixture.confirm(session, credit)).rejects.toMatchObject({
        code: 'checkout_session_already_processed',
      });
    },
  );

  it('a confirm with the same card pays the remainder once the partner states that it is no health card [D14.70]', async () => {
    const { card, session } = await awaiting();
    await expect(fixture.confirm(session, card, { key: 'same' })).rejects.toMatchObject({
      code: 'other_payment_method_required',
    });
    expect(await held(session)).toEqual([[4_000, 0]]);
    await state(card, false);
    expect(await fixture.confirm(session, card, { key: 'same' })).toMatchObject({ session: complete });
    expect((await held(session)).toSorted()).toEqual(both);
  });

  it('a confirm whose card is declined is 402 also when it is repeated, and voids the hold: no shop ships for a part [D14.70]', async () => {
    const { card, session } = await awaiting();
    const declined = await fixture.card('declined', { customerId: card.customerId });
    await state(declined, false);
    for (let tries = 0; tries < 2; tries++) {
      await expect(fixture.confirm(session, declined, { key: 'declined' })).rejects.toMatchObject({
        code: 'card_declined',
      });
    }
    expect((await held(session)).every(([, captured]) => captured === 0)).toBe(true);
    const [read] = await fixture.test.admin<{ status: string; received: string }>(
      'select status, amount_received_cents as received from checkout.sessions where id = $1',
      [session.id],
    );
    expect([read?.status, Number(read?.received)]).toEqual(['open', 0]);
  });

  it('a confirm whose answer is lost completes under the same key, charging each card once [D14.70]', async () => {
    const { session, credit } = await awaiting();
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
    const key = 'lost answer';
    await expect(fixture.confirm(session, credit, { key })).rejects.toMatchObject({ code: 'idempotency_key_in_use' });
    await fixture.clearFaults();
    for (let round = 0; round < 4; round++) {
      await fixture.lapseLeases();
      await sweepCharges(fixture.context);
    }
    expect(await fixture.confirm(session, credit, { key })).toMatchObject({ session: complete });
    expect((await held(session)).toSorted()).toEqual(both);
  });
});

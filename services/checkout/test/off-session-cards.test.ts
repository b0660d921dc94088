import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chargeAtOnce } from '../src/actions/charge-at-once.ts';
import { confirmInParts } from '../src/actions/confirm-in-parts.ts';
import { updatePaymentMethod } from '../src/actions/update-payment-method.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line } from './fixture.ts';
import { sweepRounds } from './pay.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());

const state = (method: PaymentMethod, hsaFsa: boolean) =>
  updatePaymentMethod(fixture.context, fixture.scope, method.id, { hsaFsa });
const sweepAll = (rounds = 4) => sweepRounds(fixture, rounds);
const setPlan = (session: Session, set: string) =>
  fixture.test.admin(`update checkout.payment_plans set ${set} where session_id = $1`, [session.id]);
/** The final refusal: nothing is charged, and a new session is needed. */
const released = {
  ...{ code: 'conflict', status: 409 },
  detail:
    'The hold that this session placed when it was created has been released, and nothing was charged. Create a new session.',
};
const held = async (session: Session) =>
  (await fixture.charges(session)).map(({ amount, amount_captured }) => [amount, amount_captured]);

describe('a session that was charged off-session at creation, and holds the eligible part', () => {
  const awaiting = async (name = 'undescribed', parts: Parameters<ChargingFixture['mixedSession']>[1] = {}) => {
    const card = await fixture.card(name);
    const created = await fixture.mixedSession(card, { mode: 'off_session', paymentMethodId: card.id, ...parts });
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
    await sweepAll();
    expect(await fixture.confirm(session, credit, { key })).toMatchObject({ session: complete });
    expect((await held(session)).toSorted()).toEqual(both);
  });

  // Whatever asks: the session stays open, and nothing of it is ever captured.
  const isNeverPaid = async (session: Session, card: PaymentMethod) => {
    for (const acceptsPart of [false, true]) {
      const key = `never paid ${session.id} ${acceptsPart}`;
      for (let tries = 0; tries < 2; tries++) {
        await expect(fixture.confirm(session, card, { key, acceptsPart })).rejects.toMatchObject(released);
      }
      await expect(fixture.confirm(session, card, { acceptsPart, paymentMethodId: null })).rejects.toMatchObject(
        released,
      );
    }
    await sweepAll(2);
    expect((await held(session)).every(([, captured]) => captured === 0)).toBe(true);
    expect(await loadSession(fixture.database, fixture.scope, session.id)).toMatchObject({
      ...{ status: 'open', amountReceivedCents: 0 },
    });
  };

  it.each([false, true])(
    'a confirm that does not set out in time is 409 also when it is repeated, and charges nothing; asks for parts: %s [D14.70]',
    async (acceptsPart) => {
      const { session, credit } = await awaiting();
      const options = { key: 'time over', acceptsPart };
      await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_before', times: 1 });
      await expect(fixture.confirm(session, credit, options)).rejects.toMatchObject({
        code: 'idempotency_key_in_use',
      });
      await fixture.clearFaults();
      const over = "confirm_until = now() - interval '1 second'";
      await setPlan(session, over);
      await fixture.test.admin(`update checkout.charge_attempts set ${over} where subject_id = $1`, [session.id]);
      await sweepAll();
      for (let tries = 0; tries < 3; tries++) {
        await expect(fixture.confirm(session, credit, options)).rejects.toMatchObject(released);
      }
      await isNeverPaid(session, credit);
    },
  );

  it.each([
    ['is stated to be a health card', 'hsa_fsa = true'],
    ['is detached', 'detached_at = now()'],
  ])('a confirm whose card %s between the claim and its charge is 409 for good [D14.70]', async (_, set) => {
    const { session, credit } = await awaiting();
    const key = 'changed';
    turnFailpointsOn();
    armFailpoint('confirm.claimed', { action: 'error', skip: 0 });
    await fixture.confirm(session, credit, { key }).catch(() => undefined);
    turnFailpointsOff();
    await fixture.test.admin(`update checkout.payment_methods set ${set} where id = $1`, [credit.id]);
    await sweepAll();
    for (let tries = 0; tries < 2; tries++) {
      await expect(fixture.confirm(session, credit, { key })).rejects.toMatchObject(released);
    }
    await isNeverPaid(session, await fixture.card('credit', { customerId: credit.customerId }));
  });

  it.each(['undescribed', 'hsa'])(
    '%s: after a decline of the second card, another confirm is 409 and charges nothing [D14.70]',
    async (name) => {
      const { session, credit } = await awaiting(name);
      const declined = await fixture.card('declined', { customerId: credit.customerId });
      await state(declined, false);
      await expect(fixture.confirm(session, declined)).rejects.toMatchObject({ code: 'card_declined' });
      await isNeverPaid(session, credit);
    },
  );

  it('after the hour, a confirm is 503 while the hold is voided, then 409, and charges nothing [D14.70]', async () => {
    const { session, credit } = await awaiting();
    await setPlan(session, "state = 'releasing', release_at = null, lease_until = now() + interval '1 minute'");
    for (const acceptsPart of [false, true]) {
      await expect(fixture.confirm(session, credit, { key: 'late', acceptsPart })).rejects.toMatchObject({
        code: 'lock_timeout',
      });
    }
    await sweepAll();
    await expect(fixture.confirm(session, credit, { key: 'late' })).rejects.toMatchObject(released);
    await isNeverPaid(session, credit);
  });

  it.each([false, true])(
    'a confirm before the session says what remains is 503, and pays it when it is repeated; asks for parts: %s [D14.70]',
    async (acceptsPart) => {
      const { session, credit } = await awaiting();
      await setPlan(session, "state = 'running', release_at = null");
      const forget = 'update checkout.sessions set next_action = null, version = version + 1 where id = $1';
      await fixture.test.admin(forget, [session.id]);
      const options = { key: 'early', acceptsPart };
      await expect(fixture.confirm(session, credit, options)).rejects.toMatchObject({ code: 'lock_timeout' });
      await sweepAll(1);
      expect(await fixture.confirm(session, credit, options)).toMatchObject({ session: complete });
      expect((await held(session)).toSorted()).toEqual(both);
    },
  );

  it('a confirm without payment_method charges the card of the creation, and its decline is 402 for good [D14.70]', async () => {
    const { card, session } = await awaiting();
    await state(card, false);
    await fixture.replaceCard(card.processorPaymentMethodId, 'chargeDeclined');
    for (let tries = 0; tries < 2; tries++) {
      const options = { key: 'own card', paymentMethodId: null };
      await expect(fixture.confirm(session, card, options)).rejects.toMatchObject({ code: 'card_declined' });
    }
    await isNeverPaid(session, await fixture.card('credit', { customerId: card.customerId }));
  });

  it('with capture_method manual, a confirm holds both cards, and the shop captures them [D14.70]', async () => {
    const { session, credit } = await awaiting('undescribed', { captureMethod: 'manual' });
    expect(await fixture.confirm(session, credit)).toMatchObject({
      session: { status: 'paid', amountReceivedCents: 0n },
      paymentIntent: { status: 'requires_capture', amountCents: 6_000n },
    });
    expect((await held(session)).toSorted()).toEqual([
      [4_000, 0],
      [6_000, 0],
    ]);
  });

  it('with capture_method manual, a confirm after a decline is 409 too [D14.70]', async () => {
    const { session, credit } = await awaiting('undescribed', { captureMethod: 'manual' });
    const declined = await fixture.card('declined', { customerId: credit.customerId });
    await state(declined, false);
    await expect(fixture.confirm(session, declined)).rejects.toMatchObject({ code: 'card_declined' });
    await isNeverPaid(session, credit);
  });

  it('a confirm where a letter is needed holds both cards until the letter [D14.70]', async () => {
    const lines = [line({ unitAmount: 4_000, class: 'letter_of_medical_necessity' }), line({ unitAmount: 6_000 })];
    const { session, credit } = await awaiting('undescribed', { lines });
    expect((await fixture.confirm(session, credit)).session).toMatchObject({
      ...{ status: 'paid', amountReceivedCents: 0n },
      nextAction: { type: 'collect_letter_of_medical_necessity' },
    });
  });

  it('a confirm answers the intent and the card that it names [D14.70]', async () => {
    const { session, credit } = await awaiting();
    expect(await fixture.confirm(session, credit, { expand: ['payment_method'] })).toMatchObject({
      paymentIntent: { amountCents: 6_000n, paymentMethodId: credit.id },
      paymentMethod: { paymentMethodId: credit.id },
    });
  });
});

describe('a session that was charged off-session at creation, of which no card ever held anything', () => {
  it.each(['declined', 'insufficient_funds'])(
    '%s: a confirm charges another card for the eligible part, as of any session [D14.70, CONF-2]',
    async (name) => {
      const card = await fixture.card(name);
      await state(card, false);
      const created = await fixture.mixedSession(card, { mode: 'off_session', paymentMethodId: card.id });
      const session = await chargeAtOnce(fixture.context, fixture.scope, created, false);
      expect(session).toMatchObject({ status: 'open', nextAction: { type: 'payment_failed' } });
      const credit = await fixture.card('credit', { customerId: card.customerId });
      expect((await fixture.confirm(session, credit)).session).toMatchObject({
        ...{ status: 'complete', amountReceivedCents: 4_000n },
      });
    },
  );

  it('with nothing eligible, a confirm charges nothing and completes the session, as of any session [D14.70]', async () => {
    const card = await fixture.card('undescribed');
    const parts = { mode: 'off_session', paymentMethodId: card.id, lines: [line({ unitAmount: 6_000 })] };
    const created = await fixture.mixedSession(card, parts);
    const session = await chargeAtOnce(fixture.context, fixture.scope, created, false);
    expect(session).toMatchObject({ status: 'open', nextAction: { type: 'provide_alternative_payment_method' } });
    const confirmed = await fixture.confirm(session, card);
    expect(confirmed.session).toMatchObject({ status: 'complete', amountReceivedCents: 0n });
    expect(confirmed.paymentIntent).toBeUndefined();
  });

  it('where all is eligible, a confirm pays all of it after a decline [D14.70]', async () => {
    const card = await fixture.card('declined');
    const lines = [line({ unitAmount: 4_000, class: 'auto_substantiation' })];
    const parts = { mode: 'off_session', paymentMethodId: card.id, lines };
    const created = await fixture.mixedSession(card, parts);
    const session = await chargeAtOnce(fixture.context, fixture.scope, created, false);
    const credit = await fixture.card('credit', { customerId: card.customerId });
    expect((await fixture.confirm(session, credit)).session).toMatchObject({
      ...{ status: 'complete', amountReceivedCents: 4_000n },
    });
  });
});

it('a confirm of an account that asks for no part begins no plan for one, if the plan that it goes on with has ended meanwhile [D14.237]', async () => {
  const { context, scope } = fixture;
  const hsa = await fixture.card('hsa');
  const session = await fixture.mixedSession(hsa);
  const turn = context.turns.enter(scope, hsa.id, context.budgets);
  const requestHash = Buffer.alloc(32);
  const key = 'no part';
  const planned = await confirmInParts(context, scope, {
    request: {
      ...{ sessionId: session.id, paymentMethodId: hsa.id, captureMethod: null },
      ...{ expand: [], features: [], key, requestHash },
    },
    use: { endpoint: 'POST /v1/checkout/sessions/confirm', key, requestHash, otherRequest: 'refuse' },
    ...{ turn, ofNewMoney: context.processors.of(scope).account, acceptsPart: false },
  });
  turn.leave();
  expect(planned).toBeUndefined();
  const plans = 'select id from checkout.payment_plans where session_id = $1';
  expect(await fixture.test.admin(plans, [session.id])).toEqual([]);
});

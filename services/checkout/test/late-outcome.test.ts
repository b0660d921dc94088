import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());
afterEach(() => fixture.clearFaults());

const succeeded = 'checkout.session.async_payment_succeeded';
const failed = 'checkout.session.async_payment_failed';
const lateEvents = async (session: Session) => {
  const told = await fixture.told(session);
  return [told[succeeded] ?? 0, told[failed] ?? 0];
};
const sweepAll = async () => {
  for (let round = 0; round < 3; round++) {
    await fixture.lapseLeases();
    await sweepCharges(fixture.context);
  }
};
// The call is carried out, and neither its answer nor the look afterwards arrives.
const loseAnswers = async () => {
  await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
  await fixture.fault({ call: 'payment_intents.retrieve', kind: 'drop_after', times: 1 });
};
const pay = (session: Session, cards: readonly { id: string }[]) =>
  completeSession(fixture.context, fixture.scope, {
    ...{ sessionId: session.id, paymentMethodIds: cards.map(({ id }) => id), shippingDetails: null },
  });

describe('a confirm whose outcome was not known when it was answered', () => {
  it.each([
    ['hsa', [1, 0]],
    ['insufficient_funds', [0, 1]],
  ])('is followed by one event once it is known: %s [STATE-1]', async (name, events) => {
    const card = await fixture.card(name);
    const session = await fixture.mixedSession(card);
    await loseAnswers();
    await expect(fixture.confirm(session, card, { key: name })).rejects.toMatchObject({
      code: 'idempotency_key_in_use',
    });
    expect(await lateEvents(session)).toEqual([0, 0]);
    await sweepAll();
    expect(await lateEvents(session)).toEqual(events);
    await fixture.confirm(session, card, { key: name }).catch(() => undefined);
    expect(await lateEvents(session)).toEqual(events);
  });

  it('failed if it was canceled because it did not set out in time [STATE-1, D14.30]', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_before', times: 1 });
    await expect(fixture.confirm(session, card)).rejects.toMatchObject({ code: 'idempotency_key_in_use' });
    await fixture.test.admin(
      "update checkout.charge_attempts set confirm_until = now() - interval '1 second' where subject_id = $1",
      [session.id],
    );
    await sweepAll();
    expect(await lateEvents(session)).toEqual([0, 1]);
  });
});

describe('an off-session session that is charged at its creation', () => {
  it.each([
    ['credit', 'complete', [1, 0]],
    ['insufficient_funds', 'open', [0, 1]],
  ])('is followed by one event once its outcome is known: %s [STATE-1]', async (name, status, events) => {
    const card = await fixture.card(name);
    await loseAnswers();
    const session = await fixture.mixedSession(card, { mode: 'off_session', paymentMethodId: card.id });
    expect(session).toMatchObject({ status: 'open', nextAction: null });
    expect(await lateEvents(session)).toEqual([0, 0]);
    await sweepAll();
    expect(await loadSession(fixture.database, fixture.scope, session.id)).toMatchObject({ status });
    await sweepAll();
    expect(await lateEvents(session)).toEqual(events);
  });
});

describe('a payment on the page', () => {
  it.each([
    ['credit', [1, 0]],
    ['declined', [0, 1]],
  ])('whose outcome is learned after its answer is followed by one event: %s [STATE-1]', async (name, events) => {
    const cards = await Promise.all([fixture.card('hsa'), fixture.card(name)]);
    const session = await fixture.mixedSession(cards[0]);
    // The second card's.
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'slow', delay_ms: 0, times: 1 });
    await loseAnswers();
    expect(await pay(session, cards)).toMatchObject({ status: 'open', nextAction: null });
    await sweepAll();
    expect(await lateEvents(session)).toEqual(events);
  });

  it('has no such event when its answer tells the outcome, or when a second card does not come [STATE-1]', async () => {
    const [hsa, credit, declined] = await Promise.all(['hsa', 'credit', 'declined'].map((name) => fixture.card(name)));
    if (hsa === undefined || credit === undefined || declined === undefined) throw new Error('a card is missing');
    const [paid, refused, waiting] = await Promise.all(Array.from({ length: 3 }, () => fixture.mixedSession(hsa)));
    if (paid === undefined || refused === undefined || waiting === undefined) throw new Error('a session is missing');
    await pay(paid, [hsa, credit]);
    await pay(refused, [hsa, declined]);
    await pay(waiting, [hsa]);
    await fixture.test.admin('update checkout.payment_plans set release_at = now() where session_id = $1', [
      waiting.id,
    ]);
    await sweepAll();
    for (const session of [paid, refused, waiting]) expect(await lateEvents(session)).toEqual([0, 0]);
    expect(await fixture.told(waiting)).toMatchObject({ 'payment_intent.canceled': 1 });
  });
});

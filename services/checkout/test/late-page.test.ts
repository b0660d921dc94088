import { armFailpoint, turnFailpointsOff, turnFailpointsOn } from '@eligo/service';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { cancelSession } from '../src/actions/end-session.ts';
import type { Context } from '../src/context.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { start } from './fixture.ts';
import { pay as payOnPage, sweepRounds } from './pay.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());
afterEach(async () => {
  turnFailpointsOff();
  fixture.clock.set(start);
  await fixture.clearFaults();
});

const pay = (session: Session, cards: PaymentMethod[], context: Context = fixture.context) =>
  payOnPage({ ...fixture, context }, session, cards);
const reload = (session: Session) => loadSession(fixture.database, fixture.scope, session.id);
const down = () => fixture.contextWith(() => ({ isDown: () => true }));
const sweep = (context: Context = fixture.context, rounds = 4) => sweepRounds({ ...fixture, context }, rounds);
const attemptsOf = (session: Session) =>
  fixture.test.admin<{ leg: string; status: string }>(
    'select leg, status from checkout.charge_attempts where subject_id = $1 order by created_at',
    [session.id],
  );
const captured = async (session: Session) =>
  (await fixture.charges(session)).map(({ amount_captured }) => amount_captured).filter((amount) => amount > 0);
async function comeTooLate({ id }: Session): Promise<void> {
  for (const [table, column] of [
    ['charge_attempts', 'subject_id'],
    ['payment_plans', 'session_id'],
  ]) {
    await fixture.test.admin(
      `update checkout.${table} set confirm_until = least(confirm_until, now() - interval '1 second') where ${column} = $1`,
      [id],
    );
  }
}
const inTime = 'The payment timed out and no card was charged. Pay again.';

interface Begun {
  readonly session: Session;
  readonly cards: PaymentMethod[];
}
// A shopper’s payment whose n-th call of this name fails so.
async function begun(call: string, kind: string, skip = 0): Promise<Begun> {
  const cards = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
  const session = await fixture.mixedSession(cards[0]);
  if (skip === 0) await fixture.fault({ call, kind, times: 1 });
  else {
    turnFailpointsOn();
    armFailpoint('plan.attempt_begun', { action: 'error', skip });
    await expect(pay(session, cards)).rejects.toThrow();
    turnFailpointsOff();
    await fixture.fault({ call, kind, times: 1 });
    await sweep(fixture.context, 1);
    return { session, cards };
  }
  expect((await pay(session, cards)).status).toBe('open');
  return { session, cards };
}

describe('a payment on the page that did not go through in time', () => {
  it.each([
    ['was never sent', 'payment_intents.create'],
    ['was lost on its way', 'payment_intents.confirm'],
  ])('charges nothing when its first card’s charge %s, and the shopper may pay again [D14.30]', async (_, call) => {
    const { session, cards } = await begun(call, 'drop_before');
    await comeTooLate(session);
    await sweep();
    expect(await reload(session)).toMatchObject({
      ...{ status: 'open', amountReceivedCents: 0, nextAction: { type: 'payment_failed', message: inTime } },
    });
    expect(await attemptsOf(session)).toEqual([{ leg: 'health', status: 'abandoned' }]);
    expect(await captured(session)).toEqual([]);
    expect((await pay(session, cards)).status).toBe('complete');
    expect((await captured(session)).toSorted()).toEqual([4_000, 6_000]);
  });

  it('abandons unsent attempts while the processor is still down, and cancels sent ones once it is back', async () => {
    const unsent = await begun('payment_intents.create', 'drop_before');
    const sent = await begun('payment_intents.confirm', 'drop_before');
    for (const { session } of [unsent, sent]) await comeTooLate(session);
    await sweep(down());
    expect(await attemptsOf(unsent.session)).toEqual([{ leg: 'health', status: 'abandoned' }]);
    expect(await attemptsOf(sent.session)).toEqual([{ leg: 'health', status: 'unknown' }]);
    await sweep();
    expect(await attemptsOf(sent.session)).toEqual([{ leg: 'health', status: 'abandoned' }]);
    expect((await reload(sent.session))?.nextAction).toMatchObject({ message: inTime });
  });

  it('voids the health card’s hold when the other card’s charge was lost', async () => {
    const { session, cards } = await begun('payment_intents.confirm', 'drop_before', 1);
    expect(await attemptsOf(session)).toMatchObject([{ status: 'succeeded' }, { status: 'unknown' }]);
    await comeTooLate(session);
    await sweep();
    expect(await attemptsOf(session)).toMatchObject([{ status: 'released' }, { status: 'abandoned' }]);
    expect(await captured(session)).toEqual([]);
    expect((await reload(session))?.nextAction).toMatchObject({ type: 'payment_failed', message: inTime });
    expect((await pay(session, cards)).status).toBe('complete');
  });

  it('begins no second card after its time', async () => {
    const cards = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const session = await fixture.mixedSession(cards[0]);
    turnFailpointsOn();
    armFailpoint('charge.settled', { action: 'error' });
    await expect(pay(session, cards)).rejects.toThrow();
    turnFailpointsOff();
    await comeTooLate(session);
    await sweep();
    expect(await attemptsOf(session)).toEqual([{ leg: 'health', status: 'released' }]);
    expect(await captured(session)).toEqual([]);
  });

  it('has new time when the shopper gives the second card', async () => {
    const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const session = await fixture.mixedSession(hsa);
    await pay(session, [hsa]);
    await comeTooLate(session);
    expect((await pay(session, [credit])).status).toBe('complete');
  });

  it('is completed when both cards had paid in time', async () => {
    const { session } = await begun('payment_intents.confirm', 'drop_after', 1);
    await comeTooLate(session);
    await sweep();
    expect(await reload(session)).toMatchObject({ status: 'complete', amountReceivedCents: 10_000 });
  });

  it('is refunded in full when its session’s time is over by then [D14.30]', async () => {
    const { session } = await begun('payment_intents.confirm', 'drop_after', 1);
    fixture.clock.set(new Date(session.expiresAt.getTime() + 1));
    await sweep();
    expect(await reload(session)).toMatchObject({ status: 'expired', amountReceivedCents: 6_000 });
    expect(await attemptsOf(session)).toMatchObject([{ status: 'released' }, { status: 'succeeded' }]);
    expect(await fixture.told(session)).toMatchObject({ 'command.refund': 1, 'checkout.session.expired': 1 });
  });

  it('keeps its session from ending until that is certain', async () => {
    const { session } = await begun('payment_intents.confirm', 'drop_before');
    await comeTooLate(session);
    await fixture.lapseLeases();
    await expect(cancelSession(fixture.context, fixture.scope, session.id)).rejects.toMatchObject({
      code: 'lock_timeout',
    });
    await sweep();
    expect((await cancelSession(fixture.context, fixture.scope, session.id)).status).toBe('canceled');
  });
});

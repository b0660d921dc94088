import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { attachPaymentMethod } from '../src/actions/attach-payment-method.ts';
import { createCustomer } from '../src/actions/create-customer.ts';
import { createTestPaymentMethod } from '../src/actions/create-test-payment-method.ts';
import { cancelSession } from '../src/actions/end-session.ts';
import { voidHolds } from '../src/actions/void-holds.ts';
import type { PaymentMethod } from '../src/domain/payment-method.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { loadSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { pay as payOnPage } from './pay.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());
afterEach(() => fixture.clearFaults());

const inUse = { code: 'idempotency_key_in_use' };
const turnAway = (call: string, times = 1) => fixture.fault({ call, kind: 'rate_limited', delay_ms: 7_000, times });
const pay = (session: Session, cards: PaymentMethod[]) => payOnPage(fixture, session, cards);

// Where an attempt stands, how often it was looked at in vain, and in how many seconds it is due again.
async function attemptOf({ id }: Session) {
  const [attempt] = await fixture.test.admin<{ status: string; checks: number; seconds: string }>(
    `select status, checks, extract(epoch from next_check_at - lease_until) as seconds from checkout.charge_attempts
     where subject_id = $1`,
    [id],
  );
  return attempt && { status: attempt.status, checks: attempt.checks, seconds: Math.round(Number(attempt.seconds)) };
}

async function operationsOf({ id }: Session) {
  const operations = await fixture.test.admin<{ status: string; checks: number; seconds: string }>(
    `select o.status, o.checks, extract(epoch from o.next_check_at - o.lease_until) as seconds
     from checkout.intent_operations o join checkout.charge_attempts a on a.id = o.attempt_id where a.subject_id = $1`,
    [id],
  );
  return operations.map(({ status, checks, seconds }) => ({ status, checks, seconds: Math.round(Number(seconds)) }));
}

describe('an attempt that the processor turns away is asked again after its Retry-After, and no check counts', () => {
  it.each([
    ['payment_intents.create', 'created'],
    ['payment_intents.confirm', 'sending'],
  ])('%s', async (call, status) => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    await turnAway(call, 3);
    for (let turn = 0; turn < 3; turn++) {
      await expect(fixture.confirm(session, card, { key: call })).rejects.toMatchObject(inUse);
      expect(await attemptOf(session)).toEqual({ status, checks: 0, seconds: 7 });
    }
    expect((await fixture.confirm(session, card, { key: call })).session?.status).toBe('complete');
    expect(await fixture.charges(session)).toHaveLength(1);
  });

  it('the look at what became of a lost confirmation', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_after', times: 1 });
    await expect(fixture.confirm(session, card, { key: 'look' })).rejects.toMatchObject(inUse);
    await turnAway('payment_intents.retrieve');
    await fixture.lapseLeases();
    await sweepCharges(fixture.context);
    expect(await attemptOf(session)).toMatchObject({ checks: 1, seconds: 7 });
    await fixture.lapseLeases();
    await sweepCharges(fixture.context);
    expect((await loadSession(fixture.database, fixture.scope, session.id))?.status).toBe('complete');
    expect(await fixture.charges(session)).toHaveLength(1);
  });

  it('the cancellation that makes a later decline final', async () => {
    const card = await fixture.card('declined');
    const session = await fixture.mixedSession(card);
    await fixture.fault({ call: 'payment_intents.confirm', kind: 'drop_before', times: 1 });
    await expect(fixture.confirm(session, card, { key: 'void' })).rejects.toMatchObject(inUse);
    await turnAway('payment_intents.cancel');
    await expect(fixture.confirm(session, card, { key: 'void' })).rejects.toMatchObject(inUse);
    expect(await attemptOf(session)).toMatchObject({ checks: 1, seconds: 7 });
    await expect(fixture.confirm(session, card, { key: 'void' })).rejects.toMatchObject({ status: 402 });
    expect((await attemptOf(session))?.status).toBe('declined');
  });
});

it('of many attempts at a processor that turns four calls in ten away, each charges once, and no check counts [D14.52]', async () => {
  const cards = await Promise.all(Array.from({ length: 12 }, () => fixture.card('hsa')));
  const sessions = await Promise.all(cards.map((card) => fixture.mixedSession(card)));
  await fixture.fault({ call: '*', kind: 'rate_limited', delay_ms: 1_000, ...{ rate: 0.4 } });
  const finish = async (session: Session, card: PaymentMethod) => {
    for (let turn = 0; turn < 60; turn++) {
      try {
        return (await fixture.confirm(session, card, { key: session.id })).session?.status;
      } catch (error) {
        expect(error).toMatchObject(inUse);
      }
    }
    return 'still turned away';
  };
  const ends = await Promise.all(sessions.map((session, at) => finish(session, cards[at] as PaymentMethod)));
  expect(ends).toEqual(sessions.map(() => 'complete'));
  for (const session of sessions) {
    expect(await fixture.charges(session)).toHaveLength(1);
    expect(await attemptOf(session)).toMatchObject({ status: 'succeeded', checks: 0 });
  }
});

describe('a hold that the processor does not take a decision on now', () => {
  it('is captured later', async () => {
    const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
    const session = await fixture.mixedSession(hsa);
    await turnAway('payment_intents.capture');
    await pay(session, [hsa, credit]);
    expect(await operationsOf(session)).toEqual([{ status: 'pending', checks: 0, seconds: 7 }]);
    await fixture.lapseLeases();
    await sweepCharges(fixture.context);
    expect(await operationsOf(session)).toMatchObject([{ status: 'done' }]);
    expect(await fixture.charges(session)).toMatchObject([{ amount_captured: 4_000 }, { amount_captured: 6_000 }]);
  });

  it('is let go later', async () => {
    const hsa = await fixture.card('hsa');
    const credit = await fixture.card('credit');
    const session = await fixture.mixedSession(hsa, { captureMethod: 'manual' });
    await pay(session, [hsa, credit]);
    const canceled = await cancelSession(fixture.context, fixture.scope, session.id);
    await turnAway('payment_intents.cancel', 2);
    await voidHolds(fixture.context, fixture.scope, canceled);
    expect(await operationsOf(session)).toEqual(Array(2).fill({ status: 'pending', checks: 0, seconds: 7 }));
    await fixture.lapseLeases();
    await sweepCharges(fixture.context);
    expect(await operationsOf(session)).toMatchObject(Array(2).fill({ status: 'done' }));
    expect(await fixture.charges(session)).toMatchObject(Array(2).fill({ amount_captured: 0 }));
  });
});

describe('a request that moves no money and that the processor turns away', () => {
  const later = { code: 'service_unavailable', status: 503, retryAfterSeconds: 7 };
  const testCard = () =>
    createTestPaymentMethod(fixture.context, fixture.scope, {
      ...{ customerId: null, card: 'hsa', cardLoc: [], offSession: true },
    });

  it.each(['customers.create', 'payment_methods.attach'])('%s answers 503 with its Retry-After', async (call) => {
    const method = await testCard();
    const { customerId } = await createCustomer(fixture.context, fixture.scope, {
      ...{ firstName: null, lastName: null, email: null, phone: null, employer: null, shipping: null, metadata: {} },
      testClockId: null,
    });
    const needs = { ...fixture.context, processors: fixture.context.processors };
    await turnAway(call);
    await expect(attachPaymentMethod(needs, fixture.scope, method.id, customerId)).rejects.toMatchObject(later);
    expect(await attachPaymentMethod(needs, fixture.scope, method.id, customerId)).toMatchObject({ customerId });
  });

  it.each(['setup_intents.create', 'setup_intents.confirm'])('%s answers 503 with its Retry-After', async (call) => {
    const card = await fixture.card('credit');
    const session = await fixture.session({ mode: 'setup', lines: [], customerId: card.customerId });
    await turnAway(call);
    await expect(pay(session, [card])).rejects.toMatchObject(later);
    expect(await pay(session, [card])).toMatchObject({ status: 'complete' });
  });
});

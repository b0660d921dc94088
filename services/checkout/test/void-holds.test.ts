import { Failure } from '@eligo/failures';
import { withTx } from '@eligo/postgres';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import { cancelSession } from '../src/actions/end-session.ts';
import { requestCaptureOfHolds } from '../src/actions/request-capture.ts';
import { voidHolds } from '../src/actions/void-holds.ts';
import type { Charging } from '../src/charging.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { findIntents } from '../src/store/payment-intents.ts';
import { lockSession } from '../src/store/sessions.ts';
import { type ChargingWorld, openChargingWorld } from './charging-world.ts';
import { line, start } from './world.ts';

let world: ChargingWorld;
beforeAll(async () => {
  world = await openChargingWorld();
});
afterAll(() => world.close());
afterEach(() => world.clearFaults());

async function canceledWithTwoHolds(): Promise<Session> {
  const [hsa, credit] = await Promise.all([world.card('hsa'), world.card('credit')]);
  const session = await world.mixedSession(hsa, { captureMethod: 'manual' });
  const paid = await completeSession(world.charging, world.scope, {
    ...{ sessionId: session.id, paymentMethodIds: [hsa.id, credit.id], shippingDetails: null },
  });
  expect(paid).toMatchObject({ status: 'paid', amountReceivedCents: 0 });
  return cancelSession(world.resources, world.scope, session.id);
}

const statuses = async (session: Session) =>
  (await findIntents(world.database, world.scope, session.paymentIntentIds)).map((intent) => intent.status);

describe('the holds of a canceled session', () => {
  it('are voided before the response, at the processor and in the records [D14.39]', async () => {
    const session = await canceledWithTwoHolds();
    await voidHolds(world.charging, world.scope, session);
    expect(await statuses(session)).toEqual(['canceled', 'canceled']);
    expect(await world.charges(session)).toMatchObject([{ amount_captured: 0 }, { amount_captured: 0 }]);
  });

  it('are not voided, nor is the session canceled, when one of them is to be captured', async () => {
    const card = await world.card('hsa');
    const session = await world.mixedSession(card, {
      lines: [line({ unitAmount: 3_000, class: 'letter_of_medical_necessity' })],
    });
    await world.confirm(session, card);
    await world.test.admin(
      `update checkout.letters set status = 'approved', decided_at = now(), valid_until = now() + interval '1 year'
       where session_id = $1`,
      [session.id],
    );
    await withTx(world.database, world.scope, async (tx) => {
      const held = await lockSession(tx, world.scope, session.id);
      if (held === undefined) throw new Error('the session is gone');
      await requestCaptureOfHolds(tx, world.scope, held, start);
    });
    await expect(cancelSession(world.resources, world.scope, session.id)).rejects.toMatchObject({
      code: 'lock_timeout',
    });
    await sweepCharges(world.charging);
    expect(await world.charges(session)).toMatchObject([{ amount_captured: 3_000 }]);
    await expect(cancelSession(world.resources, world.scope, session.id)).rejects.toMatchObject({
      code: 'checkout_session_already_processed',
    });
  });

  it('are left to the sweeper when the processor does not answer, and do not fail the cancellation [D14.39]', async () => {
    const session = await canceledWithTwoHolds();
    await world.fault({ call: 'payment_intents.cancel', kind: 'drop_before', times: 2 });
    await voidHolds(world.charging, world.scope, session);
    expect(await statuses(session)).toEqual(['requires_capture', 'requires_capture']);
    await world.clearFaults();
    await world.lapseLeases();
    await sweepCharges(world.charging);
    expect(await statuses(session)).toEqual(['canceled', 'canceled']);
  });

  it('wait with increasing backoff while no processor is configured for them, and are voided once one is', async () => {
    const session = await canceledWithTwoHolds();
    const of = () => {
      throw new Failure('processor_not_configured');
    };
    const unconfigured: Charging = { ...world.charging, processors: { ...world.charging.processors, of } };
    const seconds: number[] = [];
    for (let round = 0; round < 4; round++) {
      await world.lapseLeases();
      await sweepCharges(unconfigured);
      const [operation] = await world.test.admin<{ seconds: string }>(
        `select extract(epoch from next_check_at - lease_until) as seconds from checkout.intent_operations
         where payment_intent_id = $1`,
        [session.paymentIntentIds[0]],
      );
      seconds.push(Math.round(Number(operation?.seconds)));
    }
    expect(seconds).toEqual([1, 5, 30, 60]);
    await world.lapseLeases();
    await sweepCharges(world.charging);
    expect(await statuses(session)).toEqual(['canceled', 'canceled']);
  });
});

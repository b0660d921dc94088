import { withTx } from '@eligo/postgres';
import { openProcessors } from '@eligo/processor';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { completeSession } from '../src/actions/complete-session.ts';
import { cancelSession } from '../src/actions/end-session.ts';
import { requestCaptureOfHolds } from '../src/actions/request-capture.ts';
import { voidHolds } from '../src/actions/void-holds.ts';
import type { Context } from '../src/context.ts';
import type { Session } from '../src/domain/session.ts';
import { sweepCharges } from '../src/jobs/sweep-charges.ts';
import { findIntents } from '../src/store/payment-intents.ts';
import { lockSession } from '../src/store/sessions.ts';
import { type ChargingFixture, openChargingFixture } from './charging-fixture.ts';
import { line, start } from './fixture.ts';

let fixture: ChargingFixture;
beforeAll(async () => {
  fixture = await openChargingFixture();
});
afterAll(() => fixture.close());
afterEach(() => fixture.clearFaults());

async function canceledWithTwoHolds(): Promise<Session> {
  const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
  const session = await fixture.mixedSession(hsa, { captureMethod: 'manual' });
  const paid = await completeSession(fixture.context, fixture.scope, {
    ...{ sessionId: session.id, paymentMethodIds: [hsa.id, credit.id], shippingDetails: null },
  });
  expect(paid).toMatchObject({ status: 'paid', amountReceivedCents: 0 });
  return cancelSession(fixture.context, fixture.scope, session.id);
}

const statuses = async (session: Session) =>
  (await findIntents(fixture.database, fixture.scope, session.paymentIntentIds)).map((intent) => intent.status);

describe('the holds of a canceled session', () => {
  it('are voided before the response, at the processor and in the records [D14.39]', async () => {
    const session = await canceledWithTwoHolds();
    await voidHolds(fixture.context, fixture.scope, session);
    expect(await statuses(session)).toEqual(['canceled', 'canceled']);
    expect(await fixture.charges(session)).toMatchObject([{ amount_captured: 0 }, { amount_captured: 0 }]);
  });

  it('are not voided, nor is the session canceled, when one of them is to be captured', async () => {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card, {
      lines: [line({ unitAmount: 3_000, class: 'letter_of_medical_necessity' })],
    });
    await fixture.confirm(session, card);
    await fixture.test.admin(
      `update checkout.letters set status = 'approved', decided_at = now(), valid_until = now() + interval '1 year'
       where session_id = $1`,
      [session.id],
    );
    await withTx(fixture.database, fixture.scope, async (tx) => {
      const held = await lockSession(tx, fixture.scope, session.id);
      if (held === undefined) throw new Error('the session is gone');
      await requestCaptureOfHolds(tx, fixture.scope, held, start);
    });
    await expect(cancelSession(fixture.context, fixture.scope, session.id)).rejects.toMatchObject({
      code: 'lock_timeout',
    });
    await sweepCharges(fixture.context);
    expect(await fixture.charges(session)).toMatchObject([{ amount_captured: 3_000 }]);
    await expect(cancelSession(fixture.context, fixture.scope, session.id)).rejects.toMatchObject({
      code: 'checkout_session_already_processed',
    });
  });

  it('are left to the sweeper when the processor does not answer, and do not fail the cancellation [D14.39]', async () => {
    const session = await canceledWithTwoHolds();
    await fixture.fault({ call: 'payment_intents.cancel', kind: 'drop_before', times: 2 });
    await voidHolds(fixture.context, fixture.scope, session);
    expect(await statuses(session)).toEqual(['requires_capture', 'requires_capture']);
    await fixture.clearFaults();
    await fixture.lapseLeases();
    await sweepCharges(fixture.context);
    expect(await statuses(session)).toEqual(['canceled', 'canceled']);
  });

  it('wait while no processor is configured for them, and are voided once one is [D14.105]', async () => {
    const session = await canceledWithTwoHolds();
    const none = openProcessors({});
    const unconfigured: Context = { ...fixture.context, processors: none };
    for (let round = 0; round < 2; round++) {
      await fixture.lapseLeases();
      await sweepCharges(unconfigured);
      const operations = await fixture.test.admin(
        `select round(extract(epoch from next_check_at - lease_until))::int as seconds, checks from checkout.intent_operations
         where payment_intent_id = any($1)`,
        [session.paymentIntentIds],
      );
      expect(operations).toEqual(Array(2).fill({ seconds: 60, checks: 0 }));
    }
    await fixture.lapseLeases();
    await sweepCharges(fixture.context);
    expect(await statuses(session)).toEqual(['canceled', 'canceled']);
  });
});

import { cents, newId } from '@eligo/values';
import { chargeInvoice } from '../src/actions/charge-invoice.ts';
import { cancelSession } from '../src/actions/end-session.ts';
import { recordHealthCardStatement } from '../src/actions/record-health-card-statement.ts';
import { releaseRefund } from '../src/actions/release-refund.ts';
import { reserveRefund } from '../src/actions/reserve-refund.ts';
import type { Session } from '../src/domain/session.ts';
import { findStatement } from '../src/store/health-card-statements.ts';
import type { ChargingFixture } from './charging-fixture.ts';
import { meetAt } from './one-by-one.ts';
import { pay } from './pay.ts';

/** Payments that succeed, their refunds, and a charge of an invoice. */
export async function exercisePayments(fixture: ChargingFixture): Promise<void> {
  const { context, scope } = fixture;
  const [hsa, credit] = await Promise.all([fixture.card('hsa'), fixture.card('credit')]);
  const session = await fixture.mixedSession(hsa);
  await pay(fixture, session, [hsa, credit]);
  await releaseRefund(context, scope, await refund(fixture, session), []);
  const live = { ...scope, testMode: false };
  await recordHealthCardStatement(context, live, { substantiation: 'iias', version: 1n });
  await findStatement(context.database, live);
  // One alone, and two together.
  const ofInvoice = () => ({
    operationId: newId('charge_attempt'),
    invoiceId: newId('invoice'),
    subscriptionId: null,
    ...{ customerId: hsa.customerId, paymentMethodId: hsa.id, amountCents: cents(900), at: new Date() },
    leg: 'health' as const,
  });
  await chargeInvoice(context, scope, ofInvoice());
  const settling = { ...context, failpoint: meetAt(['charge.before_settle'], 2) };
  await Promise.all([ofInvoice(), ofInvoice()].map((charge) => chargeInvoice(settling, scope, charge)));
}

async function refund({ context, scope }: ChargingFixture, { id: sessionId }: Session): Promise<string> {
  const refundId = newId('refund');
  await reserveRefund(context, scope, {
    ...{ refundId, sessionId, paymentIntentId: null, features: [], preview: false },
    instruction: { entries: [], methods: [] },
  });
  return refundId;
}

/** Lost answers, declines, given-up attempts, holds that are let go and one that is gone. */
export async function exerciseTroubledPayments(fixture: ChargingFixture): Promise<void> {
  const [hsa, credit, declined] = await Promise.all([
    fixture.card('hsa'),
    fixture.card('credit'),
    fixture.card('declined'),
  ]);
  await pay(fixture, await fixture.mixedSession(hsa), [hsa, declined]);
  const waiting = await fixture.mixedSession(hsa);
  await pay(fixture, waiting, [hsa]);
  await cancelSession(fixture.context, fixture.scope, waiting.id);
  const lost = await fixture.mixedSession(hsa);
  await fixture.fault({ call: 'payment_intents.capture', kind: 'drop_before', times: 1 });
  await pay(fixture, lost, [hsa, credit]);
  await fixture.cancelAtProcessor(lost, 'health');
  // The first goes alone, and the others meanwhile together.
  const ready = await Promise.all(Array.from({ length: 4 }, () => fixture.card('hsa')));
  const sessions = await Promise.all(ready.map((card) => fixture.mixedSession(card)));
  await Promise.all(ready.map((card, index) => fixture.confirm(sessions[index] as Session, card)));
  await Promise.all(sessions.map((session) => refund(fixture, session)));
  for (const call of ['payment_intents.create', 'payment_intents.confirm']) {
    const card = await fixture.card('hsa');
    const session = await fixture.mixedSession(card);
    await fixture.fault({ call, kind: 'drop_after', times: 1 });
    await fixture.confirm(session, card).catch(() => undefined);
  }
}

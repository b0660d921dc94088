import { create } from '@bufbuild/protobuf';
import { append } from '@eligo/events';
import type { Scope, Tx } from '@eligo/postgres';
import { StartSubscriptionSchema } from '@eligo/proto/events/v1/events';
import { present } from '@eligo/values';
import type { Session } from '../domain/session.ts';
import { intentMessage } from '../messages/intents.ts';
import { lineItemMessage } from '../messages/line-item.ts';
import { sessionMessage } from '../messages/session.ts';
import { findIntents } from '../store/payment-intents.ts';
import { loadSessionLines } from '../store/session-lines.ts';

/**
 * Tells billing to make the subscription and the first invoice of a completed session, under the ids that the session carries since before it
 * was charged: repeating the command creates nothing twice. Its cards are those that have paid; where a trial begins, the session's and `trialBackupId`.
 */
export async function appendSubscriptionStart(
  tx: Tx,
  scope: Scope,
  session: Session,
  at: Date,
  trialBackupId?: string | undefined,
): Promise<void> {
  const { subscriptionId, invoiceId } = session;
  if (subscriptionId === null || invoiceId === null) throw new Error(`Session ${session.id} has no subscription ids`);
  const [lines, intents] = await Promise.all([
    loadSessionLines(tx, scope, session.id),
    findIntents(tx, scope, session.paymentIntentIds),
  ]);
  const health = intents.find((intent) => intent.leg === 'health');
  const other = intents.find((intent) => intent.leg === 'other');
  const command = create(StartSubscriptionSchema, {
    session: sessionMessage(scope, session),
    lines: lines.map(lineItemMessage),
    subscriptionId,
    invoiceId,
    atMs: BigInt(at.getTime()),
    ...present({
      defaultPaymentMethodId: (health ?? other)?.paymentMethodId ?? session.paymentMethodId,
      backupPaymentMethodId: (health && other?.paymentMethodId) ?? trialBackupId,
      testClockId: session.testClockId,
    }),
  });
  const first = health ?? other;
  if (first !== undefined) command.paymentIntent = intentMessage(scope, first);
  await append(tx, {
    ...scope,
    type: 'command.subscription.start',
    aggregateId: session.id,
    at,
    object: { case: 'startSubscription', value: command },
  });
}

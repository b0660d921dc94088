import { Failure } from '@eligo/failures';
import { afterCommit, type Scope, type Tx, withTx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import { fewPlanned } from '../domain/delivery.ts';
import { eventRetentionMs, type StoredEvent } from '../domain/stored-event.ts';
import { insertWaitingDeliveries, restartDeliveries } from '../store/deliveries.ts';
import { letRetryThrough, subscribedEndpointIds } from '../store/endpoints.ts';
import { findEvent } from '../store/events.ts';
import { endFanOuts } from '../store/fan-outs.ts';

/**
 * Sends an event again, under the id that it always had, to every enabled endpoint that wants its type now: those that never got it, those
 * that were given up, and those that did get it, since who asks may have lost it since. For as long as events are kept (decisions 8). It goes
 * before what waits, and an endpoint that has been failing is tried at once. Throws `rate_limited` where many endpoints want it, and the account's
 * deliveries took their share of a process that is short of time.
 */
export async function retryEvent(context: Context, scope: Scope, eventId: string): Promise<StoredEvent> {
  const { database, clock, share } = context;
  return withTx(database, scope, async (tx) => {
    const now = clock.now();
    const event = await findEvent(tx, scope, eventId);
    if (event === undefined || now.getTime() - event.createdAt.getTime() > eventRetentionMs) {
      throw new Failure('event_not_found');
    }
    // What is left of its fan-out is planned here: both would plan the same deliveries.
    await endFanOuts(tx, scope, [eventId]);
    const webhookIds = await subscribedEndpointIds(tx, scope, event.eventType);
    const plan = () => planAgain(context, tx, scope, event, webhookIds, now);
    await (webhookIds.length > fewPlanned ? share.planMany(scope, plan) : plan());
    return event;
  });
}

async function planAgain(
  context: Context,
  tx: Tx,
  scope: Scope,
  event: StoredEvent,
  webhookIds: readonly string[],
  now: Date,
): Promise<void> {
  const planned = webhookIds.map((webhookId) => ({ deliveryId: newId('delivery'), webhookId }));
  await letRetryThrough(tx, scope, webhookIds, now);
  await restartDeliveries(tx, scope, event.eventId, webhookIds, now);
  await insertWaitingDeliveries(tx, scope, event, planned, now);
  afterCommit(tx, () => context.sender.wake(scope, webhookIds));
}

import { renderEvent } from '@eligo/contract';
import type { Scope, Tx } from '@eligo/postgres';
import type { Event } from '@eligo/proto/events/v1/events';
import { wakeJobAfterCommit } from '@eligo/service';
import type { Context } from '../context.ts';
import { fewPlanned } from '../domain/delivery.ts';
import type { NewEvent } from '../domain/stored-event.ts';
import { insertEvents } from '../store/events.ts';
import { fanOutJob, insertFanOuts } from '../store/fan-outs.ts';
import { lockSubscribers } from '../store/subscribers.ts';
import { claimantOf, planDeliveries } from './plan-deliveries.ts';

/**
 * Keeps public events of one account and mode, each body rendered once, and plans their delivery to every endpoint that wants them, in the
 * transaction that marks them as consumed. If more deliveries are to be planned than one transaction may plan, or many of an account that took its share, the job plans them in parts: the
 * events of other accounts wait behind this transaction. What is not public is left alone.
 */
export async function fanOutEvents(context: Context, tx: Tx, scope: Scope, events: readonly Event[]): Promise<void> {
  const at = context.clock.now();
  const kept = events.flatMap((event) => keptForm(event, scope, at));
  if (kept.length === 0) return;
  const types = [...new Set(kept.map(({ eventType }) => eventType))];
  const most = context.share.isSpent(scope) ? fewPlanned : context.share.mostPlanned(scope);
  const mostSubscribers = Math.floor(most / kept.length);
  const [subscribers, keptNow] = await Promise.all([
    lockSubscribers(tx, scope, types, { after: '', most: mostSubscribers + 1 }, claimantOf(context, at)),
    insertEvents(tx, scope, kept),
  ]);
  const news = kept.filter(({ eventId }) => keptNow.has(eventId));
  if (subscribers.length === 0 || news.length === 0) return;
  if (subscribers.length <= mostSubscribers) {
    await context.share.run(scope, () => planDeliveries(context, tx, scope, subscribers, news, at));
    return;
  }
  await insertFanOuts(
    tx,
    scope,
    news.map(({ eventId }) => eventId),
  );
  wakeJobAfterCommit(tx, fanOutJob);
}

function keptForm(event: Event, scope: Scope, createdAt: Date): NewEvent[] {
  const rendered = renderEvent(event);
  if (rendered === undefined) return [];
  return [
    {
      eventId: event.eventId,
      eventType: event.type,
      recordId: event.aggregateId,
      body: Buffer.from(JSON.stringify(rendered)),
      requestId: event.requestId,
      traceparent: event.traceparent,
      occurredAt: new Date(Number(event.occurredAtMs)),
      createdAt,
      testMode: scope.testMode,
    },
  ];
}

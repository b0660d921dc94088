import { renderEvent } from '@eligo/contract';
import { afterCommit, type Scope, type Tx } from '@eligo/postgres';
import type { Event } from '@eligo/proto/events/v1/events';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import { type DeliveryInHand, inlineBodyBytes } from '../domain/delivery.ts';
import type { NewEvent, StoredEvent } from '../domain/stored-event.ts';
import { insertEvents } from '../store/events.ts';
import { insertDeliveries, lockSubscribers, type PlannedDelivery, type Subscriber } from '../store/subscribers.ts';

/**
 * Keeps public events of one account and mode, each body rendered once, and plans their delivery to every endpoint that wants them, in the
 * transaction that marks them as consumed. Where nothing older waits for an endpoint, its deliveries are handed to the sender when this commits:
 * they cost no claim. What is not public is left alone.
 */
export async function fanOutEvents(context: Context, tx: Tx, scope: Scope, events: readonly Event[]): Promise<void> {
  const at = context.clock.now();
  const kept = events.flatMap((event) => keptForm(event, scope, at));
  if (kept.length === 0) return;
  const { sender } = context;
  const claimant = { owner: sender.owner, at, leaseMs: sender.leaseMs };
  const types = [...new Set(kept.map(({ eventType }) => eventType))];
  const [subscribers, keptNow] = await Promise.all([
    lockSubscribers(tx, scope, types, claimant),
    insertEvents(tx, scope, kept),
  ]);
  if (subscribers.length === 0) return;
  const news = kept.filter(({ eventId }) => keptNow.has(eventId));
  if (news.length === 0) return;
  // Places are reserved where this process holds the lane alone: no other delivery can be handed to it.
  const held = subscribers.filter(({ lane }) => lane !== undefined);
  const { planned, handed, taken, waiting } = plan(subscribers, news, sender.rooms(scope, held, news.length));
  await insertDeliveries(tx, scope, planned, taken, claimant);
  afterCommit(tx, () => {
    sender.handOver(scope, handed);
    sender.wake(scope, waiting);
  });
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

interface Plan {
  readonly planned: PlannedDelivery[];
  readonly handed: DeliveryInHand[];
  /** Lanes that have to be taken for what is handed over, each with its first delivery. */
  readonly taken: { webhookId: string; epoch: number; from: string }[];
  /** Endpoints for which something waits. */
  readonly waiting: string[];
}

// Deliveries of an endpoint are handed over in the order of their events, as many as there is room for; the others wait.
function plan(
  subscribers: readonly Subscriber[],
  events: readonly StoredEvent[],
  rooms: ReadonlyMap<string, number>,
): Plan {
  const planned: PlannedDelivery[] = [];
  const handed: DeliveryInHand[] = [];
  const taken: Plan['taken'] = [];
  const waiting: string[] = [];
  for (const { webhookId, url, events: types, lane } of subscribers) {
    let room = lane === undefined ? 0 : (rooms.get(webhookId) ?? 0);
    let doesWait = false;
    let isHeld = lane?.isHeld ?? false;
    for (const event of events) {
      const { eventId, eventType, requestId, traceparent } = event;
      if (!types.includes('*') && !types.includes(eventType)) continue;
      const deliveryId = newId('delivery');
      const isHanded = lane !== undefined && room > 0;
      planned.push({ deliveryId, webhookId, eventId, eventType, isHanded });
      if (!isHanded) {
        doesWait = true;
        continue;
      }
      room -= 1;
      const { epoch, sealedSecrets } = lane;
      if (!isHeld) taken.push({ webhookId, epoch, from: deliveryId });
      isHeld = true;
      const body = event.body.length <= inlineBodyBytes ? event.body : undefined;
      handed.push({
        ...{
          deliveryId,
          webhookId,
          eventId,
          eventType,
          attempts: 0,
          epoch,
          dueAt: null,
          url,
          body,
          requestId,
          traceparent,
        },
        sealedSecrets,
      });
    }
    if (doesWait) waiting.push(webhookId);
  }
  return { planned, handed, taken, waiting };
}

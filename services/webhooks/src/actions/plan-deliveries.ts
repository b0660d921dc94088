import { afterCommit, afterUnknownCommit, type Scope, type Tx } from '@eligo/postgres';
import { newId } from '@eligo/values';
import type { Context } from '../context.ts';
import { type DeliveryInHand, inlineBodyBytes } from '../domain/delivery.ts';
import type { StoredEvent } from '../domain/stored-event.ts';
import { insertDeliveries, type PlannedDelivery, type Subscriber, wants } from '../store/subscribers.ts';

/** The owner and the lease with which this process takes lanes. */
export function claimantOf({ sender }: Context, at: Date): { owner: string; at: Date; leaseMs: number } {
  return { owner: sender.owner, at, leaseMs: sender.leaseMs };
}

/**
 * Plans the delivery of events to those of these endpoints that want them; the caller has locked their lanes. Where nothing older waits for an
 * endpoint, its deliveries are handed to the sender when this commits: they cost no claim. A delivery that `isPlanned` knows is left out.
 */
export async function planDeliveries(
  context: Context,
  tx: Tx,
  scope: Scope,
  subscribers: readonly Subscriber[],
  events: readonly StoredEvent[],
  at: Date,
  isPlanned: (eventId: string, webhookId: string) => boolean = () => false,
): Promise<void> {
  const { sender } = context;
  // Places are reserved where this process holds the lane alone: no other delivery can be handed to it.
  const held = subscribers.filter(({ lane }) => lane !== undefined);
  const rooms = sender.rooms(scope, held, events.length);
  const { planned, handed, taken, waiting } = plan(subscribers, events, rooms, isPlanned);
  if (planned.length === 0) return;
  const leftOut = new Set(await insertDeliveries(tx, scope, planned, taken, claimantOf(context, at)));
  afterUnknownCommit(tx, () => sender.watchLanes(scope, [...new Set(handed.map(({ webhookId }) => webhookId))]));
  afterCommit(tx, () => {
    sender.handOver(
      scope,
      handed.filter(({ deliveryId }) => !leftOut.has(deliveryId)),
    );
    sender.wake(scope, waiting);
  });
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
  isPlanned: (eventId: string, webhookId: string) => boolean,
): Plan {
  const planned: PlannedDelivery[] = [];
  const handed: DeliveryInHand[] = [];
  const taken: Plan['taken'] = [];
  const waiting: string[] = [];
  for (const subscriber of subscribers) {
    const { webhookId, url, lane } = subscriber;
    let room = lane === undefined ? 0 : (rooms.get(webhookId) ?? 0);
    let doesWait = false;
    let isHeld = lane?.isHeld ?? false;
    for (const event of events) {
      const { eventId, eventType, requestId, traceparent } = event;
      if (!wants(subscriber, eventType)) continue;
      if (isPlanned(eventId, webhookId)) continue;
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

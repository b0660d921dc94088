import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { mostPlanned } from '../domain/delivery.ts';
import { plannedAlready } from '../store/deliveries.ts';
import { findEvents } from '../store/events.ts';
import { endFanOuts, type FanOut, lockFanOuts, moveFanOut } from '../store/fan-outs.ts';
import { lockSubscribers } from '../store/subscribers.ts';
import { claimantOf, planDeliveries } from './plan-deliveries.ts';

/**
 * Plans the next deliveries of an account's events that many endpoints want, `mostPlanned` at most: of the oldest event to a page of endpoints, or of
 * as many events as there is room for, if a page holds all endpoints. Returns true if there may be more.
 */
export function continueFanOuts(context: Context, scope: Scope): Promise<boolean> {
  return withTx(context.database, scope, async (tx) => {
    const fanOuts = sameProgress(await lockFanOuts(tx, scope, mostEvents));
    const [oldest] = fanOuts;
    if (oldest === undefined) return false;
    const at = context.clock.now();
    const types = [...new Set(fanOuts.map(({ eventType }) => eventType))];
    const page = { after: oldest.plannedThrough, most: mostPlanned };
    const subscribers = await lockSubscribers(tx, scope, types, page, claimantOf(context, at));
    const last = subscribers.length === mostPlanned ? subscribers.at(-1)?.webhookId : undefined;
    const room = Math.max(1, Math.floor(mostPlanned / Math.max(1, subscribers.length)));
    const eventIds = fanOuts.slice(0, room).map(({ eventId }) => eventId);
    const webhookIds = subscribers.map(({ webhookId }) => webhookId);
    const [events, already] = await Promise.all([
      findEvents(tx, scope, eventIds),
      // A process of the release before does not end a fan-out when its account asks for the event again.
      plannedAlready(tx, scope, eventIds, webhookIds),
    ]);
    const known = new Set(already.map((one) => `${one.eventId} ${one.webhookId}`));
    const isPlanned = (eventId: string, webhookId: string) => known.has(`${eventId} ${webhookId}`);
    await planDeliveries(context, tx, scope, subscribers, events, at, isPlanned);
    if (last === undefined) await endFanOuts(tx, scope, eventIds);
    else await moveFanOut(tx, scope, oldest.eventId, last);
    return true;
  });
}

// As many as the consumer takes together.
const mostEvents = 64;

// The first ones, as far as they are planned for the same endpoints.
function sameProgress(fanOuts: readonly FanOut[]): FanOut[] {
  const other = fanOuts.findIndex(({ plannedThrough }) => plannedThrough !== fanOuts[0]?.plannedThrough);
  return other === -1 ? [...fanOuts] : fanOuts.slice(0, other);
}

import { type Scope, withTx } from '@eligo/postgres';
import type { Context } from '../context.ts';
import { plannedAlready } from '../store/deliveries.ts';
import { findEvents } from '../store/events.ts';
import { endFanOuts, type FanOut, lockFanOuts, moveFanOut } from '../store/fan-outs.ts';
import { lockSubscribers, type Subscriber, wants } from '../store/subscribers.ts';
import { claimantOf, planDeliveries } from './plan-deliveries.ts';

/** Deliveries of these events could not be planned. */
export class FanOutFailed extends Error {
  readonly eventIds: readonly string[];

  constructor(eventIds: readonly string[], cause: unknown) {
    super('Deliveries of events could not be planned', { cause });
    this.eventIds = eventIds;
  }
}

/** Which of the account's fan-outs a turn works on. */
export interface FanOutPart {
  /** Events that are passed over. */
  readonly except: readonly string[];
  /** How many events are planned together at most. */
  readonly mostEvents: number;
}

/** As many as a consumer takes together (`largestBatch` in packages/events). */
export const mostEventsTogether = 64;

/**
 * Plans the next deliveries of an account's events that many endpoints want, as many as one transaction may plan: of the oldest event to a page of endpoints, or of
 * as many events as there is room for, if a page holds all endpoints. Returns true if there may be more; rejects with `FanOutFailed`.
 */
export async function continueFanOuts(
  context: Context,
  scope: Scope,
  part: FanOutPart = { except: [], mostEvents: mostEventsTogether },
): Promise<boolean> {
  let eventIds: string[] = [];
  const mostPlanned = context.share.mostPlanned(scope);
  const plan = withTx(context.database, scope, async (tx) => {
    const fanOuts = sameProgress(await lockFanOuts(tx, scope, part.except, part.mostEvents));
    const [oldest] = fanOuts;
    if (oldest === undefined) return false;
    eventIds = fanOuts.map(({ eventId }) => eventId);
    const at = context.clock.now();
    const page = { after: oldest.plannedThrough, most: mostPlanned };
    const subscribersOf = (types: readonly string[]) =>
      lockSubscribers(tx, scope, types, page, claimantOf(context, at));
    let types = [...new Set(fanOuts.map(({ eventType }) => eventType))];
    let subscribers = await subscribersOf(types);
    if (types.length > 1 && subscribers.length === mostPlanned) {
      // No part of the page goes to endpoints that want other events only.
      types = [oldest.eventType];
      subscribers = await subscribersOf(types);
    }
    const last = subscribers.length === mostPlanned ? subscribers.at(-1)?.webhookId : undefined;
    const alike = fanOuts.filter(({ eventType }) => types.includes(eventType));
    eventIds = last === undefined ? thatFit(alike, subscribers, mostPlanned) : [oldest.eventId];
    const [events, already] = await Promise.all([
      findEvents(tx, scope, eventIds),
      // A process of the release before does not end a fan-out when its account asks for the event again.
      plannedAlready(tx, scope, eventIds, oldest.plannedThrough),
    ]);
    const known = new Set(already.map((one) => `${one.eventId} ${one.webhookId}`));
    const isPlanned = (eventId: string, webhookId: string) => known.has(`${eventId} ${webhookId}`);
    await planDeliveries(context, tx, scope, subscribers, events, at, isPlanned);
    if (last === undefined) await endFanOuts(tx, scope, eventIds);
    else await moveFanOut(tx, scope, oldest.eventId, last);
    return true;
  });
  try {
    return await plan;
  } catch (error) {
    throw new FanOutFailed(eventIds, error);
  }
}

// The first ones, as far as they are planned for the same endpoints.
function sameProgress(fanOuts: readonly FanOut[]): readonly FanOut[] {
  const other = fanOuts.findIndex(({ plannedThrough }) => plannedThrough !== fanOuts[0]?.plannedThrough);
  return other === -1 ? fanOuts : fanOuts.slice(0, other);
}

// The first ones, as far as there is room for their deliveries. There is for the first: fewer endpoints want it.
function thatFit(fanOuts: readonly FanOut[], subscribers: readonly Subscriber[], mostPlanned: number): string[] {
  let room = mostPlanned;
  const beyond = fanOuts.findIndex(({ eventType }) => {
    room -= subscribers.filter((one) => wants(one, eventType)).length;
    return room < 0;
  });
  return (beyond === -1 ? fanOuts : fanOuts.slice(0, beyond)).map(({ eventId }) => eventId);
}

import { leaseFromNow, leaseIsLive, type Scope, scoped, type Tx } from '@eligo/postgres';
import { breakerThreshold } from '../domain/health.ts';

/** An endpoint that wants some of the events, and whether this process may send to it at once. */
export interface Subscriber {
  readonly webhookId: string;
  readonly url: string;
  /** Event types, or `*` for all. */
  readonly events: readonly string[];
  /** The lane as it will be once it is taken; undefined when it is another's, or when the endpoint has been failing. */
  readonly lane: FreeLane | undefined;
}

/** Whether the endpoint wants events of this type. */
export function wants({ events }: Pick<Subscriber, 'events'>, eventType: string): boolean {
  return events.includes('*') || events.includes(eventType);
}

/** A lane that this process has or may take; its row is locked until the transaction ends. */
export interface FreeLane {
  readonly epoch: number;
  /** Whether nothing has to be written before this process may send. */
  readonly isHeld: boolean;
  /** The sealed secrets that sign now, the oldest first. */
  readonly sealedSecrets: readonly string[];
}

/** A delivery that is planned: handed to this process's sender, or waiting for the process that sends to the endpoint. */
export interface PlannedDelivery {
  readonly deliveryId: string;
  readonly webhookId: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly isHanded: boolean;
}

/** A page of the endpoints of an account, in the order of their ids. */
export interface SubscriberPage {
  /** The endpoint behind which the page begins; empty for the first page. */
  readonly after: string;
  readonly most: number;
}

/**
 * A page of the endpoints that want events of these types now. Of those that answer it locks the lanes that this process may send in. A lane whose
 * owner died is passed over: what that one was handed has to be recovered first.
 */
export async function lockSubscribers(
  tx: Tx,
  scope: Scope,
  eventTypes: readonly string[],
  page: SubscriberPage,
  claimant: { owner: string; at: Date; leaseMs: number },
): Promise<Subscriber[]> {
  const { owner, at, leaseMs } = claimant;
  const values = [eventTypes, owner, at, leaseMs, breakerThreshold, page.after, page.most];
  const rows = await tx.rows(select, scope, values);
  return rows.map(({ id, url, events, epoch, is_held, secrets }) => ({
    webhookId: id,
    url,
    events,
    lane: epoch === null ? undefined : { epoch, isHeld: is_held === true, sealedSecrets: secrets ?? [] },
  }));
}

/**
 * Plans deliveries of events, and takes these lanes for those that are handed over. Returns the ids of those that it skipped, because the event has a
 * delivery to the endpoint already: a retry by a process of the release before may have planned it just now.
 */
export async function insertDeliveries(
  tx: Tx,
  scope: Scope,
  planned: readonly PlannedDelivery[],
  taken: readonly { webhookId: string; epoch: number; from: string }[],
  claimant: { owner: string; at: Date; leaseMs: number },
): Promise<string[]> {
  const rows = await tx.rows(insert, scope, [
    planned.map(({ deliveryId }) => deliveryId),
    planned.map(({ webhookId }) => webhookId),
    planned.map(({ eventId }) => eventId),
    planned.map(({ eventType }) => eventType),
    planned.map(({ isHanded }) => isHanded),
    claimant.at,
    taken.map(({ webhookId }) => webhookId),
    taken.map(({ epoch }) => epoch),
    taken.map(({ from }) => from),
    claimant.owner,
    claimant.leaseMs,
  ]);
  return rows.map(({ id }) => id);
}

interface SubscriberRow {
  id: string;
  url: string;
  events: string[];
  epoch: number | null;
  is_held: boolean | null;
  secrets: string[] | null;
}

const here = (table: string) => `${table}.account_id = $1 and ${table}.test_mode = $2`;
const isOwnLane = `l.owner = $4 and ${leaseIsLive('l.lease_until')}`;

const select = scoped<SubscriberRow>(
  'endpoints.lock_subscribers',
  `select e.id, e.url, e.events, lane.epoch, lane.is_held, signing.secrets
     from (
       select e.id, e.url, e.events, e.failures_in_row, e.open_until from webhooks.endpoints e
        where ${here('e')} and e.deleted_at is null and e.status = 'enabled' and e.id > $8 and ('*' = any(e.events) or e.events && $3::text[])
        order by e.id limit $9
     ) e
     left join lateral (
       select case when ${isOwnLane} then l.epoch else l.epoch + 1 end as epoch,
              coalesce(l.owner = $4 and l.lease_until > ${leaseFromNow('$6 / 2')} and l.handed_from is not null, false) as is_held
         from webhooks.lanes l
        where ${here('l')} and l.endpoint_id = e.id and e.failures_in_row < $7 and (e.open_until is null or e.open_until <= $5)
          and ((${isOwnLane}) or l.lease_until is null or (not (${leaseIsLive('l.lease_until')}) and l.handed_from is null))
          for no key update of l skip locked
     ) lane on true
     left join lateral (
       select array_agg(s.sealed order by s.generation) as secrets from webhooks.endpoint_secrets s
        where lane.epoch is not null and ${here('s')} and s.endpoint_id = e.id and (s.expires_at is null or s.expires_at > now())
     ) signing on true
    order by e.id`,
);
const insert = scoped<{ id: string }>(
  'deliveries.insert_planned',
  `with taken as (
     update webhooks.lanes l
        set epoch = t.epoch, owner = $12, lease_until = ${leaseFromNow('$13')},
            handed_from = case when l.owner = $12 then least(coalesce(l.handed_from, t.handed_from), t.handed_from) else t.handed_from end
       from unnest($9::text[], $10::integer[], $11::text[]) as t (endpoint_id, epoch, handed_from)
      where ${here('l')} and l.endpoint_id = t.endpoint_id
   ), inserted as (
     insert into webhooks.deliveries
       (account_id, test_mode, id, endpoint_id, event_id, event_type, status, next_attempt_at, created_at)
     select $1, $2, p.id, p.endpoint_id, p.event_id, p.event_type, 'pending', case when p.is_handed then null else $8::timestamptz end, $8
       from unnest((select $3::text[]), (select $4::text[]), (select $5::text[]), (select $6::text[]), (select $7::boolean[]))
         as p (id, endpoint_id, event_id, event_type, is_handed)
     on conflict on constraint one_delivery_for_each_endpoint_and_event do nothing
     returning deliveries.id
   )
   select p.id from unnest((select $3::text[])) as p (id) where p.id not in (select inserted.id from inserted)`,
);

import { leaseFromNow, leaseIsLive, leaseIsOver, type Scope, scoped, type Tx } from '@eligo/postgres';
import { type ClaimedDelivery, inlineBodyBytes } from '../domain/delivery.ts';
import { breakerThreshold } from '../domain/health.ts';

/** What a process would take of one endpoint's deliveries. */
export interface LaneRequest {
  readonly webhookId: string;
  /** Deliveries of it that the process has in hand: sent and not yet recorded, or waiting to be sent. */
  readonly inHand: readonly string[];
  /** How many more it would take. */
  readonly room: number;
}

/** Makes the lane of a new endpoint. */
export async function insertLane(tx: Tx, scope: Scope, webhookId: string): Promise<void> {
  await tx.execute(insert, scope, [webhookId]);
}

/** What a claim took. */
export interface ClaimedLanes {
  readonly deliveries: readonly ClaimedDelivery[];
  /** The lanes that it could have, also those of which nothing is due. */
  readonly webhookIds: ReadonlySet<string>;
}

/**
 * Takes, or renews when half of the lease is over, the lanes of endpoints that have due deliveries, and reads those deliveries, oldest first.
 * Lanes that another process has, or another transaction has locked, are passed over. An endpoint that has been failing gives one, and no more until that one is recorded: a dead
 * receiver costs one probe. Bodies come along up to `inlineBodyBytes`: thousands may be in hand, and a few that are large are a gigabyte.
 */
export async function claimDeliveries(
  tx: Tx,
  scope: Scope,
  requests: readonly LaneRequest[],
  claimant: { owner: string; at: Date; leaseMs: number },
): Promise<ClaimedLanes> {
  const rows = await tx.rows(claim, scope, [
    requests.map(({ webhookId }) => webhookId),
    requests.map(({ room }) => room),
    requests.map(({ inHand }) => inHand.length),
    requests.flatMap(({ inHand }) => inHand),
    claimant.owner,
    claimant.at,
    claimant.leaseMs,
    breakerThreshold,
    inlineBodyBytes,
  ]);
  // The body of an event comes once, however many endpoints it goes to; a public body is never empty.
  const bodies = new Map(
    rows.flatMap(({ event_id, body }) => (body === null || body.length === 0 ? [] : [[event_id, body]])),
  );
  const deliveries = rows.flatMap((row) =>
    row.id === null
      ? []
      : {
          deliveryId: row.id,
          webhookId: row.endpoint_id,
          eventId: row.event_id,
          eventType: row.event_type,
          attempts: row.attempts,
          epoch: row.epoch,
          dueAt: row.next_attempt_at,
          url: row.url,
          body: bodies.get(row.event_id),
          requestId: row.request_id,
          traceparent: row.traceparent,
        },
  );
  return { deliveries, webhookIds: new Set(rows.map((row) => row.endpoint_id)) };
}

/**
 * Lanes whose owner died with deliveries in its hands, which are not claimed before these are recovered. They stay locked until the transaction ends, so
 * that a statement after this one sees all that was planned under the lock of a lane.
 */
export async function lockLapsedLanes(
  tx: Tx,
  scope: Scope,
  webhookIds: readonly string[],
  owner: string,
): Promise<string[]> {
  return (await tx.rows(lockLapsed, scope, [webhookIds, owner])).map(({ endpoint_id }) => endpoint_id);
}

/**
 * Has a page of what dead processes were handed wait again, for each of these locked lanes. A lane is free when that was the last page of it; otherwise
 * its mark is at the next page.
 */
export async function recoverLanes(tx: Tx, scope: Scope, webhookIds: readonly string[], at: Date): Promise<void> {
  await tx.execute(recover, scope, [webhookIds, at, rowsOfEach(webhookIds)]);
}

/**
 * Renews the leases of lanes of which half the lease is over, and moves the mark of what they were handed up to `oldest`, by a page at most: the mark
 * bounds what a recovery reads. All that was handed over before `oldest` has left the process, which will be handed nothing older. What of it is still pending was lost on the
 * way, and waits again. A lane that another process has taken stays there.
 */
export async function renewLanes(
  tx: Tx,
  scope: Scope,
  lanes: readonly { webhookId: string; oldest: string }[],
  claimant: { owner: string; at: Date; leaseMs: number },
): Promise<string[]> {
  const { owner, at, leaseMs } = claimant;
  const ids = lanes.map(({ webhookId }) => webhookId);
  const oldest = lanes.map((lane) => lane.oldest);
  const rows = await tx.rows(renew, scope, [ids, at, rowsOfEach(lanes), owner, oldest, leaseMs]);
  return rows.map(({ endpoint_id }) => endpoint_id);
}

/**
 * Gives lanes up that this process has nothing of in hand any more. What it was handed and is still pending was lost on the way, and waits
 * again. A lane with more than a page to look through is left like that of a dead process, and recovered. Gives the endpoints that have to be claimed for.
 */
export async function releaseLanes(
  tx: Tx,
  scope: Scope,
  webhookIds: readonly string[],
  claimant: { owner: string; at: Date },
): Promise<string[]> {
  const { owner, at } = claimant;
  const [, left] = await Promise.all([
    tx.execute(lockOwn, scope, [webhookIds, owner]),
    tx.rows(release, scope, [webhookIds, at, rowsOfEach(webhookIds), owner]),
  ]);
  return left.map(({ endpoint_id }) => endpoint_id);
}

// Ten thousand rows take some 50 ms from memory. An account has up to a thousand endpoints, each of which gets on by a hundred rows or more.
function rowsOfEach(lanes: readonly unknown[]): number {
  return Math.max(100, Math.floor(10_000 / lanes.length));
}

// A delivery, or a lane of which nothing is due: then the rest is null.
type ClaimedRow = DueRow | { id: null; endpoint_id: string; event_id: null; body: null };

interface DueRow {
  id: string;
  endpoint_id: string;
  event_id: string;
  event_type: string;
  attempts: number;
  epoch: number;
  next_attempt_at: Date;
  url: string;
  body: Buffer | null;
  request_id: string;
  traceparent: string;
}

const here = (table: string) => `${table}.account_id = $1 and ${table}.test_mode = $2`;

const insert = scoped(
  'lanes.insert',
  'insert into webhooks.lanes (account_id, test_mode, endpoint_id) values ($1, $2, $3)',
);
const claim = scoped<ClaimedRow>(
  'lanes.claim',
  `with free as (
     select l.endpoint_id, asked.room, asked.in_hand, l.epoch,
            coalesce(l.owner = $7 and l.lease_until > ${leaseFromNow('$9 / 2')}, false) as is_fresh
       from unnest($3::text[], $4::integer[], $5::integer[]) as asked (endpoint_id, room, in_hand)
       join webhooks.lanes l on ${here('l')} and l.endpoint_id = asked.endpoint_id
      where l.owner = $7 or l.handed_from is null and (l.lease_until is null or not (${leaseIsLive('l.lease_until')}))
        for no key update of l skip locked
   ), due as (
     select d.*, e.url, free.is_fresh, free.epoch as known_epoch
       from free
      cross join lateral (
        select e.id, e.url, e.failures_in_row from webhooks.endpoints e
         where ${here('e')} and e.id = free.endpoint_id and e.status = 'enabled' and e.deleted_at is null
           and (e.open_until is null or e.open_until <= $8) offset 0
      ) e
      cross join lateral (
        select d.id, d.endpoint_id, d.event_id, d.event_type, d.attempts, d.next_attempt_at from webhooks.deliveries d
         where ${here('d')} and d.endpoint_id = e.id and d.next_attempt_at <= $8
           and d.id <> all($6::text[])
         order by d.next_attempt_at, d.id
         limit case when e.failures_in_row < $10 then free.room when free.in_hand = 0 then least(1, free.room) else 0 end
      ) d
   ), taken as (
     update webhooks.lanes l
        set epoch = l.epoch + case when l.owner = $7 and ${leaseIsLive('l.lease_until')} then 0 else 1 end,
            handed_from = case when l.owner = $7 then l.handed_from end,
            owner = $7, lease_until = ${leaseFromNow('$9')}
       from (select distinct due.endpoint_id from due where not due.is_fresh) wanted
      where ${here('l')} and l.endpoint_id = wanted.endpoint_id
     returning l.endpoint_id, l.epoch
   )
   select due.id, free.endpoint_id, due.event_id, due.event_type, due.attempts, coalesce(taken.epoch, due.known_epoch) as epoch, due.next_attempt_at, due.url,
          case when octet_length(v.body) <= $11 then case when row_number() over (partition by v.id) = 1 then v.body else ''::bytea end end as body,
          v.request_id, v.traceparent
     from free
     left join (due join webhooks.events v on ${here('v')} and v.id = due.event_id) on due.endpoint_id = free.endpoint_id
     left join taken on taken.endpoint_id = due.endpoint_id
    order by due.next_attempt_at, due.id`,
);
// By an index that finds what was handed over, a success would cost an index entry: all deliveries from the mark on are read. Whoever reads them holds the lanes `l`. Postgres expects few elements
// in an array. Of a page it knows no length, and can join the lost ones with all deliveries of the account.
const pageOf = (lanes: string, andBefore = '') => `with l as (${lanes}), page as (
     select p.endpoint_id, p.id, p.is_lost from l cross join lateral (
       select d.endpoint_id, d.id, d.status = 'pending' and d.next_attempt_at is null as is_lost from webhooks.deliveries d
        where ${here('d')} and d.endpoint_id = l.endpoint_id and d.id >= l.handed_from${andBefore}
        order by d.id limit $5::bigint
     ) p
   ), reach as (
     select page.endpoint_id, max(page.id) as last, count(*) = $5::bigint as is_full from page group by page.endpoint_id
   ), waiting as (
     update webhooks.deliveries d set next_attempt_at = $4
       from unnest(array(select page.endpoint_id from page where page.is_lost order by page.id),
                   array(select page.id from page where page.is_lost order by page.id)) as lost (endpoint_id, id)
      where ${here('d')} and d.endpoint_id = lost.endpoint_id and d.id = lost.id and d.status = 'pending' and d.next_attempt_at is null
     returning d.endpoint_id
   )`;
// A lane with another page belongs to no process. One that had it is not asked about its own lapsed lanes.
const giveUp = (
  which: string,
) => `${pageOf(`select l.endpoint_id, l.handed_from from webhooks.lanes l where ${here('l')} and l.endpoint_id = any($3::text[])${which}`)}, freed as (
     update webhooks.lanes own
        set owner = case when reach.is_full then '' else own.owner end,
            lease_until = case when reach.is_full then ${leaseIsOver} end, handed_from = case when reach.is_full then reach.last end
       from l left join reach on reach.endpoint_id = l.endpoint_id
      where ${here('own')} and own.endpoint_id = l.endpoint_id
   )
   select waiting.endpoint_id from waiting union select reach.endpoint_id from reach where reach.is_full`;
const lockLapsed = scoped<{ endpoint_id: string }>(
  'lanes.lock_lapsed',
  `select l.endpoint_id from webhooks.lanes l
    where ${here('l')} and l.endpoint_id = any($3::text[]) and l.owner <> $4 and l.handed_from is not null and not (${leaseIsLive('l.lease_until')})
      for no key update skip locked`,
);
const recover = scoped<{ endpoint_id: string }>('lanes.recover', giveUp(''));
const lockOwn = scoped(
  'lanes.lock_own',
  `select from webhooks.lanes l
    where ${here('l')} and l.endpoint_id = any($3::text[]) and l.owner = $4 and l.lease_until is not null for no key update`,
);
const release = scoped<{ endpoint_id: string }>(
  'lanes.release',
  giveUp(' and l.owner = $6 and l.lease_until is not null'),
);
const renew = scoped<{ endpoint_id: string }>(
  'lanes.renew',
  `${pageOf(
    `select l.endpoint_id, l.handed_from, held.oldest
       from unnest($3::text[], $7::text[]) as held (endpoint_id, oldest)
       join webhooks.lanes l on ${here('l')} and l.endpoint_id = held.endpoint_id
      where l.owner = $6 and (l.lease_until <= ${leaseFromNow('$8 / 2')} or l.handed_from < held.oldest)
        for no key update of l`,
    ' and d.id < l.oldest',
  )}, held_on as (
     update webhooks.lanes own
        set lease_until = ${leaseFromNow('$8')},
            handed_from = case when own.handed_from is not null then greatest(own.handed_from, case when reach.is_full then reach.last else l.oldest end) end
       from l left join reach on reach.endpoint_id = l.endpoint_id
      where ${here('own')} and own.endpoint_id = l.endpoint_id
   )
   select waiting.endpoint_id from waiting`,
);

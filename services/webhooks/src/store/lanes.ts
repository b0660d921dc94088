import { leaseFromNow, leaseIsLive, type Scope, scoped, type Tx } from '@eligo/postgres';
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

/**
 * Takes, or renews when half of the lease is over, the lanes of endpoints that have due deliveries, and reads those deliveries, oldest first.
 * Lanes of other processes are passed over. An endpoint that has been failing gives one, and no more until that one is recorded: a dead
 * receiver costs one probe. Bodies come along up to `inlineBodyBytes`: thousands may be in hand, and a few that are large are a gigabyte.
 */
export async function claimDeliveries(
  tx: Tx,
  scope: Scope,
  requests: readonly LaneRequest[],
  claimant: { owner: string; at: Date; leaseMs: number },
): Promise<ClaimedDelivery[]> {
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
  return rows.map((row) => ({
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
  }));
}

/** Which of these lanes another process has. */
export async function lanesHeldByOthers(
  tx: Tx,
  scope: Scope,
  webhookIds: readonly string[],
  owner: string,
): Promise<string[]> {
  return (await tx.rows(selectHeld, scope, [webhookIds, owner])).map(({ endpoint_id }) => endpoint_id);
}

/**
 * Has what processes that died were handed of these endpoints wait again, and gives up their lanes. Runs before the claim, which takes them.
 */
export async function recoverLapsedLanes(
  tx: Tx,
  scope: Scope,
  webhookIds: readonly string[],
  claimant: { owner: string; at: Date },
): Promise<void> {
  await tx.execute(recover, scope, [webhookIds, claimant.owner, claimant.at]);
}

/**
 * Renews the leases of lanes of which half the lease is over, and moves the mark of what they were handed up to `oldest`, the oldest delivery of the lane
 * that the process holds: the mark bounds what a recovery reads. A lane that another process has taken stays there. What was handed over before the
 * mark and is still pending was lost on the way, and waits again.
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
  return (await tx.rows(renew, scope, [ids, owner, at, oldest, leaseMs])).map(({ endpoint_id }) => endpoint_id);
}

/**
 * Gives lanes up that this process has nothing of in hand any more. What it was handed and is still pending was lost on the way, and waits
 * again: gives the endpoints of such deliveries.
 */
export async function releaseLanes(
  tx: Tx,
  scope: Scope,
  webhookIds: readonly string[],
  claimant: { owner: string; at: Date },
): Promise<string[]> {
  const { owner, at } = claimant;
  const [lost] = await Promise.all([
    tx.rows(waitAgain, scope, [webhookIds, owner, at]),
    tx.execute(release, scope, [webhookIds, owner]),
  ]);
  return lost.map(({ endpoint_id }) => endpoint_id);
}

interface ClaimedRow {
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
      where l.owner = $7 or l.lease_until is null or not (${leaseIsLive('l.lease_until')})
        for no key update of l skip locked
   ), due as (
     select d.*, e.url, free.is_fresh, free.epoch as known_epoch
       from free
       join webhooks.endpoints e
         on ${here('e')} and e.id = free.endpoint_id and e.status = 'enabled' and e.deleted_at is null
        and (e.open_until is null or e.open_until <= $8)
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
   select due.id, due.endpoint_id, due.event_id, due.event_type, due.attempts, coalesce(taken.epoch, due.known_epoch) as epoch, due.next_attempt_at, due.url,
          case when octet_length(v.body) <= $11 then case when row_number() over (partition by v.id) = 1 then v.body else ''::bytea end end as body,
          v.request_id, v.traceparent
     from due
     left join taken on taken.endpoint_id = due.endpoint_id
     join webhooks.events v on ${here('v')} and v.id = due.event_id
    order by due.next_attempt_at, due.id`,
);
const selectHeld = scoped<{ endpoint_id: string }>(
  'lanes.held_by_others',
  `select l.endpoint_id from webhooks.lanes l
    where ${here('l')} and l.endpoint_id = any($3::text[]) and l.owner <> $4 and ${leaseIsLive('l.lease_until')}`,
);
const lostFrom = (lanes: string) => `
   update webhooks.deliveries d set next_attempt_at = $5
     from ${lanes}
    where ${here('d')} and d.endpoint_id = l.endpoint_id and d.id >= l.handed_from and d.status = 'pending' and d.next_attempt_at is null`;
const recover = scoped(
  'lanes.recover',
  `with l as (
     select l.endpoint_id, l.handed_from from webhooks.lanes l
      where ${here('l')} and l.endpoint_id = any($3::text[]) and l.owner <> $4 and l.handed_from is not null
        and not (${leaseIsLive('l.lease_until')})
        for no key update skip locked
   ), freed as (
     update webhooks.lanes own set handed_from = null, lease_until = null from l
      where ${here('own')} and own.endpoint_id = l.endpoint_id
   )${lostFrom('l')}`,
);
const renew = scoped<{ endpoint_id: string }>(
  'lanes.renew',
  `with l as (
     select l.endpoint_id, l.handed_from, held.oldest
       from unnest($3::text[], $6::text[]) as held (endpoint_id, oldest)
       join webhooks.lanes l on ${here('l')} and l.endpoint_id = held.endpoint_id
      where l.owner = $4 and (l.lease_until <= ${leaseFromNow('$7 / 2')} or l.handed_from < held.oldest)
        for no key update of l
   ), held_on as (
     update webhooks.lanes own
        set lease_until = ${leaseFromNow('$7')}, handed_from = greatest(own.handed_from, case when own.handed_from is not null then l.oldest end)
       from l where ${here('own')} and own.endpoint_id = l.endpoint_id
   )${lostFrom('l')} and d.id < l.oldest returning d.endpoint_id`,
);
const waitAgain = scoped<{ endpoint_id: string }>(
  'lanes.wait_again',
  `${lostFrom('webhooks.lanes l')} and ${here('l')} and l.endpoint_id = any($3::text[]) and l.owner = $4 and l.lease_until is not null
   returning d.endpoint_id`,
);
const release = scoped(
  'lanes.release',
  `update webhooks.lanes l set lease_until = null, handed_from = null
    where ${here('l')} and l.endpoint_id = any($3::text[]) and l.owner = $4 and l.lease_until is not null`,
);

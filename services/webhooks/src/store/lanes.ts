import { type Db, leaseFromNow, leaseIsLive, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import type { ClaimedDelivery } from '../domain/delivery.ts';
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

/** Endpoints with a delivery that is due at `at` and that this process may send, at most `most`, over all accounts. */
export async function dueEndpoints(
  db: Db,
  at: Date,
  owner: string,
  most: number,
): Promise<{ scope: Scope; webhookId: string }[]> {
  const rows = await db.rows(findDue, null, [at, owner, most]);
  return rows.map((row) => ({
    scope: { accountId: row.account_id, testMode: row.test_mode },
    webhookId: row.endpoint_id,
  }));
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
  return rows.map((row) => ({
    deliveryId: row.id,
    webhookId: row.endpoint_id,
    eventId: row.event_id,
    eventType: row.event_type,
    attempts: row.attempts,
    epoch: row.epoch,
    url: row.url,
    body: row.body ?? undefined,
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

/** Holds on to lanes of which half of the lease is over; one that somebody else has taken by now stays theirs. */
export async function renewLanes(
  tx: Tx,
  scope: Scope,
  webhookIds: readonly string[],
  owner: string,
  leaseMs: number,
): Promise<void> {
  await tx.execute(renew, scope, [webhookIds, owner, leaseMs]);
}

/** Gives lanes up that this process has nothing of in hand any more. */
export async function releaseLanes(tx: Tx, scope: Scope, webhookIds: readonly string[], owner: string): Promise<void> {
  await tx.execute(release, scope, [webhookIds, owner]);
}

interface ClaimedRow {
  id: string;
  endpoint_id: string;
  event_id: string;
  event_type: string;
  attempts: number;
  epoch: number;
  url: string;
  body: Buffer | null;
  request_id: string;
  traceparent: string;
}

/** Most bodies are of two kilobytes or so. */
const inlineBodyBytes = 32 * 1_024;

const here = (table: string) => `${table}.account_id = $1 and ${table}.test_mode = $2`;

const insert = scoped(
  'lanes.insert',
  'insert into webhooks.lanes (account_id, test_mode, endpoint_id) values ($1, $2, $3)',
);
const findDue = unscoped<{ account_id: string; test_mode: boolean; endpoint_id: string }>(
  'lanes.due_endpoints',
  'select account_id, test_mode, endpoint_id from webhooks.due_endpoints($1, $2, $3)',
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
         where ${here('d')} and d.endpoint_id = e.id and d.status = 'pending' and d.next_attempt_at <= $8
           and d.id <> all($6::text[])
         order by d.next_attempt_at, d.id
         limit case when e.failures_in_row < $10 then free.room when free.in_hand = 0 then least(1, free.room) else 0 end
      ) d
   ), taken as (
     update webhooks.lanes l
        set epoch = l.epoch + case when l.owner = $7 and ${leaseIsLive('l.lease_until')} then 0 else 1 end,
            owner = $7, lease_until = ${leaseFromNow('$9')}
       from (select distinct due.endpoint_id from due where not due.is_fresh) wanted
      where ${here('l')} and l.endpoint_id = wanted.endpoint_id
     returning l.endpoint_id, l.epoch
   )
   select due.id, due.endpoint_id, due.event_id, due.event_type, due.attempts, coalesce(taken.epoch, due.known_epoch) as epoch, due.url,
          case when octet_length(v.body) <= $11 then v.body end as body, v.request_id, v.traceparent
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
const renew = scoped(
  'lanes.renew',
  `update webhooks.lanes l set lease_until = ${leaseFromNow('$5')}
    where ${here('l')} and l.endpoint_id = any($3::text[]) and l.owner = $4 and l.lease_until <= ${leaseFromNow('$5 / 2')}`,
);
const release = scoped(
  'lanes.release',
  `update webhooks.lanes l set lease_until = null
    where ${here('l')} and l.endpoint_id = any($3::text[]) and l.owner = $4 and l.lease_until is not null`,
);

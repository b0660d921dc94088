import { type Db, type Page, readPage, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import type { AttemptResult, ClaimedDelivery, Delivery } from '../domain/delivery.ts';
import { breakerThreshold } from '../domain/health.ts';

/** Plans the delivery of one event to these endpoints, due at once; those that have it already are left alone. */
export async function planDeliveries(
  tx: Tx,
  scope: Scope,
  event: { eventId: string; eventType: string },
  planned: readonly { deliveryId: string; webhookId: string }[],
  at: Date,
): Promise<void> {
  if (planned.length === 0) return;
  const ids = planned.map(({ deliveryId }) => deliveryId);
  const endpoints = planned.map(({ webhookId }) => webhookId);
  await tx.execute(insert, scope, [ids, endpoints, event.eventId, event.eventType, at]);
}

/** Begins a new round for those of an event's deliveries that go to these endpoints, whatever became of the round before. */
export async function restartDeliveries(
  tx: Tx,
  scope: Scope,
  eventId: string,
  webhookIds: readonly string[],
  at: Date,
): Promise<void> {
  await tx.execute(restart, scope, [eventId, webhookIds, at]);
}

/** Gives up everything that is still to be sent to an endpoint. */
export async function exhaustDeliveries(tx: Tx, scope: Scope, webhookId: string, reason: string): Promise<void> {
  await tx.execute(exhaust, scope, [webhookId, reason]);
}

/** Endpoints with a delivery that is due at `at`, at most `most`, over all accounts. */
export async function dueEndpoints(db: Db, at: Date, most: number): Promise<{ scope: Scope; webhookId: string }[]> {
  const rows = await db.rows(findDue, null, [at, most]);
  return rows.map((row) => ({
    scope: { accountId: row.account_id, testMode: row.test_mode },
    webhookId: row.endpoint_id,
  }));
}

/**
 * Takes due deliveries of each endpoint, oldest first and at most as many as there is room for, under a lease by the database's time. An
 * endpoint that has been failing gets one, and then none until that one's lease has lapsed: a dead receiver costs one probe.
 */
export async function claimDeliveries(
  tx: Tx,
  scope: Scope,
  rooms: readonly { webhookId: string; room: number }[],
  at: Date,
  leaseMs: number,
): Promise<ClaimedDelivery[]> {
  const endpoints = rooms.map(({ webhookId }) => webhookId);
  const counts = rooms.map(({ room }) => room);
  const rows = await tx.rows(claim, scope, [endpoints, counts, at, leaseMs, breakerThreshold]);
  return rows.map((row) => ({
    deliveryId: row.id,
    webhookId: row.endpoint_id,
    eventId: row.event_id,
    attempts: row.attempts,
    epoch: row.epoch,
    url: row.url,
    body: row.body,
    requestId: row.request_id,
    traceparent: row.traceparent,
  }));
}

/** Gives claims back that will not be used. */
export async function releaseDeliveries(
  tx: Tx,
  scope: Scope,
  claims: readonly { deliveryId: string; epoch: number }[],
): Promise<void> {
  await tx.execute(release, scope, [claims.map(({ deliveryId }) => deliveryId), claims.map(({ epoch }) => epoch)]);
}

/**
 * Records attempts. A success stands whoever holds the delivery by now; a failure is the word of the latest claim only, so that a worker that
 * was stopped for longer than its lease cannot undo what another has done since.
 */
export async function recordAttempts(tx: Tx, scope: Scope, results: readonly AttemptResult[]): Promise<void> {
  await tx.execute(record, scope, [
    results.map(({ deliveryId }) => deliveryId),
    results.map(({ epoch }) => epoch),
    results.map(({ startedAt }) => startedAt),
    results.map(({ durationMs }) => durationMs),
    results.map(({ responseStatus }) => responseStatus),
    results.map(({ error }) => error),
    results.map(({ nextAttemptAt }) => nextAttemptAt),
  ]);
}

/** A page of an endpoint's deliveries, newest first. */
export async function listDeliveries(
  db: Db,
  scope: Scope,
  webhookId: string,
  page: Page,
): Promise<{ deliveries: Delivery[]; hasMore: boolean }> {
  const { rows, hasMore } = await readPage<DeliveryRow>(
    db,
    scope,
    {
      table: 'deliveries',
      id: 'id',
      columns: deliveryColumns.map((column) => `deliveries.${column}`),
      filter: (query) => void query.where('deliveries.endpoint_id', webhookId),
    },
    page,
  );
  return { deliveries: rows.map(fromRow), hasMore };
}

/** The delivery, or undefined. */
export async function findDelivery(db: Db, scope: Scope, deliveryId: string): Promise<Delivery | undefined> {
  const row = await db.row(select, scope, [deliveryId]);
  return row === undefined ? undefined : fromRow(row);
}

interface DeliveryRow {
  id: string;
  endpoint_id: string;
  event_id: string;
  event_type: string;
  status: 'pending' | 'succeeded' | 'exhausted';
  attempts: number;
  next_attempt_at: Date | null;
  last_response_status: number | null;
  last_error: string | null;
  delivered_at: Date | null;
  created_at: Date;
  test_mode: boolean;
}

interface ClaimedRow {
  id: string;
  endpoint_id: string;
  event_id: string;
  attempts: number;
  epoch: number;
  url: string;
  body: Buffer;
  request_id: string;
  traceparent: string;
}

const deliveryColumns = [
  'id',
  'endpoint_id',
  'event_id',
  'event_type',
  'status',
  'attempts',
  'next_attempt_at',
  'last_response_status',
  'last_error',
  'delivered_at',
  'created_at',
  'test_mode',
] as const;

const here = (table: string) => `${table}.account_id = $1 and ${table}.test_mode = $2`;

const select = scoped<DeliveryRow>(
  'deliveries.get',
  `select ${deliveryColumns} from webhooks.deliveries d where ${here('d')} and d.id = $3`,
);
const insert = scoped(
  'deliveries.insert',
  `insert into webhooks.deliveries
     (account_id, test_mode, id, endpoint_id, event_id, event_type, status, next_attempt_at, created_at)
   select $1, $2, planned.id, planned.endpoint_id, $5, $6, 'pending', $7, $7
     from unnest($3::text[], $4::text[]) as planned (id, endpoint_id)
   on conflict on constraint one_delivery_for_each_endpoint_and_event do nothing`,
);
const restart = scoped(
  'deliveries.restart',
  `update webhooks.deliveries d
      set status = 'pending', attempts = 0, next_attempt_at = $5, lease_until = null, epoch = epoch + 1
    where ${here('d')} and d.event_id = $3 and d.endpoint_id = any($4)`,
);
const exhaust = scoped(
  'deliveries.exhaust',
  `update webhooks.deliveries d
      set status = 'exhausted', next_attempt_at = null, lease_until = null, last_error = coalesce(d.last_error, $4)
    where ${here('d')} and d.endpoint_id = $3 and d.status = 'pending'`,
);
const findDue = unscoped<{ account_id: string; test_mode: boolean; endpoint_id: string }>(
  'deliveries.due_endpoints',
  'select account_id, test_mode, endpoint_id from webhooks.due_endpoints($1, $2)',
);
const claim = scoped<ClaimedRow>(
  'deliveries.claim',
  `with picked as (
     select d.id, e.url, e.failures_in_row >= $7 as is_probe
       from unnest($3::text[], $4::integer[]) as lane (endpoint_id, room)
       join webhooks.endpoints e
         on ${here('e')} and e.id = lane.endpoint_id and e.status = 'enabled' and e.deleted_at is null
        and (e.open_until is null or e.open_until <= $5)
      cross join lateral (
        select d.id from webhooks.deliveries d
         where ${here('d')} and d.endpoint_id = e.id and d.status = 'pending' and d.next_attempt_at <= $5
           and (d.lease_until is null or d.lease_until <= now())
         order by d.next_attempt_at, d.id
         limit case when e.failures_in_row >= $7 then least(1, lane.room) else lane.room end
         for update skip locked
      ) d
   ), claimed as (
     update webhooks.deliveries d
        set lease_until = now() + $6 * interval '1 millisecond', epoch = d.epoch + 1
       from picked where ${here('d')} and d.id = picked.id
     returning d.id, d.endpoint_id, d.event_id, d.attempts, d.epoch, d.next_attempt_at, picked.url, picked.is_probe
   ), probing as (
     update webhooks.endpoints e
        set open_until = $5::timestamptz + $6 * interval '1 millisecond'
       from claimed where ${here('e')} and claimed.is_probe and e.id = claimed.endpoint_id
   )
   select claimed.id, claimed.endpoint_id, claimed.event_id, claimed.attempts, claimed.epoch, claimed.url,
          v.body, v.request_id, v.traceparent
     from claimed join webhooks.events v on ${here('v')} and v.id = claimed.event_id
    order by claimed.next_attempt_at, claimed.id`,
);
const release = scoped(
  'deliveries.release',
  `update webhooks.deliveries d set lease_until = null
     from unnest($3::text[], $4::integer[]) as given (id, epoch)
    where ${here('d')} and d.id = given.id and d.epoch = given.epoch and d.status = 'pending'`,
);
const record = scoped(
  'deliveries.record',
  `with result as (
     select * from unnest($3::text[], $4::integer[], $5::timestamptz[], $6::integer[], $7::integer[], $8::text[], $9::timestamptz[])
       as r (id, epoch, started_at, duration_ms, response_status, error, next_attempt_at)
   ), noted as (
     insert into webhooks.attempts (account_id, test_mode, delivery_id, epoch, started_at, duration_ms, response_status, error)
     select $1, $2, r.id, r.epoch, r.started_at, r.duration_ms, r.response_status, r.error from result r
     on conflict do nothing
   )
   update webhooks.deliveries d
      set status = case when r.error is null then 'succeeded' when r.next_attempt_at is null then 'exhausted' else 'pending' end,
          attempts = d.attempts + 1,
          next_attempt_at = r.next_attempt_at,
          lease_until = null,
          last_response_status = r.response_status,
          last_error = r.error,
          delivered_at = case when r.error is null then r.started_at + r.duration_ms * interval '1 millisecond' else d.delivered_at end
     from result r
    where ${here('d')} and d.id = r.id and d.status = 'pending' and (d.epoch = r.epoch or r.error is null)`,
);

function fromRow(row: DeliveryRow): Delivery {
  return {
    deliveryId: row.id,
    webhookId: row.endpoint_id,
    eventId: row.event_id,
    eventType: row.event_type,
    status: row.status,
    attempts: row.attempts,
    nextAttemptAt: row.next_attempt_at,
    lastResponseStatus: row.last_response_status,
    lastError: row.last_error,
    deliveredAt: row.delivered_at,
    createdAt: row.created_at,
    testMode: row.test_mode,
  };
}

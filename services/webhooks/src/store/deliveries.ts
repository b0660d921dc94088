import { type Db, type Page, readPage, type Scope, scoped, type Tx } from '@eligo/postgres';
import { type AttemptResult, type Delivery, isSuccess } from '../domain/delivery.ts';

/** Has the delivery of one event to these endpoints wait, due at once; those that have it already are left alone. */
export async function insertWaitingDeliveries(
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

/** The deliveries of these events to endpoints after one, by id, that are there already. */
export async function plannedAlready(
  tx: Tx,
  scope: Scope,
  eventIds: readonly string[],
  after: string,
): Promise<{ eventId: string; webhookId: string }[]> {
  const rows = await tx.rows(selectPlanned, scope, [eventIds, after]);
  return rows.map((row) => ({ eventId: row.event_id, webhookId: row.endpoint_id }));
}

/**
 * Begins a new round for those of an event's deliveries that go to these endpoints, whatever became of the round before, and puts it before what
 * waits for them: an endpoint that has been failing gets one probe, which is then the delivery that was asked for.
 */
export async function restartDeliveries(
  tx: Tx,
  scope: Scope,
  eventId: string,
  webhookIds: readonly string[],
  at: Date,
): Promise<void> {
  await tx.execute(restart, scope, [eventId, webhookIds, at]);
}

/**
 * Gives up what is still to be sent to an endpoint, a thousand at most: some thirty milliseconds of work, where all of a long outage would
 * exceed what a statement may take. True when there may be more, which is not sent either while the endpoint is disabled.
 */
export async function exhaustDeliveries(tx: Tx, scope: Scope, webhookId: string, reason: string): Promise<boolean> {
  return (await tx.execute(exhaust, scope, [webhookId, reason, mostExhausted])) === mostExhausted;
}

/**
 * Records attempts, and that these endpoints answer: those that had failed get a clean record, the others are not written to. A success stands
 * whoever holds the lane by now. A failure counts only from the lane's holder, so that a process that was stopped for longer than its lease cannot
 * undo what another has done since. It counts only for the round that was claimed: a retry that was asked for meanwhile is still due. Gives the
 * endpoints for which deliveries may wait: those that answer again, and those with a failure that does not count. Nothing but successes is not waited for on disk: what a crash of the server forgets is
 * sent again under the same ids.
 */
export async function recordAttempts(
  tx: Tx,
  scope: Scope,
  results: readonly AttemptResult[],
  answering: readonly string[],
): Promise<string[]> {
  if (results.length === 0) return [];
  const isRepeatable = results.every(isSuccess);
  const waiting = await tx.rows(record, scope, [
    results.map(({ webhookId }) => webhookId),
    results.map(({ deliveryId }) => deliveryId),
    results.map(({ epoch }) => epoch),
    results.map(({ startedAt }) => startedAt),
    results.map(({ durationMs }) => durationMs),
    results.map(({ responseStatus }) => responseStatus),
    results.map(({ error }) => error),
    results.map(({ nextAttemptAt }) => nextAttemptAt),
    answering,
    isRepeatable,
    results.map(({ dueAt }) => dueAt),
  ]);
  return waiting.map(({ id }) => id);
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
  return { deliveries: rows.map(deliveryOfRow), hasMore };
}

/** The delivery, or undefined. */
export async function findDelivery(
  db: Db,
  scope: Scope,
  webhookId: string,
  deliveryId: string,
): Promise<Delivery | undefined> {
  const row = await db.row(select, scope, [webhookId, deliveryId]);
  return row === undefined ? undefined : deliveryOfRow(row);
}

/** A row of `deliveryColumns`. */
export interface DeliveryRow {
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

/** The columns of a delivery, for every statement that reads whole ones. */
export const deliveryColumns = [
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
  `select ${deliveryColumns} from webhooks.deliveries d where ${here('d')} and d.endpoint_id = $3 and d.id = $4`,
);
const insert = scoped(
  'deliveries.insert',
  `insert into webhooks.deliveries
     (account_id, test_mode, id, endpoint_id, event_id, event_type, status, next_attempt_at, created_at)
   select $1, $2, planned.id, planned.endpoint_id, $5, $6, 'pending', $7, $7
     from unnest($3::text[], $4::text[]) as planned (id, endpoint_id)
   on conflict on constraint one_delivery_for_each_endpoint_and_event do nothing`,
);
const selectPlanned = scoped<{ event_id: string; endpoint_id: string }>(
  'deliveries.planned_already',
  `select d.event_id, d.endpoint_id from unnest((select $3::text[])) as e (id) cross join lateral (
     select d.event_id, d.endpoint_id from webhooks.deliveries d
      where ${here('d')} and d.event_id = e.id and d.endpoint_id > $4 offset 0) d`,
);
const restart = scoped(
  'deliveries.restart',
  `update webhooks.deliveries d
      set status = 'pending', attempts = 0, next_attempt_at = least($5, (
            select p.next_attempt_at - interval '1 millisecond' from webhooks.deliveries p
             where ${here('p')} and p.endpoint_id = d.endpoint_id and p.next_attempt_at is not null
             order by p.next_attempt_at limit 1))
    where ${here('d')} and d.event_id = $3 and d.endpoint_id = any($4::text[])`,
);
const exhaust = scoped(
  'deliveries.exhaust',
  `update webhooks.deliveries d
      set status = 'exhausted', next_attempt_at = null, last_error = coalesce(d.last_error, $4)
    where ${here('d')} and d.endpoint_id = $3 and d.id = any(array(
      select p.id from webhooks.deliveries p where ${here('p')} and p.endpoint_id = $3 and p.next_attempt_at is not null
       order by p.next_attempt_at, p.id limit $5 for no key update))`,
);
const mostExhausted = 1_000;
const record = scoped<{ id: string }>(
  'deliveries.record',
  `with result as (
     select r.* from unnest($3::text[], $4::text[], $5::integer[], $6::timestamptz[], $7::integer[], $8::integer[], $9::text[], $10::timestamptz[], $13::timestamptz[])
       as r (endpoint_id, id, epoch, started_at, duration_ms, response_status, error, next_attempt_at, due_at),
       (select set_config('synchronous_commit', case when $12::boolean then 'off' else current_setting('synchronous_commit') end, true) as set) soon
      where soon.set is not null
   ), cleared as (
     update webhooks.endpoints e set failures_in_row = 0, failing_since = null, open_until = null
      where ${here('e')} and e.id = any($11::text[]) and e.failing_since is not null
     returning e.id
   ), noted as (
     insert into webhooks.attempts (account_id, test_mode, delivery_id, epoch, started_at, duration_ms, response_status, error)
     select $1, $2, r.id, r.epoch, r.started_at, r.duration_ms, r.response_status, r.error from result r where r.error is not null
     on conflict do nothing
   ), recorded as (
     update webhooks.deliveries d
        set status = case when r.error is null then 'succeeded' when r.next_attempt_at is null then 'exhausted' else 'pending' end,
            attempts = d.attempts + 1,
            next_attempt_at = r.next_attempt_at,
            last_response_status = r.response_status,
            last_duration_ms = r.duration_ms,
            last_error = r.error,
            delivered_at = case when r.error is null then r.started_at + r.duration_ms * interval '1 millisecond' else d.delivered_at end
       from result r
      where ${here('d')} and d.endpoint_id = r.endpoint_id and d.id = r.id and d.status = 'pending'
        and (r.error is null or d.next_attempt_at is not distinct from r.due_at and exists (
          select 1 from webhooks.lanes l where ${here('l')} and l.endpoint_id = r.endpoint_id and l.epoch = r.epoch offset 0
        ))
     returning d.id
   )
   select id from cleared
   union
   select r.endpoint_id from result r left join recorded d on d.id = r.id where r.error is not null and d.id is null`,
);

export function deliveryOfRow(row: DeliveryRow): Delivery {
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

import { type Db, type Page, readPage, type Scope, scoped, type Tx } from '@eligo/postgres';
import type { Endpoint } from '../domain/endpoint.ts';
import type { EndpointHealth } from '../domain/health.ts';

/** Stores a new endpoint. */
export async function insertEndpoint(tx: Tx, scope: Scope, endpoint: Endpoint): Promise<void> {
  const { webhookId, url, events, status, createdAt } = endpoint;
  await tx.execute(insert, scope, [webhookId, url, events, status, createdAt]);
}

/** How many endpoints the account has in this mode, counted up to `most`. */
export async function countEndpoints(db: Db, scope: Scope, most: number): Promise<number> {
  return Number((await db.row(count, scope, [most]))?.endpoints ?? 0n);
}

/** The endpoint, or undefined when there is none or it was deleted. */
export async function findEndpoint(db: Db, scope: Scope, webhookId: string): Promise<Endpoint | undefined> {
  return endpointOf(await db.row(select, scope, [webhookId]));
}

/** The same, locked until the transaction ends. */
export async function lockEndpoint(tx: Tx, scope: Scope, webhookId: string): Promise<Endpoint | undefined> {
  return endpointOf(await tx.row(selectForUpdate, scope, [webhookId]));
}

/** A page of the account's endpoints, newest first. */
export async function listEndpoints(
  db: Db,
  scope: Scope,
  page: Page,
): Promise<{ endpoints: Endpoint[]; hasMore: boolean }> {
  const source = {
    table: 'endpoints',
    id: 'id',
    columns: columns.map((column) => `endpoints.${column}`),
    filter: (query: { whereNull(column: string): unknown }) => void query.whereNull('endpoints.deleted_at'),
  };
  const { rows, hasMore } = await readPage<EndpointRow>(db, scope, source, page);
  return { endpoints: rows.map(fromRow), hasMore };
}

/** Endpoints that want events of this type now. */
export async function subscribedEndpointIds(db: Db, scope: Scope, eventType: string): Promise<string[]> {
  return (await db.rows(subscribed, scope, [eventType])).map(({ id }) => id);
}

/** Sets what an account may change. What is enabled again starts with a clean record. */
export async function updateEndpoint(
  tx: Tx,
  scope: Scope,
  webhookId: string,
  change: { url: string; events: readonly string[] },
): Promise<Endpoint | undefined> {
  return endpointOf(await tx.row(update, scope, [webhookId, change.url, change.events]));
}

/** Whether the endpoint is disabled or deleted; held so until the transaction ends. */
export async function holdDisabled(tx: Tx, scope: Scope, webhookId: string): Promise<boolean> {
  return (await tx.row(selectDisabled, scope, [webhookId])) !== undefined;
}

/** Takes the endpoint out of every list; its deliveries are no longer readable and are purged with their events. */
export async function deleteEndpoint(tx: Tx, scope: Scope, webhookId: string, at: Date): Promise<void> {
  await tx.execute(softDelete, scope, [webhookId, at]);
}

/** Disables an enabled endpoint; undefined when it is not enabled any more. */
export async function disableEndpoint(
  tx: Tx,
  scope: Scope,
  webhookId: string,
  at: Date,
): Promise<Endpoint | undefined> {
  return endpointOf(await tx.row(disable, scope, [webhookId, at]));
}

/** The health of those that are enabled, locked in one order so that two recorders do not wait for each other in a ring. */
export async function lockHealth(
  tx: Tx,
  scope: Scope,
  webhookIds: readonly string[],
): Promise<Map<string, EndpointHealth>> {
  const rows = await tx.rows(selectHealth, scope, [webhookIds]);
  return new Map(
    rows.map((row) => [
      row.id,
      {
        failuresInRow: row.failures_in_row,
        failingSince: row.failing_since,
        unreachableSince: row.unreachable_since,
        openUntil: row.open_until,
        retryAskedAt: row.retry_asked_at,
      },
    ]),
  );
}

/** Stores what is now known about how the endpoint answers. */
export async function saveHealth(tx: Tx, scope: Scope, webhookId: string, health: EndpointHealth): Promise<void> {
  const { failuresInRow, failingSince, unreachableSince, openUntil } = health;
  await tx.execute(setHealth, scope, [webhookId, failuresInRow, failingSince, openUntil, unreachableSince]);
}

/** Lets each of these endpoints be sent to at once, though it has been failing. */
export async function letRetryThrough(tx: Tx, scope: Scope, webhookIds: readonly string[], at: Date): Promise<void> {
  await tx.execute(askForRetry, scope, [webhookIds, at]);
}

interface EndpointRow {
  id: string;
  url: string;
  events: string[];
  status: 'enabled' | 'disabled';
  test_mode: boolean;
  created_at: Date;
}

const columns = ['id', 'url', 'events', 'status', 'test_mode', 'created_at'] as const;
const here = 'account_id = $1 and test_mode = $2';
const live = `${here} and id = $3 and deleted_at is null`;

const insert = scoped(
  'endpoints.insert',
  `insert into webhooks.endpoints (account_id, test_mode, id, url, events, status, created_at)
   values ($1, $2, $3, $4, $5, $6, $7)`,
);
const count = scoped<{ endpoints: bigint }>(
  'endpoints.count',
  `select count(*) as endpoints from (
     select from webhooks.endpoints where ${here} and deleted_at is null order by id limit $3) counted`,
);
const select = scoped<EndpointRow>('endpoints.get', `select ${columns} from webhooks.endpoints where ${live}`);
const selectForUpdate = scoped<EndpointRow>(
  'endpoints.lock',
  `select ${columns} from webhooks.endpoints where ${live} for no key update`,
);
const selectDisabled = scoped<{ id: string }>(
  'endpoints.hold_disabled',
  `select id from webhooks.endpoints where ${here} and id = $3 and status = 'disabled' for no key update`,
);
const subscribed = scoped<{ id: string }>(
  'endpoints.subscribed',
  `select id from webhooks.endpoints
    where ${here} and deleted_at is null and status = 'enabled' and ('*' = any(events) or $3 = any(events))
    order by id`,
);
const update = scoped<EndpointRow>(
  'endpoints.update',
  `update webhooks.endpoints
      set url = $4, events = $5, status = 'enabled', disabled_at = null,
          failures_in_row = 0, failing_since = null, open_until = null, version = version + 1
    where ${live} returning ${columns}`,
);
const softDelete = scoped(
  'endpoints.delete',
  `update webhooks.endpoints
      set deleted_at = $4, status = 'disabled', disabled_at = coalesce(disabled_at, $4), version = version + 1
    where ${live}`,
);
const disable = scoped<EndpointRow>(
  'endpoints.disable',
  `update webhooks.endpoints set status = 'disabled', disabled_at = $4, version = version + 1
    where ${live} and status = 'enabled' returning ${columns}`,
);
const selectHealth = scoped<{
  id: string;
  failures_in_row: number;
  failing_since: Date | null;
  unreachable_since: Date | null;
  open_until: Date | null;
  retry_asked_at: Date | null;
}>(
  'endpoints.health',
  `select id, failures_in_row, failing_since, unreachable_since, open_until, retry_asked_at from webhooks.endpoints
    where ${here} and id = any($3::text[]) and deleted_at is null and status = 'enabled' order by id for no key update`,
);
const setHealth = scoped(
  'endpoints.set_health',
  `update webhooks.endpoints set failures_in_row = $4, failing_since = $5, open_until = $6, unreachable_since = $7
    where ${live} and status = 'enabled'`,
);
// Locked in the order in which recorders lock them.
const askForRetry = scoped(
  'endpoints.ask_for_retry',
  `update webhooks.endpoints e set open_until = null, retry_asked_at = $4
     from (select id from webhooks.endpoints
            where ${here} and id = any($3::text[]) and failures_in_row > 0 order by id for no key update) failing
    where e.account_id = $1 and e.test_mode = $2 and e.id = failing.id`,
);

function endpointOf(row: EndpointRow | undefined): Endpoint | undefined {
  return row === undefined ? undefined : fromRow(row);
}

function fromRow(row: EndpointRow): Endpoint {
  return {
    webhookId: row.id,
    url: row.url,
    events: row.events,
    status: row.status,
    testMode: row.test_mode,
    createdAt: row.created_at,
  };
}

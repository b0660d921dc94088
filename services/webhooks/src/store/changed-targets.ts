import { type Db, type Scope, scoped } from '@eligo/postgres';

/** A URL to which nothing more may be sent for an endpoint, and its present URL; undefined when the endpoint is disabled or deleted. */
export interface TargetChange {
  readonly webhookId: string;
  readonly from: string;
  readonly to: string | undefined;
}

/** Those of these endpoints that are disabled or deleted, or that have another URL than this. */
export async function changedTargets(
  db: Db,
  scope: Scope,
  targets: readonly { webhookId: string; url: string }[],
): Promise<TargetChange[]> {
  const rows = await db.rows(select, scope, [targets.map(({ webhookId }) => webhookId), targets.map(({ url }) => url)]);
  return rows.map(({ id, known_url, url }) => ({ webhookId: id, from: known_url, to: url ?? undefined }));
}

const select = scoped<{ id: string; known_url: string; url: string | null }>(
  'endpoints.changed_targets',
  `select e.id, known.url as known_url, case when e.status = 'enabled' and e.deleted_at is null then e.url end as url
     from unnest($3::text[], $4::text[]) as known (endpoint_id, url)
     join webhooks.endpoints e on e.account_id = $1 and e.test_mode = $2 and e.id = known.endpoint_id
    where e.status <> 'enabled' or e.deleted_at is not null or e.url <> known.url`,
);

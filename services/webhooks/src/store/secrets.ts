import { type Db, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';

/** Stores the secret that an endpoint begins with, sealed. */
export async function insertFirstSecret(tx: Tx, scope: Scope, webhookId: string, sealed: string): Promise<void> {
  await tx.execute(insert, scope, [webhookId, sealed]);
}

/**
 * Makes this the current secret; the one before it signs on for 24 hours, by the database's time, and an older one that still did is dropped:
 * never more than two are live.
 */
export async function rollSecret(tx: Tx, scope: Scope, webhookId: string, sealed: string): Promise<void> {
  await tx.execute(dropOld, scope, [webhookId]);
  await tx.execute(retire, scope, [webhookId]);
  await tx.execute(insert, scope, [webhookId, sealed]);
}

/** Forgets every secret of an endpoint. */
export async function deleteSecrets(tx: Tx, scope: Scope, webhookId: string): Promise<void> {
  await tx.execute(remove, scope, [webhookId]);
}

/** The sealed secrets that sign now, by endpoint, the oldest first. */
export async function liveSecrets(
  db: Db,
  scope: Scope,
  webhookIds: readonly string[],
): Promise<Map<string, readonly string[]>> {
  const byEndpoint = new Map<string, string[]>();
  for (const { endpoint_id, sealed } of await db.rows(selectLive, scope, [webhookIds])) {
    const known = byEndpoint.get(endpoint_id);
    if (known === undefined) byEndpoint.set(endpoint_id, [sealed]);
    else known.push(sealed);
  }
  return byEndpoint;
}

const here = 'account_id = $1 and test_mode = $2';

const insert = scoped(
  'secrets.insert',
  `insert into webhooks.endpoint_secrets (account_id, test_mode, endpoint_id, generation, sealed)
   select $1, $2, $3, 1 + coalesce(max(generation), 0), $4
     from webhooks.endpoint_secrets where ${here} and endpoint_id = $3`,
);
const dropOld = scoped(
  'secrets.drop_old',
  `delete from webhooks.endpoint_secrets where ${here} and endpoint_id = $3 and expires_at is not null`,
);
const retire = scoped(
  'secrets.retire',
  `update webhooks.endpoint_secrets set expires_at = now() + interval '24 hours'
    where ${here} and endpoint_id = $3 and expires_at is null`,
);
const remove = scoped('secrets.delete', `delete from webhooks.endpoint_secrets where ${here} and endpoint_id = $3`);
const selectLive = scoped<{ endpoint_id: string; sealed: string }>(
  'secrets.live',
  `select endpoint_id, sealed from webhooks.endpoint_secrets
    where ${here} and endpoint_id = any($3::text[]) and (expires_at is null or expires_at > now())
    order by endpoint_id, generation`,
);

/** A sealed secret of any account, and where it is. */
export interface SealedSecret {
  readonly scope: Scope;
  readonly webhookId: string;
  readonly generation: number;
  readonly sealed: string;
}

/** How many secrets there are, of all accounts. For a role that row-level security does not bind. */
export async function countSecrets(db: Db): Promise<number> {
  return Number((await db.row(count, null))?.secrets ?? 0n);
}

/** A page of all accounts' secrets in the order of their keys, after one of them. For a role that row-level security does not bind. */
export async function readSecrets(db: Db, after: SealedSecret | undefined, most: number): Promise<SealedSecret[]> {
  const { accountId, testMode } = after?.scope ?? { accountId: '', testMode: false };
  const rows = await db.rows(page, null, [accountId, testMode, after?.webhookId ?? '', after?.generation ?? 0, most]);
  return rows.map((row) => ({
    scope: { accountId: row.account_id, testMode: row.test_mode },
    webhookId: row.endpoint_id,
    generation: row.generation,
    sealed: row.sealed,
  }));
}

/** Replaces a secret by its resealed value; returns false if the secret has changed since or was deleted. */
export async function replaceSealed(
  tx: Tx,
  { webhookId, generation, sealed }: SealedSecret,
  by: string,
): Promise<boolean> {
  if (tx.scope === null) throw new Error('A secret must belong to an account');
  return (await tx.execute(replace, tx.scope, [webhookId, generation, sealed, by])) === 1;
}

const count = unscoped<{ secrets: bigint }>(
  'secrets.count',
  'select count(*) as secrets from webhooks.endpoint_secrets',
);
const page = unscoped<{
  account_id: string;
  test_mode: boolean;
  endpoint_id: string;
  generation: number;
  sealed: string;
}>(
  'secrets.page',
  `select account_id, test_mode, endpoint_id, generation, sealed from webhooks.endpoint_secrets
    where (account_id, test_mode, endpoint_id, generation) > ($1, $2, $3, $4)
    order by account_id, test_mode, endpoint_id, generation limit $5`,
);
const replace = scoped(
  'secrets.replace',
  `update webhooks.endpoint_secrets set sealed = $6
    where ${here} and endpoint_id = $3 and generation = $4 and sealed = $5`,
);

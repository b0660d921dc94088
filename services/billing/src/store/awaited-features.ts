import { type Scope, scoped, type Tx } from '@eligo/postgres';
import { releaseSubscriptions } from './due-subscriptions.ts';

/** Holds what an account can do until the transaction ends: a subscription begins to wait for it either before it is recorded, or not at all. */
export async function lockAccountFeatures(tx: Tx, scope: Scope): Promise<void> {
  await tx.execute(lock, scope);
}

/** Holds subscriptions until then, or until `freeAwaiting`. True if no other of the account waits. The caller holds what the account can do. */
export async function holdForFeatures(tx: Tx, scope: Scope, ids: readonly string[], until: Date): Promise<boolean> {
  const isFirst = (await tx.row(findAny, scope)) === undefined;
  await tx.execute(insert, scope, [ids, until]);
  await releaseSubscriptions(
    tx,
    scope,
    ids.map((id) => ({ id, until })),
  );
  return isFirst;
}

/** Frees so many of the subscriptions that wait for what their account can do, and says how many waited. One that a process works on meanwhile stays with it. */
export async function freeAwaiting(tx: Tx, scope: Scope, most: number): Promise<number> {
  return (await tx.row(free, scope, [most]))?.awaited ?? 0;
}

const lock = scoped<never>(
  'awaited_features.lock',
  `select pg_advisory_xact_lock(hashtextextended('billing.features:' || $1::text || ':' || $2::boolean, 0))`,
);
const findAny = scoped<{ subscription_id: string }>(
  'awaited_features.find_any',
  'select subscription_id from subscriptions_awaiting_features where account_id = $1 and test_mode = $2 limit 1',
);
const insert = scoped<never>(
  'awaited_features.await',
  `insert into subscriptions_awaiting_features (account_id, test_mode, subscription_id, held_until)
   select $1, $2, id, $4 from unnest($3::text[]) id
   on conflict (account_id, test_mode, subscription_id) do update set held_until = excluded.held_until`,
);
// Skips those that another process frees at this moment.
const free = scoped<{ awaited: number }>(
  'awaited_features.free',
  `with awaited as (
     delete from subscriptions_awaiting_features where account_id = $1 and test_mode = $2 and subscription_id in (
       select subscription_id from subscriptions_awaiting_features where account_id = $1 and test_mode = $2
       order by subscription_id limit $3 for update skip locked)
     returning subscription_id, held_until
   ), freed as (
     update subscriptions s set held_until = null from awaited a
      where s.account_id = $1 and s.test_mode = $2 and s.id = a.subscription_id and s.held_until = a.held_until
   )
   select count(*)::integer as awaited from awaited`,
);

import { type Database, unscoped } from '@eligo/postgres';

/** Notes that this instance charges for so long, and counts the instances that do, this one included. */
export async function countCharging(database: Database, instanceId: string, liveMs: number): Promise<number> {
  const row = await database.row(meet, null, [instanceId, liveMs]);
  return row?.instances ?? 1;
}

// Skips the rows that another instance deletes at this moment: two that wake together would wait for each other. A hundred are more than ever end in a minute.
const meet = unscoped<{ instances: number }>(
  'charging_instances.meet',
  `with met as (
     insert into charging_instances (id, live_until) values ($1, clock_timestamp() + $2::integer * interval '1 millisecond')
     on conflict (id) do update set live_until = excluded.live_until
   ), gone as (
     delete from charging_instances where id in (
       select id from charging_instances where id <> $1 and live_until < clock_timestamp() - interval '1 minute'
       limit 100 for update skip locked)
   )
   select 1 + count(*)::integer as instances from charging_instances where id <> $1 and live_until > clock_timestamp()`,
);

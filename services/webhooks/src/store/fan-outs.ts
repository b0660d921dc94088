import { type Db, type Scope, scoped, type Tx, unscoped } from '@eligo/postgres';
import { type TurnPlace, type TurnRow, type Turns, turnsOf } from '@eligo/service';

/** The job that plans deliveries of events that many endpoints want. */
export const fanOutJob = 'fan-out';

/** An event whose deliveries are not all planned yet. */
export interface FanOut {
  readonly eventId: string;
  readonly eventType: string;
  /** The last endpoint, by id, for which the delivery is planned; empty before the first. */
  readonly plannedThrough: string;
}

/** Leaves the deliveries of events that were kept in this transaction to the job. */
export async function insertFanOuts(tx: Tx, scope: Scope, eventIds: readonly string[]): Promise<void> {
  await tx.execute(insert, scope, [eventIds]);
}

/** The accounts after a place that have fan-outs, at most `most`. */
export async function fanOutTurns(db: Db, after: TurnPlace, most: number): Promise<Turns> {
  return turnsOf(await db.rows(turns, null, [after.accountId, after.testMode, most]), most);
}

/** For how long the oldest fan-out has waited. */
export async function fanOutLagSeconds(db: Db): Promise<number> {
  return (await db.row(lag, null))?.seconds ?? 0;
}

/** The account's oldest fan-outs except for these events, locked until the transaction ends; those that another process works on are left out. */
export async function lockFanOuts(tx: Tx, scope: Scope, except: readonly string[], most: number): Promise<FanOut[]> {
  const rows = await tx.rows(lock, scope, [most, except]);
  return rows.map((row) => ({
    eventId: row.event_id,
    eventType: row.event_type,
    plannedThrough: row.planned_through,
  }));
}

/** Marks that the delivery of the event is planned for all endpoints up to this one. */
export async function moveFanOut(tx: Tx, scope: Scope, eventId: string, plannedThrough: string): Promise<void> {
  await tx.execute(move, scope, [eventId, plannedThrough]);
}

/** Ends fan-outs of these events. One that a process works on is waited for. */
export async function endFanOuts(tx: Tx, scope: Scope, eventIds: readonly string[]): Promise<void> {
  await tx.execute(end, scope, [eventIds]);
}

const here = (table: string) => `${table}.account_id = $1 and ${table}.test_mode = $2`;

const insert = scoped(
  'fan_outs.insert',
  'insert into webhooks.fan_outs (account_id, test_mode, event_id) select $1, $2, id from unnest((select $3::text[])) as e (id)',
);
const turns = unscoped<TurnRow>(
  'fan_outs.turns',
  'select account_id, test_mode, is_due from webhooks.fan_out_turns($1, $2, $3)',
);
const lag = unscoped<{ seconds: number | null }>('fan_outs.lag', 'select webhooks.fan_out_lag_seconds() as seconds');
const lock = scoped<{ event_id: string; event_type: string; planned_through: string }>(
  'fan_outs.lock',
  `select f.event_id, e.event_type, f.planned_through
     from (select event_id, planned_through from webhooks.fan_outs
            where account_id = $1 and test_mode = $2 and event_id <> all($4::text[])
            order by event_id limit $3 for no key update skip locked) f
    cross join lateral (select e.event_type from webhooks.events e where ${here('e')} and e.id = f.event_id offset 0) e
    order by f.event_id`,
);
const move = scoped(
  'fan_outs.move',
  `update webhooks.fan_outs f set planned_through = $4 where ${here('f')} and f.event_id = $3`,
);
const end = scoped(
  'fan_outs.end',
  `delete from webhooks.fan_outs f where ${here('f')} and f.event_id = any($3::text[])`,
);

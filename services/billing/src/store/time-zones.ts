import { type Db, type Scope, scoped, type Tx } from '@eligo/postgres';
import { defaultTimeZone } from '@eligo/values';

/** The time zone of an account, by its IANA name. */
export interface TimeZone {
  readonly timeZone: string;
  /** Orders the time zones of an account. */
  readonly version: bigint;
}

/** Stores the time zone, unless a newer one is stored. */
export async function recordTimeZone(tx: Tx, scope: Scope, { timeZone, version }: TimeZone): Promise<void> {
  await tx.execute(record, scope, [timeZone, version]);
}

/** The time zone whose days the receipts and mails of the account name; the default while the gateway has not told it. */
export async function findTimeZone(db: Db, scope: Scope): Promise<string> {
  return (await db.row(find, scope))?.time_zone ?? defaultTimeZone;
}

const record = scoped<never>(
  'time_zones.record',
  `insert into time_zones as known (account_id, test_mode, time_zone, version) values ($1, $2, $3, $4)
   on conflict (account_id, test_mode) do update
     set time_zone = excluded.time_zone, version = excluded.version, recorded_at = clock_timestamp()
     where known.version < excluded.version`,
);
const find = scoped<{ time_zone: string }>(
  'time_zones.find',
  'select time_zone from time_zones where account_id = $1 and test_mode = $2',
);

import { type Database, type Db, unscoped } from '@eligo/postgres';

/** When the outbox's stream was created, as it is remembered; undefined before the first time. */
export async function rememberedStream(database: Database, stream: string): Promise<string | undefined> {
  return (await database.row(remembered, null, [stream]))?.created;
}

/** Remembers when the stream was created. */
export async function rememberStream(db: Db, stream: string, created: string): Promise<void> {
  await db.execute(remember, null, [stream, created]);
}

const remembered = unscoped<{ created: string }>(
  'events.remembered_stream',
  'select created from outbox_stream where stream = $1',
);
const remember = unscoped(
  'events.remember_stream',
  `insert into outbox_stream (stream, created) values ($1, $2) on conflict (stream) do update set created = excluded.created`,
);

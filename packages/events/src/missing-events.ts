import { openDatabase, unscoped } from '@eligo/postgres';

/** Which events to look for in which inbox. */
export interface MissingQuery {
  /** A connection that may read both schemas: the owner's. */
  readonly url: string;
  readonly from: string;
  readonly service: string;
  readonly consumer: string;
  /** Event types, or `*`. */
  readonly types: readonly string[];
  /** How far back to look (24), and how old an event is before it is missed (300 seconds). */
  readonly hours?: number;
  readonly graceSeconds?: number;
}

/** An event that a consumer has not had. */
export interface MissingEvent {
  readonly eventId: string;
  readonly type: string;
  readonly createdAt: Date;
  /** Whether it has left the outbox. */
  readonly isPublished: boolean;
}

/**
 * Committed events that a consumer has neither handled nor dead-lettered: none, unless something has gone wrong that the
 * detector does not know. Services cannot ask this, since none reads another's schema; an operator's command does.
 */
export async function missingEvents(query: MissingQuery): Promise<MissingEvent[]> {
  const { url, from, service, consumer, types, hours = 24, graceSeconds = 300 } = query;
  for (const schema of [from, service])
    if (!/^[a-z][a-z0-9_]*$/.test(schema)) throw new Error(`Not a schema name: ${schema}`);
  const database = openDatabase({ url, applicationName: 'missing events', max: 1, statementTimeoutMs: 300_000 });
  const find = unscoped<{ event_id: string; type: string; created_at: Date; is_published: boolean }>(
    `events.missing.${from}.${service}`,
    `select o.event_id, o.type, o.created_at,
            not exists (select from ${from}.outbox_queue q where q.event_id = o.event_id) as is_published
     from ${from}.outbox o
     where o.created_at > now() - make_interval(hours => $1) and o.created_at < now() - make_interval(secs => $2)
       and o.payload is not null and ('*' = any($3::text[]) or o.type = any($3::text[]))
       and not exists (select from ${service}.inbox i where i.consumer = $4 and i.event_id = o.event_id)
       and not exists (select from ${service}.dead_letters d where d.consumer = $4 and d.event_id = o.event_id)
     order by o.event_id`,
  );
  try {
    const rows = await database.rows(find, null, [hours, graceSeconds, types, consumer]);
    return rows.map((row) => ({
      eventId: row.event_id,
      type: row.type,
      createdAt: row.created_at,
      isPublished: row.is_published,
    }));
  } finally {
    await database.close();
  }
}

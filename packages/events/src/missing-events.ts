import { openDatabase, unscoped } from '@eligo/postgres';

/** A consumer, and the events that it takes. */
export interface Taking {
  /** The schema of its service. */
  readonly service: string;
  readonly consumer: string;
  /** Event types, or `*`. */
  readonly types: readonly string[];
}

/** Which events of a producer to look for. */
interface Producing {
  /** A connection that may read the schemas of all: the owner's. */
  readonly url: string;
  readonly from: string;
  /** How far back to look (24), and how old an event is before it is missed (300 seconds). */
  readonly hours?: number;
  readonly graceSeconds?: number;
}

/** Which events to look for in which inbox. */
export interface MissingQuery extends Producing, Taking {}

/** Which events to look for in several inboxes. */
export interface MissingPagesQuery extends Producing {
  readonly consumers: readonly Taking[];
  /** Events of a page (10,000). */
  readonly pageSize?: number;
}

/** An event that a consumer has not had. */
export interface MissingEvent {
  readonly eventId: string;
  readonly type: string;
  readonly createdAt: Date;
  /** Whether it has left the outbox. */
  readonly isPublished: boolean;
}

/** One with the consumer that has not had it. */
export interface MissedEvent extends MissingEvent {
  readonly service: string;
  readonly consumer: string;
}

/** The same of one consumer, all at once: for those who name each of them. */
export async function missingEvents({ service, consumer, types, ...query }: MissingQuery): Promise<MissingEvent[]> {
  const missing: MissingEvent[] = [];
  for await (const page of missingPages({ ...query, consumers: [{ service, consumer, types }] })) {
    for (const { eventId, type, createdAt, isPublished } of page)
      missing.push({ eventId, type, createdAt, isPublished });
  }
  return missing;
}

/**
 * Committed events that a consumer has neither handled nor dead-lettered: none, unless something has gone wrong that the
 * detector does not know. Services cannot ask this, since none reads another's schema; an operator's command does. Page by page of the
 * outbox, oldest first, so that neither a statement nor the memory grows with what is missing.
 */
export async function* missingPages(query: MissingPagesQuery): AsyncGenerator<MissedEvent[]> {
  const { url, from, consumers, hours = 24, graceSeconds = 300, pageSize = 10_000 } = query;
  for (const schema of [from, ...consumers.map(({ service }) => service)])
    if (!/^[a-z][a-z0-9_]*$/.test(schema)) throw new Error(`Not a schema name: ${schema}`);
  const database = openDatabase({ url, applicationName: 'missing events', max: 1, statementTimeoutMs: 30_000 });
  try {
    for (let after = ''; ; ) {
      const last = (await database.row(endOfPage(from), null, [after, pageSize]))?.event_id ?? null;
      if (last === null) return;
      const page: MissedEvent[] = [];
      for (const { service, consumer, types } of consumers) {
        const values = [after, last, hours, graceSeconds, types, consumer];
        const rows = await database.rows(missingBetween(from, service), null, values);
        for (const row of rows) {
          const event = { eventId: row.event_id, type: row.type, createdAt: row.created_at };
          page.push({ ...event, isPublished: row.is_published, service, consumer });
        }
      }
      if (page.length > 0) yield page;
      after = last;
    }
  } finally {
    await database.close();
  }
}

function endOfPage(from: string) {
  return unscoped<{ event_id: string | null }>(
    `events.missing_page.${from}`,
    `select max(event_id) as event_id from (select event_id from ${from}.outbox where event_id > $1 order by event_id limit $2) page`,
  );
}

// Each event is looked up by its key: the planner cannot turn that into a join over a whole inbox.
function missingBetween(from: string, service: string) {
  return unscoped<{ event_id: string; type: string; created_at: Date; is_published: boolean }>(
    `events.missing.${from}.${service}`,
    `select o.event_id, o.type, o.created_at,
            not exists (select from ${from}.outbox_queue q where q.event_id = o.event_id offset 0) as is_published
     from ${from}.outbox o
     where o.event_id > $1 and o.event_id <= $2
       and o.created_at > now() - make_interval(hours => $3) and o.created_at < now() - make_interval(secs => $4)
       and o.payload is not null and ('*' = any($5::text[]) or o.type = any($5::text[]))
       and not exists (select from ${service}.inbox i where i.consumer = $6 and i.event_id = o.event_id offset 0)
       and not exists (select from ${service}.dead_letters d where d.consumer = $6 and d.event_id = o.event_id offset 0)
     order by o.event_id`,
  );
}

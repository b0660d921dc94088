import { type Database, sqlState, unscoped } from '@eligo/postgres';
import { ErrorCode, NatsError, type StreamInfo } from 'nats';
import type { EventConnection } from './connection.ts';
import { hasTaken } from './inbox.ts';
import type { EventLogger } from './logger.ts';
import { streamOf } from './names.ts';
import { hasEvent } from './outbox.ts';
import { type StreamMark, StreamRefused } from './stream-settings.ts';
import { eventIdAt, findStream } from './streams.ts';

/**
 * The installation that a database belongs to, as its streams name it. A restored backup has the same. Undefined for a database that was set up
 * before installations were written down: its streams have no mark.
 */
export async function installationOf(database: Database): Promise<string | undefined> {
  const known = installations.get(database);
  if (known !== undefined) return known;
  try {
    const row = await database.row(recorded, null);
    if (row === undefined) return undefined;
    const installation = `${row.name === '' ? '' : `${row.name}, `}set up ${row.set_up}`;
    installations.set(database, installation);
    return installation;
  } catch (error) {
    // The table does not exist.
    if (sqlState(error) === '42P01') return undefined;
    throw error;
  }
}

// It never changes, and each consumer asks for it.
const installations = new WeakMap<Database, string>();

/** The description of an installation's stream. Metadata would need a server of 2.10. */
export function markOf(installation: string | undefined): StreamMark {
  return installation === undefined ? {} : { description: `${prefix}${installation}` };
}

/** What a relay knows of its stream before it looks. */
export interface KnownStream {
  readonly installation: string | undefined;
  /** When the stream was created that this outbox remembers. */
  readonly created: string | undefined;
}

/**
 * Throws StreamRefused if the producing service's stream belongs to another installation. A stream without a mark was created by a release that did
 * not mark streams: it belongs to this installation if it is the one that the outbox remembers, if its last event is in the outbox, or if it never had one.
 */
export async function refuseForeignStream(
  database: Database,
  connection: EventConnection,
  service: string,
  found: StreamInfo,
  { installation, created }: KnownStream,
): Promise<void> {
  if (installation === undefined) return;
  if (isMarked(found, installation)) return;
  const { last_seq: lastSeq } = found.state;
  if (created === found.created || lastSeq === 0) return;
  const eventId = await eventIdAt(connection, service, lastSeq);
  // A stream whose events have all expired says nothing of a database that had a stream before.
  if (eventId === undefined ? created !== undefined : await hasEvent(database, eventId)) return;
  throw new StreamRefused(
    `stream ${streamOf(service)} was used before and this database does not know it. It belongs to another installation or to a deleted database. ${remedy}`,
  );
}

/** Whether a consumer may take events from a stream; a new consumer waits until the stream's relay has marked it. */
export type SourceState = 'ours' | 'unmarked' | 'unmarked and unknown';

/**
 * Reads whether a consumer may take from a producing service's stream, before it does. A stream without a mark is as it was before streams were marked: the
 * consumer goes on if it has handled events. Undefined if there is no stream yet. Throws StreamRefused if the stream is another installation's.
 */
export class SourceOwner {
  readonly #database: Database;
  readonly #connection: EventConnection;
  readonly #from: string;
  readonly #consumer: string;
  readonly #tellUnreadable: () => void;
  #hasTold = false;

  constructor(options: {
    readonly database: Database;
    readonly connection: EventConnection;
    readonly from: string;
    readonly consumer: string;
    readonly service: string;
    readonly logger: EventLogger;
  }) {
    const { database, connection, from, consumer, service, logger } = options;
    this.#database = database;
    this.#connection = connection;
    this.#from = from;
    this.#consumer = consumer;
    this.#tellUnreadable = () =>
      logger.warn(
        { service, consumer, from },
        'NATS user may not read the stream that it consumes; update the permissions from deploy/nats.conf',
      );
  }

  async look(): Promise<SourceState | undefined> {
    const installation = await installationOf(this.#database);
    if (installation === undefined) return 'ours';
    const found = await this.#find();
    if (found === undefined || found === 'unreadable') return found && 'ours';
    if (isMarked(found, installation)) return 'ours';
    return (await hasTaken(this.#database, this.#consumer)) ? 'unmarked' : 'unmarked and unknown';
  }

  // Permissions that are older than the mark: users and passwords are this installation's own, and events must not stop for an upgrade.
  async #find(): Promise<StreamInfo | 'unreadable' | undefined> {
    try {
      return await findStream(this.#connection, this.#from);
    } catch (error) {
      if (!(error instanceof NatsError) || error.code !== ErrorCode.PermissionsViolation) throw error;
      if (!this.#hasTold) this.#tellUnreadable();
      this.#hasTold = true;
      return 'unreadable';
    }
  }
}

// False for a stream that has no mark; throws for one with another installation's.
function isMarked({ config }: StreamInfo, installation: string): boolean {
  const description = config.description ?? '';
  if (!description.startsWith(prefix)) return false;
  const owner = description.slice(prefix.length);
  if (owner === installation) return true;
  throw new StreamRefused(
    `stream ${config.name} belongs to another Eligo installation (${owner}); this one is ${installation}. ${remedy}`,
  );
}

const prefix = 'Eligo installation: ';
const remedy =
  'Give this installation a NATS server or account of its own and set NATS_URL. If the other installation is deleted, run: eligo events rebuild-streams';

const recorded = unscoped<{ name: string; set_up: string }>(
  'events.installation',
  `select name, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as set_up from eligo.installation`,
);

import { type Database, sqlState, unscoped } from '@eligo/postgres';
import { ErrorCode, NatsError, type StreamInfo } from 'nats';
import type { EventConnection } from './connection.ts';
import type { EventLogger } from './logger.ts';
import { streamOf } from './names.ts';
import { hasEvent } from './outbox.ts';
import { rememberedStream } from './stream-memory.ts';
import { type StreamMark, StreamRefused } from './stream-settings.ts';
import { eventIdAt, findStream } from './streams.ts';

/**
 * The installation that a database belongs to, as its streams name it. A restored backup has the same. Undefined for a database that was set up
 * before installations were written down: its streams have no mark.
 */
export async function installationLabel(database: Database): Promise<string | undefined> {
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
interface KnownStream {
  readonly installation: string | undefined;
  /** When the stream was created that this outbox remembers. */
  readonly created: string | undefined;
}

/**
 * Throws StreamRefused if the producing service's stream belongs to another installation. A stream without a mark was created by a release that did
 * not mark streams: it belongs to this installation if it is the one that the outbox remembers, if its last event is in the outbox, or if it never had
 * one, was created after this installation was set up, and the outbox remembers none. A stream that the outbox remembers and that an installation has
 * marked which was set up later is this one's: its relay marks it again. Of two installations one alone was set up later, so they do not take turns.
 */
export async function refuseForeignStream(
  database: Database,
  connection: EventConnection,
  service: string,
  found: StreamInfo,
  { installation, created }: KnownStream,
): Promise<void> {
  const isRemembered = created === found.created;
  const owner = ownerOf(found);
  if (isRemembered && owner !== undefined && isOlder(installation, owner)) return;
  if (isMarked(found, installation) || installation === undefined || isRemembered) return;
  const { last_seq: lastSeq } = found.state;
  if (lastSeq === 0) {
    if (created === undefined && Date.parse(setUpOf(installation)) <= Date.parse(found.created)) return;
    throw unknown(found, 'is not the one of this database');
  }
  const eventId = await eventIdAt(connection, service, lastSeq);
  if (eventId !== undefined && (await hasEvent(database, eventId))) return;
  throw unknown(found, 'was used before and this database does not know it');
}

/**
 * Whose the producing service's stream is, if it may be another installation's: what its mark names, or `unmarkedStream` for one without a mark that the outbox
 * does not remember. Undefined for this installation's own.
 */
export async function otherOwner(database: Database, service: string, found: StreamInfo): Promise<string | undefined> {
  const installation = await installationLabel(database);
  const owner = ownerOf(found);
  if (owner !== undefined && owner === installation) return undefined;
  const isRemembered = (await rememberedStream(database, streamOf(service))) === found.created;
  if (isRemembered && (owner === undefined || isOlder(installation, owner))) return undefined;
  return owner ?? unmarkedStream;
}

/** Stands for the owner of a stream that names none. */
export const unmarkedStream = 'unmarked';

/**
 * Whether the service's own stream on this server is the one of its database. The server then is this installation's: no two streams were created in
 * the same nanosecond. Throws StreamRefused if the stream bears another installation's mark.
 */
export async function knowsOwnStream(
  database: Database,
  connection: EventConnection,
  service: string,
): Promise<boolean> {
  const installation = await installationLabel(database);
  const found = await findStream(connection, service);
  if (found === undefined) return false;
  if (isMarked(found, installation) || installation === undefined) return true;
  return (await rememberedStream(database, streamOf(service))) === found.created;
}

/** Whether a consumer may take events from a stream. Where the server is unknown as well, it waits until the stream's relay has marked it. */
export type SourceState = 'ours' | 'unmarked' | 'unmarked and unknown';

/**
 * Reads whether a consumer may take from a producing service's stream, before it does. A stream without a mark is as it was before streams were marked: the
 * consumer goes on if its own service's stream on the same server is the one of its database. Undefined if there is no stream yet. Throws StreamRefused if the stream is another installation's.
 */
export class SourceOwner {
  readonly #database: Database;
  readonly #connection: EventConnection;
  readonly #from: string;
  readonly #service: string;
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
    this.#service = service;
    this.#tellUnreadable = () =>
      logger.warn(
        { service, consumer, from },
        'NATS user may not read the stream that it consumes; update the permissions from deploy/nats.conf',
      );
  }

  async look(): Promise<SourceState | undefined> {
    const installation = await installationLabel(this.#database);
    const found = await this.#find();
    if (found === undefined || found === 'unreadable') return found && 'ours';
    if (isMarked(found, installation) || installation === undefined) return 'ours';
    const isKnown = await knowsOwnStream(this.#database, this.#connection, this.#service);
    return isKnown ? 'unmarked' : 'unmarked and unknown';
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

/** The text for a stream without a mark that a consumer waits at for too long. */
export function unknownStream(service: string): string {
  return `stream ${streamOf(service)} names no installation and this database does not know it. If it is this installation's own, start ${service} in this release, which marks it. Otherwise: ${remedyOf(unmarkedStream)}`;
}

// False for a stream that has no mark; throws for one with another installation's.
function isMarked(found: StreamInfo, installation: string | undefined): boolean {
  const owner = ownerOf(found);
  if (owner === undefined || owner === installation) return owner !== undefined;
  throw new StreamRefused(
    `stream ${found.config.name} belongs to another Eligo installation (${owner}); this one is ${installation ?? 'not recorded in its database'}. ${remedyOf(owner)}`,
  );
}

// Whoever may change the stream chose the text, and operators are told it in a shell command.
function ownerOf({ config }: StreamInfo): string | undefined {
  const description = config.description ?? '';
  if (!description.startsWith(prefix)) return undefined;
  const owner = description.slice(prefix.length);
  return /^(?:[a-z0-9]{1,20}, )?set up [\dT:.Z-]+$/.test(owner) ? owner : unreadableMark;
}

function isOlder(installation: string | undefined, other: string): boolean {
  const [mine, theirs] = [setUpOf(installation ?? ''), setUpOf(other)];
  return mine !== '' && mine < theirs;
}

// '' for a text that is not an installation's.
function setUpOf(installation: string): string {
  return /(?:^|, )set up ([\dT:.Z-]+)$/.exec(installation)?.[1] ?? '';
}

function unknown({ config }: StreamInfo, what: string): StreamRefused {
  return new StreamRefused(
    `stream ${config.name} ${what}. It belongs to another installation or to a deleted database. ${remedyOf(unmarkedStream)}`,
  );
}

const prefix = 'Eligo installation: ';
/** Stands for the owner whose mark no installation writes. */
const unreadableMark = 'unreadable';
const remedyOf = (owner: string) =>
  `Give this installation a NATS server or account of its own and set NATS_URL. If the other installation is deleted, run: eligo events rebuild-streams --of-deleted-installation "${owner}"`;

const recorded = unscoped<{ name: string; set_up: string }>(
  'events.installation',
  `select name, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as set_up from eligo.installation`,
);

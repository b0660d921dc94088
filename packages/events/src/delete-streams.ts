import type { Database } from '@eligo/postgres';
import { connectNats, type EventConnection } from './connection.ts';
import { streamOf } from './names.ts';
import { otherOwner, unmarkedStream } from './stream-owner.ts';
import { deleteStream, findStream } from './streams.ts';

/** Where the streams are, and as whom: services may not delete their own. */
export interface StreamsPlace {
  readonly url: string;
  readonly tlsFolder?: string | undefined;
  /** How long to try to connect (10,000). */
  readonly withinMs?: number;
}

/** A stream to delete. */
export interface DeletedStream {
  /** The producing service. */
  readonly service: string;
  /** Whose it has to be; `anyone` does not look. */
  readonly owner: StreamOwner | 'anyone';
}

/** The installation of a database in the service's schema, or the one that a deleted installation's streams name: its mark, or `unmarked`. */
export interface StreamOwner {
  readonly database: Database;
  readonly deletedInstallation?: string | undefined;
}

/**
 * Deletes streams, with the places of their consumers. Relays make them anew within seconds and fill them from the outboxes. Throws at the first stream
 * that belongs to another installation, and leaves it as it is.
 */
export async function deleteStreams(
  { url, tlsFolder, withinMs = 10_000 }: StreamsPlace,
  streams: readonly DeletedStream[],
): Promise<void> {
  const signal = AbortSignal.timeout(withinMs);
  let reason = '';
  const connection = await connectNats({
    ...{ url, tlsFolder, signal, service: 'cli', logger: quiet },
    onUnreachable(text) {
      reason = text;
    },
  }).catch((cause: unknown) => {
    throw new Error(`NATS is unreachable: ${reason || 'no answer'}`, { cause });
  });
  try {
    for (const { service, owner } of streams) {
      if (owner !== 'anyone') await refuseOthers(connection, service, owner);
      await deleteStream(connection, service).catch((cause: unknown) => {
        throw new Error(
          `The server rejected the deletion of stream ${streamOf(service)}; use a NATS user who may delete it`,
          { cause },
        );
      });
    }
  } finally {
    await connection.close();
  }
}

async function refuseOthers(connection: EventConnection, service: string, owner: StreamOwner): Promise<void> {
  const { database, deletedInstallation } = owner;
  const found = await findStream(connection, service);
  const other = found && (await otherOwner(database, service, found));
  if (other === undefined || other === deletedInstallation) return;
  const whose =
    other === unmarkedStream
      ? 'names no installation, and this database does not know it'
      : `belongs to another Eligo installation (${other})`;
  throw new Error(
    `Stream ${streamOf(service)} ${whose}. It was not deleted. If that installation is deleted, add --of-deleted-installation "${other}"`,
  );
}

const quiet = { info: nothing, warn: nothing, error: nothing };

function nothing(): undefined {
  return undefined;
}

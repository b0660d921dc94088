import { connectNats } from './connection.ts';
import { streamOf } from './names.ts';
import { deleteStream } from './streams.ts';

/** Where the streams are, and as whom: services may not delete their own. */
export interface StreamsPlace {
  readonly url: string;
  readonly tlsFolder?: string | undefined;
  /** How long to try to connect (10,000). */
  readonly withinMs?: number;
}

/** Deletes the streams of these services, with the places of their consumers. Relays make them anew within seconds and fill them from the outboxes. */
export async function deleteStreams(
  { url, tlsFolder, withinMs = 10_000 }: StreamsPlace,
  services: readonly string[],
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
    for (const service of services) {
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

const quiet = { info: nothing, warn: nothing, error: nothing };

function nothing(): undefined {
  return undefined;
}

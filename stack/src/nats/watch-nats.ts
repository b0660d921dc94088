import { existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import type { StoreWatch } from '@eligo/events/store-watch';

/** What is watched, and how it is mended. */
export interface WatchedNats {
  /** The folder that the server keeps its streams in. */
  readonly streamsFolder: string;
  /** A user without limits. */
  readonly url: string;
  /** False while another one is being started: it may read large streams for as long as it likes. */
  readonly isRunning: () => boolean;
  /** Stops the server, also one that does not react to signals that ask; another one is started then. */
  readonly restart: () => Promise<void>;
  readonly onTrouble: (text: string) => void;
  readonly everyMs?: number;
}

/**
 * Restarts a server that runs and cannot store: JetStream is off or hangs when its disk is full, and writes to files that are gone when its folder
 * is removed. Only a restart mends either; the relays then fill the streams from the outboxes. Returns what ends the watch.
 */
export function watchNats(watched: WatchedNats): () => Promise<void> {
  const ending = new AbortController();
  const watching = watch(watched, ending.signal).catch((error: unknown) => {
    if (!ending.signal.aborted) throw error;
  });
  return async () => {
    ending.abort();
    await watching;
  };
}

const defaultEveryMs = 5_000;
// A server that starts with large streams may not answer for some seconds.
const failuresInRow = 3;

async function watch({ everyMs = defaultEveryMs, ...watched }: WatchedNats, signal: AbortSignal): Promise<void> {
  const { watchStore } = await import('@eligo/events/store-watch');
  let store: StoreWatch | undefined;
  // A server can hang before the first connection, too.
  const look = async () => {
    store ??= await watchStore(watched.url);
    await store.look();
  };
  try {
    for (let failures = 0; ; ) {
      await pause(everyMs, undefined, { signal });
      if (!watched.isRunning()) {
        failures = 0;
        continue;
      }
      const isGone = !existsSync(watched.streamsFolder);
      const isWell = !isGone && (await answers(look()));
      failures = isWell ? 0 : failures + 1;
      if (!isGone && failures < failuresInRow) continue;
      watched.onTrouble(
        isGone ? 'The folder of NATS is gone; restarting NATS' : 'JetStream does not work; restarting NATS',
      );
      await watched.restart();
      failures = 0;
    }
  } finally {
    await store?.close();
  }
}

function answers(look: Promise<void>): Promise<boolean> {
  return look.then(
    () => true,
    () => false,
  );
}

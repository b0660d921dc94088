import type { CallOptions } from '@eligo/rpc';
import DataLoader from 'dataloader';

/** How records of one kind are read by id. */
export interface SharedReadsOptions<Message> {
  /** One record; rejects with its 404. */
  readonly one: (id: string, call: CallOptions) => Promise<Message>;
  /** The records of these ids that are the caller's own, in any order. */
  readonly many: (ids: string[], call: CallOptions) => Promise<readonly Message[]>;
  readonly idOf: (message: Message) => string;
}

/** As many as a batch call takes. */
const largestBatch = 100;

/**
 * A read by id which joins those that one caller makes in the same turn of the event loop into one call, so that a busy gateway pays for a hop
 * once for many. A read that is alone in its turn is sent as it is, at once. What a batch leaves out is asked for alone: that call knows why.
 */
export function sharedReads<Message>(
  options: SharedReadsOptions<Message>,
): (id: string, call: CallOptions) => Promise<Message> {
  // By the caller's signed context, of which there is one object per key: nothing is ever read on another's behalf.
  const loaders = new WeakMap<object, DataLoader<Read, Message>>();
  const loaderOf = (caller: object) => {
    const known = loaders.get(caller);
    if (known !== undefined) return known;
    const loader = new DataLoader((reads: readonly Read[]) => readAll(reads, options), {
      cache: false,
      maxBatchSize: largestBatch,
      batchScheduleFn: setImmediate,
    });
    loaders.set(caller, loader);
    return loader;
  };
  return (id, call) => (call.caller === undefined ? options.one(id, call) : loaderOf(call.caller).load({ id, call }));
}

interface Read {
  readonly id: string;
  readonly call: CallOptions;
}

// Answers in the order of the reads; what failed for one is its own.
async function readAll<Message>(
  reads: readonly Read[],
  { one, many, idOf }: SharedReadsOptions<Message>,
): Promise<(Message | Error)[]> {
  const [first] = reads;
  if (first === undefined) return [];
  const found = new Map<string, Message>();
  if (reads.length > 1) {
    const ids = [...new Set(reads.map(({ id }) => id))];
    for (const message of await many(ids, first.call)) found.set(idOf(message), message);
  }
  return Promise.all(reads.map(({ id, call }) => found.get(id) ?? one(id, call).catch(asError)));
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

import { DiscardPolicy, nanos, RetentionPolicy, StorageType, type StreamConfig, type StreamInfo } from 'nats';
import type { EventConnection } from './connection.ts';
import { largestEventBytes } from './event-size.ts';
import { type EventLogger, errorLabel } from './logger.ts';
import { streamOf, subjectsOf } from './names.ts';

/** How long a stream keeps events. The outbox, and not the stream, is what they are safe in. */
const STREAM_DAYS = 30;

/** What the operator decides about streams; all of it can be changed later, by a restart. */
export interface StreamOptions {
  /** Copies in a JetStream cluster (1); three where three servers run. */
  readonly replicas?: number | undefined;
}

/** The stream's text that names its installation; empty where that is not known. */
export interface StreamMark {
  readonly description?: string;
}

/** A stream as this installation has it. */
export interface OwnStream extends StreamOptions {
  readonly mark?: StreamMark;
}

/** A stream that is not as it must be and cannot be made so. Its text is for the operator: names of settings and their values. */
export class StreamRefused extends Error {
  override readonly name = 'StreamRefused';
}

/** The settings of a service's stream: by limits, since a work queue would forget the ids by which it knows duplicates. */
export function streamSettings(service: string, { replicas = 1, mark = {} }: OwnStream = {}) {
  return {
    name: streamOf(service),
    subjects: [subjectsOf(service)],
    retention: RetentionPolicy.Limits,
    storage: StorageType.File,
    discard: DiscardPolicy.Old,
    max_age: nanos(STREAM_DAYS * 86_400_000),
    // Only age removes an event: a full stream would drop undelivered events.
    max_bytes: -1,
    max_msgs: -1,
    duplicate_window: nanos(120_000),
    max_msg_size: largestEventBytes,
    num_replicas: replicas,
    deny_delete: true,
    ...mark,
  };
}

/**
 * Makes a stream that exists be as the code has it: what the server can change is changed, and what it cannot is refused, since events may
 * then be kept in another way than is counted on. Returns the names of the settings that were changed.
 */
export async function applySettings(
  connection: EventConnection,
  service: string,
  found: StreamInfo,
  own: OwnStream,
  logger: EventLogger,
): Promise<string[]> {
  const wanted = streamSettings(service, own);
  const differing = Object.entries(wanted).flatMap(([setting, value]) => {
    const is = found.config[setting as keyof StreamConfig];
    return isSame(is, value) ? [] : [{ setting, is, value }];
  });
  if (differing.length === 0) return [];
  const fixed = differing.filter(({ setting }) => fixedAtCreation.has(setting));
  if (fixed.length > 0) {
    const words = fixed.map(({ setting, is, value }) => `${setting} is ${shown(is)} and must be ${shown(value)}`);
    throw new StreamRefused(
      `stream ${wanted.name} has settings that cannot be changed: ${words.join(', ')}. Delete it (nats stream rm ${wanted.name}); ` +
        'Eligo recreates it from the outbox',
    );
  }
  // Some servers take the number and keep one copy all the same.
  if (wanted.num_replicas > 1 && found.cluster === undefined) {
    throw new StreamRefused(
      `stream ${wanted.name} cannot have ${wanted.num_replicas} replicas because the server is not in a cluster. Set ELIGO_STREAM_REPLICAS to 1, or run a cluster`,
    );
  }
  const names = differing.map(({ setting }) => setting);
  try {
    await connection.manager.streams.update(wanted.name, { ...found.config, ...wanted });
  } catch (error) {
    const words = differing.map(({ setting, is, value }) => `${setting} from ${shown(is)} to ${shown(value)}`);
    throw new StreamRefused(
      `the server rejected the update of stream ${wanted.name} (${words.join(', ')}): ${errorLabel(error)}. Check that the NATS user ` +
        'may update the stream and that the cluster has enough servers for the replicas',
      { cause: error },
    );
  }
  logger.info({ service, changed: names.join(',') }, 'Stream settings updated');
  return names;
}

// The server refuses to change these, whatever its version.
const fixedAtCreation = new Set(['retention', 'storage', 'deny_delete']);

function isSame(is: unknown, wanted: unknown): boolean {
  // Servers leave out what is false.
  return shown(is ?? false) === shown(wanted);
}

function shown(value: unknown): string {
  return Array.isArray(value) ? value.join(' ') : String(value);
}

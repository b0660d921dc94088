import {
  AckPolicy,
  type ConsumerConfig,
  type ConsumerInfo,
  DeliverPolicy,
  NatsError,
  nanos,
  type StreamInfo,
} from 'nats';
import type { EventConnection } from './connection.ts';
import { isNamedBy, streamOf, subjectsOf } from './names.ts';
import { type OwnStream, streamSettings } from './stream-settings.ts';

/** How long a consumer may take over an event before the server gives it to someone again. */
const ACK_WAIT_MS = 30_000;

/** The stream of a producing service, or undefined if there is none. */
export async function findStream(connection: EventConnection, service: string): Promise<StreamInfo | undefined> {
  return orMissing(() => connection.manager.streams.info(streamOf(service)));
}

/** Bytes of the service's stream on disk; undefined if there is none. */
export async function streamBytes(connection: EventConnection, service: string): Promise<number | undefined> {
  return (await findStream(connection, service))?.state.bytes;
}

/** Creates the service's stream. */
export async function createStream(connection: EventConnection, service: string, own: OwnStream): Promise<StreamInfo> {
  return connection.manager.streams.add(streamSettings(service, own));
}

/** Deletes the service's stream, if there is one. */
export async function deleteStream(connection: EventConnection, service: string): Promise<void> {
  await orMissing(() => connection.manager.streams.delete(streamOf(service)));
}

/** The id of the event that the stream holds in this place, if it holds one. */
export async function eventIdAt(
  connection: EventConnection,
  service: string,
  seq: number,
): Promise<string | undefined> {
  const message = await orMissing(() => connection.manager.streams.getMessage(streamOf(service), { seq }));
  return message?.header.get('Nats-Msg-Id') || undefined;
}

/**
 * Makes sure that the durable consumer exists and is given what the filter names; undefined when the stream does not exist, yet. A filter that names more is a new consumer from the first
 * event on, because the old one has passed events that it now wants; inboxes take care of what is given twice. A consumer that is given more is left as it is.
 */
export async function ensureConsumer(
  connection: EventConnection,
  from: string,
  durable: string,
  filterSubject: string,
): Promise<ConsumerInfo | undefined> {
  const stream = streamOf(from);
  const existing = await orMissing(() => connection.manager.consumers.info(stream, durable));
  if (existing !== undefined && isGiven(existing, filterSubject)) return existing;
  if (existing !== undefined) await connection.manager.consumers.delete(stream, durable);
  return orMissing(() => connection.manager.consumers.add(stream, consumerConfig(durable, filterSubject)));
}

/** Has the durable consumer be given what the filter names alone. It keeps its position and what is in flight. */
export async function narrowConsumer(
  connection: EventConnection,
  from: string,
  durable: string,
  filterSubject: string,
): Promise<void> {
  await orMissing(() =>
    connection.manager.consumers.update(streamOf(from), durable, { filter_subject: filterSubject }),
  );
}

/** What the durable consumer is given; undefined when it, or the stream, does not exist. */
export async function filterOfConsumer(
  connection: EventConnection,
  from: string,
  durable: string,
): Promise<string | undefined> {
  const info = await orMissing(() => connection.manager.consumers.info(streamOf(from), durable));
  return info?.config.filter_subject;
}

// Filters end in a type, or in `>` behind what their types have in common.
function isGiven({ config: { filter_subject: given } }: ConsumerInfo, wanted: string): boolean {
  return given !== undefined && isNamedBy(given, wanted);
}

/** How far a durable consumer is behind; undefined when it, or the stream, does not exist. */
export async function consumerLag(
  connection: EventConnection,
  from: string,
  durable: string,
): Promise<{ pending: number; unacknowledged: number } | undefined> {
  const info = await orMissing(() => connection.manager.consumers.info(streamOf(from), durable));
  return info && { pending: info.num_pending, unacknowledged: info.num_ack_pending };
}

/** The durable consumers of the service's stream. */
export async function consumersOf(connection: EventConnection, service: string): Promise<ConsumerInfo[]> {
  const consumers: ConsumerInfo[] = [];
  for await (const info of connection.manager.consumers.list(streamOf(service))) {
    if (info.config.durable_name) consumers.push(info);
  }
  return consumers;
}

/**
 * Deletes and recreates the durable consumers of the service's stream whose positions are beyond what the stream has kept: they would not be
 * given what comes in its place. Each begins behind the last kept event that it has acknowledged. Returns how many there were. Inboxes take
 * care of what is given twice.
 */
export async function recreateConsumers(
  connection: EventConnection,
  service: string,
  keptSeq: number,
): Promise<number> {
  const stream = streamOf(service);
  const lost = (await consumersOf(connection, service)).filter(({ delivered }) => delivered.stream_seq > keptSeq);
  for (const { name, config, ack_floor } of lost) {
    const startSeq = Math.max(0, Math.min(ack_floor.stream_seq, keptSeq)) + 1;
    await connection.manager.consumers.delete(stream, name);
    await connection.manager.consumers.add(stream, {
      ...consumerConfig(name, config.filter_subject ?? subjectsOf(service)),
      ...(startSeq > 1 ? { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: startSeq } : {}),
    });
  }
  return lost.length;
}

function consumerConfig(durable: string, filterSubject: string): Partial<ConsumerConfig> {
  return {
    durable_name: durable,
    filter_subject: filterSubject,
    ack_policy: AckPolicy.Explicit,
    deliver_policy: DeliverPolicy.All,
    ack_wait: nanos(ACK_WAIT_MS),
    // A limit here would park the event in silence; dead letters are ours to write.
    max_deliver: -1,
    max_ack_pending: 512,
  };
}

async function orMissing<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof NatsError && (error.api_error?.code === 404 || error.code === '404');
}

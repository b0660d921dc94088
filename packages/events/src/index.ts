export {
  append,
  appendAll,
  appendEncoded,
  type EncodedEvent,
  type EventObject,
  encodedOutboxValues,
  encodeEvent,
  type NewEvent,
  outboxInsert,
  wakeRelayAfterCommit,
} from './append.ts';
export { type ConnectOptions, connectNats, type EventConnection } from './connection.ts';
export { type ConsumerLag, consume, type RunningConsumer } from './consume.ts';
export type { ConsumeOptions, ConsumerDefinition, Subscription } from './consumer-definition.ts';
export {
  countDeadLetters,
  type DeadLetter,
  type DeadLetterFilter,
  deadEvent,
  deadLettersNow,
  listDeadLetters,
  redrive,
  requestRedrive,
} from './dead-letters.ts';
export { deleteStreams } from './delete-streams.ts';
export type { DeliveryCounts } from './deliveries.ts';
export { type EventContext, provideEventContext } from './event-context.ts';
export { checkEvents, EventsUnavailable } from './event-health.ts';
export { type HandleEvent, type HandleEvents, handleOnce, handleTogether } from './inbox.ts';
export type { EventLogger } from './logger.ts';
export { eventsMigrations } from './migrations.ts';
export {
  type MissedEvent,
  type MissingEvent,
  type MissingPagesQuery,
  type MissingQuery,
  missingEvents,
  missingPages,
  type Taking,
} from './missing-events.ts';
export { durableOf, inboxPrefixOf, streamOf, subjectOf } from './names.ts';
export { type NatsServerOptions, type NatsService, natsServerConfig } from './nats-server-config.ts';
export { natsTlsProblem } from './nats-tls.ts';
export { isOldServer, leastWellVersion } from './old-server.ts';
export { outboxLag } from './outbox.ts';
export { type Progress, watchProgress } from './progress.ts';
export { type RegressionDetector, regressionDetector } from './regression.ts';
export { type Relay, type RelayOptions, startRelay } from './relay.ts';
export { currentRepair, listRepairs, type Repair } from './repairs.ts';
export { publishAgain } from './republish.ts';
export { pruneEvents, type Retention } from './retention.ts';
export { type StreamOptions, StreamRefused } from './stream-settings.ts';
export { streamBytes } from './streams.ts';
export { isTransientFailure } from './transient-failure.ts';

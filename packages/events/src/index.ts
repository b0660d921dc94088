export { append, type EventObject, type NewEvent } from './append.ts';
export { type ConnectOptions, connectNats, type EventConnection } from './connection.ts';
export {
  type ConsumeOptions,
  type ConsumerDefinition,
  consume,
  type RunningConsumer,
  type Subscription,
} from './consume.ts';
export { countDeadLetters, type DeadLetter, listDeadLetters, redrive } from './dead-letters.ts';
export type { DeliveryCounts } from './deliveries.ts';
export { type EventContext, provideEventContext } from './event-context.ts';
export { type HandleEvent, handleOnce } from './inbox.ts';
export type { EventLogger } from './logger.ts';
export { eventsMigrations } from './migrations.ts';
export { type MissingQuery, missingEvents } from './missing-events.ts';
export { durableOf, inboxPrefixOf, streamOf, subjectOf } from './names.ts';
export { type NatsServerOptions, type NatsService, natsServerConfig } from './nats-server-config.ts';
export { outboxLag } from './outbox.ts';
export { type RegressionDetector, regressionDetector } from './regression.ts';
export { type Relay, type RelayOptions, startRelay } from './relay.ts';
export { pruneEvents, type Retention } from './retention.ts';

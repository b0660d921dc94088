import { type Database, unscoped } from '@eligo/postgres';
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import {
  type ConsumeOptions,
  connectNats,
  consume,
  type EventConnection,
  type RelayOptions,
  type RunningConsumer,
  startRelay,
} from '../src/index.ts';
import { type NatsProcess, natsProcess } from './nats-process.ts';
import { type EventsDatabase, eventsDatabase, recordingLogger } from './support.ts';

/** alpha publishes, beta consumes: each with its schema and its connection. Everything that was started is stopped at the end. */
export interface Fixture {
  readonly database: EventsDatabase;
  readonly alpha: Database;
  readonly beta: Database;
  readonly logger: ReturnType<typeof recordingLogger>;
  connect(service: string): Promise<EventConnection>;
  relay(options?: Partial<RelayOptions>): Promise<ReturnType<typeof startRelay>>;
  consumer(options?: Partial<ConsumeOptions>): Promise<RunningConsumer>;
  /** Distinct events that took effect in beta, and effects in all. */
  effects(): Promise<{ events: number; effects: number }>;
  /** Stops all and empties the database. */
  end(): Promise<void>;
}

/** The fixture of the test that runs, on a server of its own; the database is the file's, and is empty at each test's beginning. */
export function useFixture(): Fixture & { readonly nats: NatsProcess } {
  let database: EventsDatabase;
  let current: Fixture & { readonly nats: NatsProcess };
  beforeAll(async () => {
    database = await eventsDatabase();
  });
  afterAll(() => database.drop());
  beforeEach(async () => {
    const nats = await natsProcess();
    await nats.start();
    current = { ...openFixture(nats.url, database), nats };
  });
  afterEach(async () => {
    await current.end();
    await current.nats.remove();
  });
  return new Proxy({} as typeof current, { get: (_, name) => Reflect.get(current, name) });
}

export const noteEffect = unscoped('test.effect', 'insert into effects (event_id) values ($1)');

export function openFixture(natsUrl: string, database: EventsDatabase): Fixture {
  const logger = recordingLogger();
  const alpha = database.open('alpha');
  const beta = database.open('beta', { max: 10 });
  const stops: (() => Promise<unknown>)[] = [];
  const connect = async (service: string): Promise<EventConnection> => {
    const connection = await connectNats({ url: natsUrl, service, logger });
    stops.push(() => connection.close());
    return connection;
  };
  return {
    database,
    alpha,
    beta,
    logger,
    connect,
    async relay(options = {}) {
      const connection = options.connection ?? (await connect('alpha'));
      const relay = startRelay({ database: alpha, service: 'alpha', logger, ...options, connection });
      stops.push(() => relay.stop());
      return relay;
    },
    async consumer(options = {}) {
      const connection = options.connection ?? (await connect('beta'));
      const running = consume({
        database: beta,
        service: 'beta',
        logger,
        consumer: 'effects',
        subscriptions: [{ from: 'alpha', types: ['*'] }],
        handle: async (tx, event) => void (await tx.execute(noteEffect, null, [event.eventId])),
        ...options,
        connection,
      });
      stops.push(() => running.stop());
      return running;
    },
    async effects() {
      const [row] = await database.admin<{ events: number; effects: number }>(
        'select count(distinct event_id)::int as events, count(*)::int as effects from beta.effects',
      );
      return row ?? { events: 0, effects: 0 };
    },
    async end() {
      for (const stop of stops.reverse()) await stop();
      await database.empty();
    },
  };
}

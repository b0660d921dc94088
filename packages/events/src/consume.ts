import type { ConsumeOptions, Subscription } from './consumer-definition.ts';
import { Deliveries, type DeliveryCounts } from './deliveries.ts';
import { errorLabel } from './logger.ts';
import { durableOf, filterOf, streamOf, subjectsOf, typeOfSubject } from './names.ts';
import { type Pulled, pulledFrom } from './pulled.ts';
import { startRedriver } from './redriver.ts';
import { StandBack } from './stand-back.ts';
import { SourceOwner, type SourceState, unknownStream } from './stream-owner.ts';
import { StreamRefused } from './stream-settings.ts';
import { consumerLag, ensureConsumer, filterOfConsumer, narrowConsumer } from './streams.ts';
import { Waker } from './waker.ts';

/** How far a consumer is behind on one producer's stream. */
export interface ConsumerLag {
  readonly from: string;
  /** Events that it has not been given yet. */
  readonly pending: number;
  /** Events that it was given and has not acknowledged: in flight, or failing and to be given again. */
  readonly unacknowledged: number;
}

/** A running consumer. */
export interface RunningConsumer {
  stats(): DeliveryCounts;
  /** How far it is behind on each stream that it takes from; a stream that does not answer, or that it may not take from, is left out. */
  lag(): Promise<ConsumerLag[]>;
  /** Why it takes no events from a stream that another installation owns; undefined when it may take from all. */
  refusal(): string | undefined;
  /** Takes no new events and waits for those in flight. */
  stop(): Promise<void>;
}

/**
 * Takes events from durable pull consumers and handles each once: inbox entry and effect in one transaction, then the
 * acknowledgement. A failed event is redelivered later; after twenty failures it becomes a dead letter, which is handled again when an
 * operator asks for it. Waits for streams that do not exist yet, and begins again when its durable is recreated under it.
 */
export function consume(options: ConsumeOptions): RunningConsumer {
  const producers = options.subscriptions.map(({ from }) => from);
  if (new Set(producers).size < producers.length) {
    // Both would be the same durable, each with its own filter.
    throw new Error(
      `Consumer ${options.consumer} subscribes twice to one service; list all event types in one subscription`,
    );
  }
  const deliveries = new Deliveries(options);
  const following = options.subscriptions.map((subscription) => follow(options, subscription, deliveries));
  const redriver = startRedriver(options);
  return {
    stats: () => deliveries.counts(),
    lag: () => lagOf(options, (from) => following.some((one) => one.from === from && one.mayTake())),
    refusal: () => following.map(({ refusal }) => refusal()).find((text) => text !== undefined),
    async stop() {
      await Promise.all([redriver.stop(), ...following.map(({ stop }) => stop())]);
      await deliveries.idle();
    },
  };
}

async function lagOf(
  { connection, service, consumer, subscriptions }: ConsumeOptions,
  mayTakeFrom: (from: string) => boolean,
): Promise<ConsumerLag[]> {
  if (!connection.isConnected()) return [];
  const durable = durableOf(service, consumer);
  const own = subscriptions.filter(({ from }) => mayTakeFrom(from));
  const answers = await Promise.allSettled(
    own.map(async ({ from }) => ({ from, lag: await consumerLag(connection, from, durable) })),
  );
  return answers.flatMap((answer) => {
    if (answer.status === 'rejected' || answer.value.lag === undefined) return [];
    return [{ from: answer.value.from, ...answer.value.lag }];
  });
}

const RETRY_MS = 250;
const FILTER_CHECK_MS = 10_000;
const STAND_BACK_MS = 10_000;
const STAND_BACK_LOOK_MS = 1_000;
/** Until the process that wants an event is given what another one was given. */
const FOREIGN_DELAY_MS = 500;
/** An operator corrects the address, or a relay marks its stream. */
const REFUSED_MS = 1_000;
const UNKNOWN_MS = 60_000;

interface Following {
  readonly from: string;
  readonly mayTake: () => boolean;
  readonly refusal: () => string | undefined;
  readonly stop: () => Promise<void>;
}

function follow(options: ConsumeOptions, subscription: Subscription, deliveries: Deliveries): Following {
  const { database, connection, service, consumer, logger } = options;
  const { filterCheckMs = FILTER_CHECK_MS, standBackMs = STAND_BACK_MS, unknownMs = UNKNOWN_MS } = options;
  const { from, types } = subscription;
  const durable = durableOf(service, consumer);
  const filter = filterOf(from, types);
  const wanted = new Set(types);
  const isWanted = (subject: string): boolean => wanted.has('*') || wanted.has(typeOfSubject(subject));
  const waker = new Waker();
  const standBack = new StandBack(standBackMs);
  const owner = new SourceOwner({ database, connection, from, consumer, service, logger });
  let refusal: string | undefined;
  let mayTake = false;
  let unknownSince: number | undefined;
  let stopping = false;
  let close: (() => Promise<unknown>) | undefined;

  let pauseMs = RETRY_MS;
  const running = (async () => {
    while (!stopping) {
      pauseMs = RETRY_MS;
      try {
        await takeAll();
      } catch (error) {
        if (error instanceof StreamRefused) refuse(error.message);
        else logger.warn({ service, consumer, from, error: errorLabel(error) }, 'Consumer failed; restarting it');
      }
      if (!stopping) await waker.wait(pauseMs);
    }
  })();

  // Told once for as long as it goes on.
  function refuse(text: string): void {
    pauseMs = REFUSED_MS;
    mayTake = false;
    if (text !== refusal) logger.error({ service, consumer, from }, `Consuming is blocked: ${text}`);
    refusal = text;
  }

  // The relay marks it within seconds, unless it is another installation's or does not run.
  function waitForMark(): void {
    pauseMs = REFUSED_MS;
    mayTake = false;
    if (unknownSince === undefined) {
      unknownSince = performance.now();
      logger.warn(
        { service, consumer, from },
        'Stream does not name its installation; waiting until its relay marks it',
      );
    }
    if (performance.now() - unknownSince >= unknownMs) refuse(unknownStream(from));
  }

  async function takeAll(): Promise<void> {
    // A request would only wait for its timeout.
    if (!connection.isConnected()) return;
    // The connections to a server whose stream is this installation's; a reconnect adds one.
    const own = new Set([connection.incarnation()]);
    // Before the durable is touched: on another installation's stream it is that installation's.
    const source = await owner.look();
    if (source === 'unmarked and unknown') return waitForMark();
    refusal = unknownSince = undefined;
    mayTake = source !== undefined;
    if (source === undefined) return;
    // After a reconnect the same address may be another server.
    const isSameOwner = async (): Promise<boolean> => {
      const incarnation = connection.incarnation();
      if (own.has(incarnation)) return true;
      if (await hasChangedOwner(source)) return false;
      // After another reconnect it is unknown which server answered.
      if (connection.incarnation() === incarnation) own.add(incarnation);
      return true;
    };
    const info = await ensureConsumer(connection, from, durable, filter);
    if (info === undefined) return;
    if (info.config.filter_subject !== filter) {
      // What is not wanted here is wanted by a process of another release, and would be passed over.
      if (standBack.isFor(info)) {
        pauseMs = Math.min(STAND_BACK_LOOK_MS, standBackMs);
        return;
      }
      await narrowConsumer(connection, from, durable, filter);
    }
    standBack.end();
    const pull = await connection.jetstream.consumers.get(streamOf(from), durable);
    const messages = await pull.consume({ max_messages: 64, expires: 10_000, idle_heartbeat: 2_500 });
    close = () => messages.close();
    // Not closed: that settles when the loop below has ended, which has not begun.
    if (stopping) messages.stop();
    let isLost = false;
    restartWhenLost(await messages.status(), () => {
      isLost = true;
      messages.stop();
    });
    const endChecks = restartWhenChanged(source, isSameOwner, () => messages.stop());
    let isLeft = false;
    try {
      for await (const pulled of pulledFrom(messages, connection, () => isLost)) {
        const { message, incarnation } = pulled;
        if (!own.has(incarnation)) isLeft ||= !(await untilAnswered(isSameOwner));
        if (isLeft) {
          message.nak();
          messages.stop();
        } else if (!own.has(incarnation)) {
          // Its connection ended before it was known whose server it was.
          message.nak();
        } else if (isWanted(message.subject)) await deliveries.take(pulled);
        else if (!(await passOver(pulled))) messages.stop();
      }
    } finally {
      endChecks();
    }
    close = undefined;
  }

  // A process of another release that wants the event may have made the consumer again, whose events come to requests that were made before. False if one has.
  async function passOver({ message, mayAcknowledge }: Pulled): Promise<boolean> {
    // Undefined while the server does not answer. No other process is given more than a whole stream, and one that takes many types passes over too many events to ask.
    const isUnchanged = filter === subjectsOf(from) || (await hasOurFilter().catch(() => undefined));
    if (isUnchanged === true && mayAcknowledge()) message.ack();
    else message.nak(FOREIGN_DELAY_MS);
    return isUnchanged !== false;
  }

  // A process of another release can set the filter in place, and the server tells no one. Nor does it when a stream without a mark is marked.
  function restartWhenChanged(
    source: SourceState,
    isSameOwner: () => Promise<boolean>,
    restart: () => void,
  ): () => void {
    const check = async (): Promise<void> => {
      if (!connection.isConnected()) return;
      const isSame = (await isSameOwner()) && (source === 'ours' || !(await hasChangedOwner(source)));
      if (!isSame || !(await hasOurFilter())) restart();
    };
    // What cannot be asked now is asked at the next check.
    const timer = setInterval(() => void check().catch(() => undefined), filterCheckMs);
    return () => clearInterval(timer);
  }

  async function hasChangedOwner(source: SourceState): Promise<boolean> {
    try {
      const now = await owner.look();
      // A stream that is not there is made again.
      return now !== undefined && now !== source;
    } catch (error) {
      if (error instanceof StreamRefused) return true;
      throw error;
    }
  }

  // A server that has just started does not answer yet. False once this process stops: what is given back comes again.
  async function untilAnswered(ask: () => Promise<boolean>): Promise<boolean> {
    for (;;) {
      try {
        return await ask();
      } catch {
        if (stopping) return false;
        await waker.wait(RETRY_MS);
      }
    }
  }

  async function hasOurFilter(): Promise<boolean> {
    return (await filterOfConsumer(connection, from, durable)) === filter;
  }

  return {
    from,
    mayTake: () => mayTake,
    refusal: () => refusal,
    async stop() {
      stopping = true;
      waker.wake();
      await close?.();
      await running;
    },
  };
}

// Each of these means that what is pulled from is gone: start over. Missed heartbeats do not: the client checks by itself whether the consumer exists and pulls again. A new
// subscription would lose what the silent server was asked for, and the server redelivers that only after 30 s.
const restartOn = new Set<string>(['consumer_deleted', 'consumer_not_found', 'stream_not_found']);

function restartWhenLost(status: AsyncIterable<{ type: string }>, restart: () => void): void {
  const watch = async (): Promise<void> => {
    for await (const { type } of status) if (restartOn.has(type)) restart();
  };
  // When it cannot be watched any more, beginning again is the safe thing to do as well.
  watch().catch(restart);
}

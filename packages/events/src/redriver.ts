import { isConnectionLoss } from '@eligo/postgres';
import type { ConsumeOptions } from './consumer-definition.ts';
import { deadEvent, noteFailedRedrive, redrive, requestedRedrives } from './dead-letters.ts';
import { errorLabel } from './logger.ts';
import { Waker } from './waker.ts';

/** Deals again with the dead letters of a consumer that an operator asks for, until it is stopped. Needs the database alone, and no NATS. */
export function startRedriver(options: ConsumeOptions): { stop(): Promise<void> } {
  const { service, consumer, logger } = options;
  const waker = new Waker();
  let stopping = false;

  const running = (async () => {
    while (!stopping) {
      try {
        await redriveRequested(options, () => stopping);
      } catch (error) {
        logger.warn({ service, consumer, error: errorLabel(error) }, 'dead letters could not be looked at');
      }
      if (!stopping) await waker.wait(options.redrivePollMs ?? POLL_MS);
    }
  })();

  return {
    async stop() {
      stopping = true;
      waker.wake();
      await running;
    },
  };
}

const POLL_MS = 1_000;
const BATCH = 50;

async function redriveRequested(options: ConsumeOptions, isOver: () => boolean): Promise<void> {
  const { database, consumer } = options;
  for (;;) {
    const eventIds = await requestedRedrives(database, consumer, BATCH);
    for (const eventId of eventIds) {
      if (isOver()) return;
      await redriveOne(options, eventId);
    }
    // Each of them is gone, or is asked for no more: the next are others.
    if (eventIds.length < BATCH) return;
  }
}

async function redriveOne(options: ConsumeOptions, eventId: string): Promise<void> {
  const { database, service, consumer, handle, around, logger } = options;
  const event = await deadEvent(database, consumer, eventId);
  if (event === undefined) return;
  const fields = { service, consumer, eventId, type: event.type };
  try {
    const run = async (): Promise<void> => void (await redrive(database, consumer, eventId, handle));
    if (around === undefined) await run();
    else await around(event, run);
    logger.info(fields, 'a dead letter was dealt with');
  } catch (error) {
    // A database that is away is no fault of the event's: it stays asked for.
    if (isConnectionLoss(error)) throw error;
    logger.warn({ ...fields, error: errorLabel(error) }, 'a dead letter was not dealt with');
    await noteFailedRedrive(database, consumer, eventId, errorLabel(error));
  }
}

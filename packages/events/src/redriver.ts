import type { ConsumeOptions } from './consumer-definition.ts';
import { deadEvent, noteFailedRedrive, redrive, requestedRedrives } from './dead-letters.ts';
import { errorLabel } from './logger.ts';
import { isTransientFailure } from './transient-failure.ts';
import { registerRedriver } from './wake.ts';
import { Waker } from './waker.ts';

/**
 * Deals again with the dead letters of a consumer that an operator asks for, until it is stopped. It is woken by the request, and looks every 30
 * seconds besides: the process that is woken may die. Needs the database alone, and no NATS.
 */
export function startRedriver(options: ConsumeOptions): { stop(): Promise<void> } {
  const { database, service, consumer, logger } = options;
  const waker = new Waker();
  const unregister = registerRedriver(database, () => waker.wake());
  let stopping = false;

  const running = (async () => {
    while (!stopping) {
      let isPostponed = true;
      try {
        isPostponed = await redriveRequested(options, () => stopping);
      } catch (error) {
        logger.warn({ service, consumer, error: errorLabel(error) }, 'Failed to read dead letters; will retry');
      }
      const pollMs = options.redrivePollMs ?? POLL_MS;
      if (!stopping) await waker.wait(isPostponed ? Math.min(pollMs, RETRY_MS) : pollMs);
    }
  })();

  return {
    async stop() {
      stopping = true;
      unregister();
      waker.wake();
      await running;
    },
  };
}

const POLL_MS = 30_000;
const RETRY_MS = 1_000;
const BATCH = 50;

// Returns whether some could not be tried for now.
async function redriveRequested(options: ConsumeOptions, isOver: () => boolean): Promise<boolean> {
  const { database, consumer } = options;
  for (;;) {
    const eventIds = await requestedRedrives(database, consumer, BATCH);
    let postponed = 0;
    for (const eventId of eventIds) {
      if (isOver()) return false;
      if (!(await redriveOne(options, eventId))) postponed += 1;
    }
    // Each of the others is gone, or is no longer requested: the next ones are different.
    if (postponed > 0 || eventIds.length < BATCH) return postponed > 0;
  }
}

// Returns false when it could not be tried: the redrive stays requested.
async function redriveOne(options: ConsumeOptions, eventId: string): Promise<boolean> {
  const { database, service, consumer, handle, around, logger } = options;
  const event = await deadEvent(database, consumer, eventId);
  if (event === undefined) return true;
  const fields = { service, consumer, eventId, type: event.type };
  try {
    const run = async (): Promise<void> => void (await redrive(database, consumer, eventId, handle));
    if (around === undefined) await run();
    else await around(event, run);
    logger.info(fields, 'Redrive of a dead letter succeeded');
  } catch (error) {
    logger.warn({ ...fields, error: errorLabel(error) }, 'Redrive of a dead letter failed');
    // A slow or unavailable database is not the event's fault.
    if (isTransientFailure(error)) return false;
    await noteFailedRedrive(database, consumer, eventId, errorLabel(error));
  }
  return true;
}

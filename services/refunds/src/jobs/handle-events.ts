import type { Recovery } from '@eligo/processor';
import { eachAtOnce, type Job } from '@eligo/service';
import { handleProcessorEvents } from '../actions/handle-processor-events.ts';
import type { Context } from '../context.ts';
import {
  dueEventObjects,
  type EventPlace,
  firstPlace,
  handleEventsJob,
  nextEventInMs,
  wakeEvents,
} from '../store/processor-events.ts';

// Accounts take turns: one with many events does not keep the others waiting.
const pages = { accounts: 20, each: 10 };
// Each waits for the processor most of its time.
const atOnce = 8;

// Once for each recovery; the others are due within five minutes.
const mostWoken = 1_000;

/** Handles events of the processor as they fall due, account by account; once the processor is back, all that wait for it. */
export function handleEvents(context: Context, recovery: Recovery): Job {
  let place: EventPlace | undefined;
  return {
    name: handleEventsJob,
    // An event that is stored wakes the job; this finds what another process left.
    everyMs: 60_000,
    async run(signal) {
      await recovery.act(() => wakeEvents(context.database, context.budgets.leaseMs, mostWoken));
      const after = place ?? firstPlace;
      const { objects, last } = await dueEventObjects(context.database, after, pages);
      place = last;
      await eachAtOnce(objects, { atOnce, signal }, ({ scope, objectId }) =>
        handleProcessorEvents(context, scope, objectId).catch((err: unknown) =>
          context.logger.error({ err, objectId }, 'Failed to handle events of the processor; will retry'),
        ),
      );
      const isMore = objects.length > 0 || after !== firstPlace;
      return isMore || { dueInMs: await nextEventInMs(context.database) };
    },
  };
}

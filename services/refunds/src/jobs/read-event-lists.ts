import { setTimeout as sleep } from 'node:timers/promises';
import { eachAtOnce, type Job } from '@eligo/service';
import type { ProcessorName } from '@eligo/values';
import { readEventList } from '../actions/read-event-list.ts';
import type { Context } from '../context.ts';
import { TokenBucket } from '../domain/token-bucket.ts';
import { dueEventLists, nextEventListInMs, readEventListsJob } from '../store/event-lists.ts';

const page = 50;
// Each waits for the processor most of its time.
const atOnce = 4;
const mostPages = 10;
// Stripe takes 100 reads a second from a platform; payments have the rest.
const pace = { burst: 10, perSecond: 5 };

/** Reads the processors' lists of events when their time has come, those due longest first. */
export function readEventLists(context: Context, found: (processor: string, events: number) => void): Job {
  const bucket = () => new TokenBucket(pace, () => performance.now());
  const buckets: Record<ProcessorName, TokenBucket> = { sandbox: bucket(), stripe: bucket() };
  return {
    name: readEventListsJob,
    everyMs: 60_000,
    async run(signal) {
      const due = await dueEventLists(context.database, page);
      await eachAtOnce(due, { atOnce, signal }, (list) => {
        const turn = () => sleep(buckets[list.account.processor].takeInMs(), undefined, { signal });
        return readEventList(context, list, { pace: turn, mostPages, found }).catch((err: unknown) => {
          if (signal.aborted) return;
          const { accountId } = list.scope;
          context.logger.error({ err, accountId }, 'Failed to read an event list of the processor; will retry');
        });
      });
      return due.length === page || { dueInMs: await nextEventListInMs(context.database) };
    },
  };
}

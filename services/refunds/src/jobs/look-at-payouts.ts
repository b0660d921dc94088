import { eachAtOnce, type Job } from '@eligo/service';
import { lookAtPayout } from '../actions/look-at-payout.ts';
import type { Context } from '../context.ts';
import { duePayouts, lookAtPayoutsJob, nextPayoutInMs } from '../store/payouts.ts';

const page = 50;
// Each waits for the processor most of its time.
const atOnce = 2;

/** Looks at payouts when a movement on the balance tells of them, and while they are on their way. */
export function lookAtPayouts(context: Context): Job {
  const { database, logger } = context;
  return {
    name: lookAtPayoutsJob,
    everyMs: 60_000,
    async run(signal) {
      const due = await duePayouts(database, page);
      // A look that failed has its lease to wait for.
      await eachAtOnce(due, { atOnce, signal }, ({ scope, payoutId }) =>
        lookAtPayout(context, scope, payoutId).catch((err: unknown) =>
          logger.error({ err, payoutId }, 'Failed to check a payout; will retry'),
        ),
      );
      return due.length === page || { dueInMs: await nextPayoutInMs(database) };
    },
  };
}

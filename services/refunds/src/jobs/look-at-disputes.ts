import { type Scope, withTx } from '@eligo/postgres';
import { eachAtOnce, type Job } from '@eligo/service';
import { lookAtDispute } from '../actions/look-at-dispute.ts';
import type { Context } from '../context.ts';
import {
  dueDisputes,
  lookAtDisputesJob,
  nextDisputeInMs,
  processorDisputeOf,
  putOffDispute,
} from '../store/disputes.ts';

const page = 50;
const pauseAfterFailureMs = 3_600_000;
// Each waits for the processor most of its time.
const atOnce = 4;

/** Looks at disputes when their time has come: open ones of which no event came, and those that a process that died has left. */
export function lookAtDisputes(context: Context): Job {
  return {
    name: lookAtDisputesJob,
    everyMs: 60_000,
    async run(signal) {
      const due = await dueDisputes(context.database, page);
      await eachAtOnce(due, { atOnce, signal }, async ({ scope, disputeId }) => {
        await look(context, scope, disputeId).catch((err: unknown) =>
          context.logger.error({ err, disputeId }, 'Failed to check a dispute; will retry'),
        );
        // What was not looked at, such as a dispute of a processor that is no longer configured, is not due again at once.
        await withTx(context.database, scope, (tx) => putOffDispute(tx, scope, disputeId, pauseAfterFailureMs));
      });
      return due.length === page || { dueInMs: await nextDisputeInMs(context.database) };
    },
  };
}

async function look(context: Context, scope: Scope, disputeId: string): Promise<void> {
  const names = await processorDisputeOf(context.database, scope, disputeId);
  if (names === undefined) return;
  await lookAtDispute(context, scope, names.processorAccount.processor, names.processorDisputeId);
}

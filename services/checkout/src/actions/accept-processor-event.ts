import { type Scope, withTx } from '@eligo/postgres';
import { wakeJobAfterCommit } from '@eligo/service';
import type { Context } from '../context.ts';
import { wakeSweepAfterCommit } from '../store/charge-work.ts';
import { checkHoldNow, followHoldsJob } from '../store/holds.ts';
import { checkAttemptNow, type ReceivedEvent, storeEvent } from '../store/processor-events.ts';
import { checkSetUpNow, followSetUpsJob } from '../store/subscription-set-ups.ts';

/** A hold that lapsed, or that someone at the processor canceled. */
const canceled = 'payment_intent.canceled';
/** Of a card that is set up. */
const ofSetUp = 'setup_intent.';

/**
 * Stores an event of the processor, once however often it is delivered. It settles nothing: the sweeper asks the processor about the attempt, as it
 * does anyway, and now; the job of holds looks at a hold that was canceled, and that of set-ups at a card that was set up. An attempt names its intent before it can be charged, so an event of an intent that no attempt names needs no look.
 */
export async function acceptProcessorEvent(
  { database, clock }: Pick<Context, 'database' | 'clock'>,
  scope: Scope,
  event: ReceivedEvent,
): Promise<void> {
  await withTx(database, scope, async (tx) => {
    const isNew = await storeEvent(tx, scope, event);
    if (event.type.startsWith(ofSetUp)) {
      if (isNew && (await checkSetUpNow(tx, scope, event.objectId))) wakeJobAfterCommit(tx, followSetUpsJob);
      return;
    }
    if (isNew && event.type === canceled && (await checkHoldNow(tx, scope, event.objectId, clock.now()))) {
      wakeJobAfterCommit(tx, followHoldsJob);
    }
    if (isNew && (await checkAttemptNow(tx, scope, event.objectId))) wakeSweepAfterCommit(tx);
  });
}

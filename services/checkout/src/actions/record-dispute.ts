import { Failure } from '@eligo/failures';
import { type Scope, withTx } from '@eligo/postgres';
import { cents } from '@eligo/values';
import type { Context } from '../context.ts';
import {
  type ChargeAtProcessor,
  findDisputedCharge,
  followDisputes,
  heldOfSession,
  storeDispute,
  type ToldDispute,
} from '../store/disputes.ts';
import { lockPaidCard } from '../store/refund-facts.ts';
import { lockSession, saveSession } from '../store/sessions.ts';

/** A dispute as it was recorded: the charge, and whether disputes now hold money that was refunded, too. */
export interface RecordedDispute {
  readonly charge: ChargeAtProcessor;
  readonly isBeyondReceived: boolean;
}

/**
 * Records what a dispute holds of the money of a session, under the session's lock: no refund can be reserved from it meanwhile. A dispute is always
 * recorded, also beyond what was received and not refunded. Safe to repeat; an older look changes nothing. Throws `charge_not_found` for an intent
 * that no attempt of ours made.
 */
export async function recordDispute(
  { database }: Pick<Context, 'database'>,
  scope: Scope,
  processorIntentId: string,
  dispute: ToldDispute,
): Promise<RecordedDispute> {
  return withTx(database, scope, async (tx) => {
    const charge = await findDisputedCharge(tx, scope, processorIntentId);
    if (charge === undefined) throw new Failure('charge_not_found');
    const { sessionId, paymentIntentId } = charge;
    const session = sessionId === null ? undefined : await lockSession(tx, scope, sessionId);
    if (session === undefined) await lockPaidCard(tx, scope, paymentIntentId);
    await storeDispute(tx, scope, charge, dispute);
    const isBeyondReceived = await followDisputes(tx, scope, charge);
    if (session !== undefined) {
      const held = await heldOfSession(tx, scope, session.id);
      const after = {
        ...session,
        // A bank can dispute more than was charged, such as by its rate of exchange; of the session no more than it received is disputed.
        amountDisputedCents: cents(Math.min(held, session.amountReceivedCents)),
        disputeIds: session.disputeIds.includes(dispute.disputeId)
          ? session.disputeIds
          : [...session.disputeIds, dispute.disputeId],
      };
      const isNews =
        after.amountDisputedCents !== session.amountDisputedCents || after.disputeIds !== session.disputeIds;
      if (isNews) await saveSession(tx, scope, session, after);
    }
    return { charge, isBeyondReceived };
  });
}

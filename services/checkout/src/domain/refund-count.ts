import { Failure } from '@eligo/failures';

/**
 * How many refunds a session has at most, failed ones included: the session and each of its events list them all. The guard `refunds_are_bounded` of the
 * sessions has the same number. The last ones are Eligo's own, such as that of a canceled subscription, so that no partner's mistake keeps a shopper's money.
 */
export const maxRefunds = 1_000;
/** A partner's next refund takes all that remains. */
export const refundsOfAnyAmount = 950;
/** A partner's refund of all that remains may fail, and be asked for again. */
export const refundsByPartner = 980;

/** Throws `refund_limit_reached` where a session with so many refunds takes no further one of a partner. */
export function requireRoomForRefund(refunds: number, takesAllThatRemains: () => boolean): void {
  if (refunds < refundsOfAnyAmount) return;
  if (refunds >= refundsByPartner) {
    throw new Failure('refund_limit_reached', { detail: `This session has ${refunds} refunds and accepts no more.` });
  }
  if (!takesAllThatRemains()) {
    throw new Failure('refund_limit_reached', {
      detail: `This session has ${refunds} refunds and accepts no more partial refunds.`,
    });
  }
}

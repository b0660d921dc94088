/** A place at which the process dies while money goes back. */
export interface RefundCrash {
  readonly name: string;
  readonly failpoint: string;
  /** A fault of the sandbox that is armed first. */
  readonly fault?: { readonly call: string; readonly kind: string };
  /** The bank returns what had gone through, and the process dies on the way back. */
  readonly returned?: boolean;
}

const answerLost = { call: 'refunds.create', kind: 'drop_after' };

/** Every named place of a refund. */
export const refundCrashes: readonly RefundCrash[] = [
  { name: 'asked for', failpoint: 'refund.after_request' },
  { name: 'reserved at checkout', failpoint: 'refund.after_reserve' },
  { name: 'pending', failpoint: 'refund.after_pending' },
  { name: 'given back, not recorded', failpoint: 'refund.after_call' },
  { name: 'returned by the bank, checkout told', failpoint: 'refund.after_release', returned: true },
  { name: 'the fence passed', failpoint: 'refund.after_fence' },
  { name: 'recorded', failpoint: 'refund.after_settle' },
  { name: 'the answer lost', failpoint: 'refund.after_settle', fault: answerLost },
  { name: 'returned by the bank, recorded', failpoint: 'refund.after_failure', returned: true },
];

/** What the short run of `npm test` tries of them. */
export const shortRefundCrashes = refundCrashes.slice(1, 5);

/** The places at which tests stop the process, in the order in which a refund passes them. */
export const refundFailpoints = [
  'refund.after_request',
  'refund.after_reserve',
  'refund.after_pending',
  'refund.after_fence',
  'refund.after_call',
  'refund.after_settle',
  'refund.after_release',
  'refund.after_failure',
] as const;

/** The same for an event of the processor. */
export const eventFailpoints = ['event.after_claim', 'event.after_record'] as const;

/** The same for a reading of the processor's list of events. */
export const eventListFailpoints = ['event_list.after_page'] as const;

/** The same for a look at a dispute, and a change of one. */
export const disputeFailpoints = [
  'dispute.after_claim',
  'dispute.after_change',
  'dispute.after_tell',
  'dispute.after_record',
] as const;

/** The same for a file of evidence that is uploaded. */
export const evidenceFailpoints = ['evidence.after_upload', 'evidence.after_save'] as const;

export type Failpoint = (
  | typeof refundFailpoints
  | typeof eventFailpoints
  | typeof eventListFailpoints
  | typeof disputeFailpoints
  | typeof evidenceFailpoints
)[number];

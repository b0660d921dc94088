/** The writes whose costs are measured beside their limit. */
export const writeOperations = ['create-session', 'confirm', 'refund'] as const;

export type WriteOperation = (typeof writeOperations)[number];

/** The writes whose own statements are recorded: also those that have no limit, for what they cost. */
export const recordedOperations = [...writeOperations, 'capture', 'page-pay', 'page-pay-two'] as const;

export type RecordedOperation = (typeof recordedOperations)[number];

/** The writes that are compared with those of other code: these, sessions with a key of their own, and payments on the page with one new card and with two. */
export const comparedOperations = [...writeOperations, 'create-session-keyed', 'page-pay', 'page-pay-two'] as const;

export type ComparedOperation = (typeof comparedOperations)[number];

/** The writes that are sent as requests. */
export type SentOperation = RecordedOperation | ComparedOperation;

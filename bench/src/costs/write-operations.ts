/** The writes whose costs are measured, and compared with those of other code. */
export const writeOperations = ['create-session', 'confirm', 'refund'] as const;

export type WriteOperation = (typeof writeOperations)[number];

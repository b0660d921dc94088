/** The writes whose costs are measured beside their limit. */
export const writeOperations = ['create-session', 'confirm', 'refund'] as const;

export type WriteOperation = (typeof writeOperations)[number];

/** The writes that are compared with those of other code: these, and payments on the page with one new card and with two. */
export const comparedOperations = [...writeOperations, 'page-pay', 'page-pay-two'] as const;

export type ComparedOperation = (typeof comparedOperations)[number];

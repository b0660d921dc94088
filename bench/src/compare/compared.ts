/** The operations that are compared with those of other code. */
export const compared = ['create-session', 'confirm', 'refund'] as const;

export type ComparedOperation = (typeof compared)[number];

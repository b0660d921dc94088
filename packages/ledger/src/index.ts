export * from './ledger-accounts.ts';
export * from './post-journal-entry.ts';
export * from './post-processor-transaction.ts';

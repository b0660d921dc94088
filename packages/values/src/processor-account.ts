/** Where money, a card or a customer is: a processor, and the account there. Whatever is done to it later is done there. */
export interface ProcessorAccount {
  readonly processor: ProcessorName;
  /** The processor's account, or `self` for that of the configured key. */
  readonly account: string;
}

export type ProcessorName = 'sandbox' | 'stripe';

/** The name of the account that the configured key belongs to. */
export const ownAccount = 'self';

/** Whether two accounts are the same one of the same processor. */
export function isSameAccount(one: ProcessorAccount, other: ProcessorAccount): boolean {
  return one.processor === other.processor && one.account === other.account;
}

/** The two columns of a processor account. */
export interface ProcessorAccountRow {
  readonly processor: ProcessorName | null;
  readonly processor_account: string | null;
}

/** The processor account of a row; null where a release that did not store it wrote the row. */
export function processorAccountOfRow({
  processor,
  processor_account: account,
}: ProcessorAccountRow): ProcessorAccount | null {
  return processor === null || account === null ? null : { processor, account };
}

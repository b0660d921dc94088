import { type ProcessorAccount, type StateTable, stateTable } from '@eligo/values';

export type SetUpStatus = 'beginning' | 'waiting' | 'saved' | 'canceled';

/** The trigger `guard_subscription_set_up` holds the same table; a test tries every pair in both. */
export const setUpStates: StateTable<SetUpStatus> = stateTable<SetUpStatus>({
  beginning: ['waiting', 'saved', 'canceled'],
  waiting: ['saved', 'canceled'],
  saved: [],
  canceled: [],
});

/** Whether nothing about it changes any more. */
export function isSettled({ status }: Pick<SubscriptionSetUp, 'status'>): boolean {
  return status === 'saved' || status === 'canceled';
}

/** The set-up of the card of a subscription that the API sold and that charges nothing yet. */
export interface SubscriptionSetUp {
  readonly subscriptionId: string;
  readonly setupIntentId: string;
  readonly customerId: string;
  /** The card that the subscription was created with; null where its customer gives one. */
  readonly namedCardId: string | null;
  readonly processorAccount: ProcessorAccount;
  readonly processorSetupIntentId: string | null;
  /** `beginning` until the processor was asked for all that goes without the customer; then `waiting` for them. */
  readonly status: SetUpStatus;
  readonly tries: number;
  /** Its subscription has ended or has another card: it is canceled at the processor. */
  readonly isGivenUp: boolean;
  readonly savedCardId: string | null;
  /** Its time is over. */
  readonly isExpired: boolean;
}

/** A place at which the process dies while a shopper pays with two saved cards, as the test helper lets them. */
export interface PageCrash {
  readonly name: string;
  readonly failpoint: string;
  readonly skip?: number;
  /** The second card; when it is declined, the health card's hold is let go again. */
  readonly second?: 'credit' | 'declined';
}

/** Every named place of the page's plan: reserve, authorize the health card, charge the other, take or let go the hold, conclude. */
export const pageCrashes: readonly PageCrash[] = [
  { name: 'the plan reserved', failpoint: 'plan.reserved' },
  { name: 'the health card’s attempt begun', failpoint: 'plan.attempt_begun' },
  { name: 'the hold taken, not recorded', failpoint: 'charge.processor_answered' },
  { name: 'the hold to be captured', failpoint: 'plan.hold_decided' },
  { name: 'captured, not recorded', failpoint: 'hold.processor_answered' },
  { name: 'the hold to be let go', failpoint: 'plan.hold_decided', second: 'declined' },
  { name: 'let go, not recorded', failpoint: 'hold.processor_answered', second: 'declined' },
  { name: 'before the conclusion commits', failpoint: 'plan.before_conclude_commit' },
  { name: 'before a failure’s conclusion commits', failpoint: 'plan.before_conclude_commit', second: 'declined' },
  { name: 'the capture about to be recorded', failpoint: 'hold.before_record_commit' },
  { name: 'captured and recorded', failpoint: 'hold.recorded' },
  { name: 'let go and recorded', failpoint: 'hold.recorded', second: 'declined' },
  { name: 'the health card’s intent created', failpoint: 'charge.intent_created' },
  { name: 'the health card’s fence passed', failpoint: 'charge.fence_passed' },
  { name: 'the hold about to be settled', failpoint: 'charge.before_settle_commit' },
  { name: 'the hold settled', failpoint: 'charge.settled' },
  { name: 'the second card’s attempt begun', failpoint: 'plan.attempt_begun', skip: 1 },
  { name: 'the second card’s fence passed', failpoint: 'charge.fence_passed', skip: 1 },
  { name: 'the second card charged, not recorded', failpoint: 'charge.processor_answered', skip: 1 },
  { name: 'the second card’s settlement about to commit', failpoint: 'charge.before_settle_commit', skip: 1 },
  { name: 'the second card settled', failpoint: 'charge.settled', skip: 1 },
  {
    name: 'the second card declined, not recorded',
    failpoint: 'charge.processor_answered',
    skip: 1,
    second: 'declined',
  },
];

/** What the short run of `npm test` tries of them; `typed-crashes.ts` has the others on the page's own way. */
export const shortPageCrashes = pageCrashes.slice(3, 4);

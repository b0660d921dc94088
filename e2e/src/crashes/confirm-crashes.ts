/** A fault of the sandbox processor that has to be armed for a failpoint to be passed. */
export interface ProcessorFault {
  readonly call: string;
  readonly kind: string;
  readonly delay_ms?: number;
  readonly times?: number;
}

/** A place in the confirm at which the process dies. */
export interface ConfirmCrash {
  readonly name: string;
  readonly failpoint: string;
  /** Passes that it lets go by. */
  readonly skip?: number;
  readonly fault?: ProcessorFault;
  readonly card?: 'hsa' | 'declined';
  /** Whether the charge had set out: it is then finished though nobody asks again. Before, nobody but the shopper may start it. */
  readonly sent: boolean;
}

const answerLost = { call: 'payment_intents.confirm', kind: 'drop_after' };

/** Every named place of the confirm, the charge and the sweep; some of them again on another way through. */
export const confirmCrashes: readonly ConfirmCrash[] = [
  { name: 'before the claim', failpoint: 'confirm.before_claim', sent: false },
  { name: 'the key claimed', failpoint: 'confirm.key_claimed', sent: false },
  { name: 'before the claim commits', failpoint: 'confirm.before_claim_commit', sent: false },
  { name: 'claimed', failpoint: 'confirm.claimed', sent: false },
  { name: 'the intent created at the processor', failpoint: 'charge.intent_created', sent: false },
  { name: 'the fence passed', failpoint: 'charge.fence_passed', sent: true },
  { name: 'charged, not recorded', failpoint: 'charge.processor_answered', sent: true },
  { name: 'before it is settled', failpoint: 'charge.before_settle', sent: true },
  { name: 'before the settlement commits', failpoint: 'charge.before_settle_commit', sent: true },
  { name: 'settled, not answered', failpoint: 'charge.settled', sent: true },
  { name: 'the answer lost, unknown recorded', failpoint: 'charge.unknown_recorded', fault: answerLost, sent: true },
  { name: 'the answer lost, the key released', failpoint: 'confirm.key_released', fault: answerLost, sent: true },
  {
    name: 'the answer lost, the sweeper has claimed it',
    failpoint: 'sweep.attempt_claimed',
    fault: answerLost,
    sent: true,
  },
  {
    name: 'the creation’s answer lost',
    failpoint: 'charge.unknown_recorded',
    fault: { call: 'payment_intents.create', kind: 'drop_after' },
    sent: false,
  },
  {
    name: 'never carried out, the sweeper past its fence',
    failpoint: 'charge.fence_passed',
    skip: 1,
    fault: { call: 'payment_intents.confirm', kind: 'drop_before' },
    sent: true,
  },
  {
    name: 'the answer lost, the sweeper about to commit',
    failpoint: 'charge.before_settle_commit',
    fault: answerLost,
    sent: true,
  },
  {
    name: 'an orphan still on its way',
    failpoint: 'charge.unknown_recorded',
    fault: { call: 'payment_intents.confirm', kind: 'late', delay_ms: 2_500 },
    sent: true,
  },
  { name: 'declined, not recorded', failpoint: 'charge.before_settle', card: 'declined', sent: true },
  { name: 'declined, not answered', failpoint: 'charge.settled', card: 'declined', sent: true },
];

/** What differs in split is who sees the crash: these show it in the short run. */
export const shortSplitFailpoints: ReadonlySet<string> = new Set([
  'confirm.claimed',
  'charge.fence_passed',
  'charge.processor_answered',
  'sweep.attempt_claimed',
]);

const shortFailpoints: ReadonlySet<string> = new Set([
  'confirm.before_claim_commit',
  'charge.intent_created',
  'charge.before_settle_commit',
  'charge.settled',
  'confirm.key_released',
]);

/** What the short run of `npm test` tries of them in one process: one on each side of the claim, the intent, the settlement and the answer. */
export const shortConfirmCrashes = confirmCrashes.filter(
  ({ failpoint }, index) =>
    shortFailpoints.has(failpoint) && confirmCrashes.findIndex((crash) => crash.failpoint === failpoint) === index,
);

/** How a hold ends that is not captured in time. */
export type HoldEnd =
  /** Its issuer or a person at the processor has canceled it. */
  | 'gone'
  /** Its shop is told a day before it lapses. */
  | 'announced'
  /** It lapses within the hour. */
  | 'ends';

/** A pass of a failpoint at which the process dies while it follows a hold. */
export interface HoldCrash {
  readonly end: HoldEnd;
  readonly failpoint: string;
}

const looked = ['follow_hold.claimed', 'follow_hold.processor_answered'];
const ended = ['follow_hold.before_end_commit', 'follow_hold.ended'];
const voided = ['hold.processor_answered', 'hold.before_record_commit', 'hold.recorded'];
const crashesOf = (end: HoldEnd, failpoints: readonly string[]) => failpoints.map((failpoint) => ({ end, failpoint }));

/** Where an event of the processor says so, at once: the other card's hold is voided. */
export const goneHoldCrashes: readonly HoldCrash[] = crashesOf('gone', [...looked, ...ended, ...voided]);

/** Where days pass. */
export const datedHoldCrashes: readonly HoldCrash[] = [
  ...crashesOf('announced', [...looked, 'follow_hold.before_announce_commit', 'follow_hold.announced']),
  ...crashesOf('ends', [...ended, ...voided]),
];

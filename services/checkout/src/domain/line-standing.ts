import type { Cents } from '@eligo/values';
import type { LetterFeeOfLine } from './letter-fee.ts';
import type { SessionLine } from './session.ts';

/** A line of a session with how its money stands. */
export interface LineStanding extends SessionLine {
  /** What open and lost disputes hold of it. */
  readonly amountDisputedCents: Cents;
  /** Its part of a letter fee that is given back. */
  readonly letterFee: LetterFeeOfLine | undefined;
}

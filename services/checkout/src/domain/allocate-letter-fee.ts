import { Failure } from '@eligo/failures';
import { type Cents, cents, sumCents } from '@eligo/values';
import { fillInProportion, linesOf } from './fill-in-proportion.ts';
import type { LineWithFees } from './letter-fee.ts';
import {
  type Allocation,
  amountOf,
  componentsOf,
  type DividedLine,
  type DividedSession,
  finish,
  type Instruction,
  LineFills,
  requireWithin,
  restOfCard,
  restOfLine,
} from './line-allocation.ts';

interface LineWithFee extends DividedLine {
  /** The whole line, with what it has noted of the letter fee. */
  readonly whole?: Pick<LineWithFees, 'letterFeeGivenBackCents' | 'letterFeeRefundedCents'>;
}

interface SessionWithFee extends DividedSession {
  readonly lines: readonly LineWithFee[];
}

/**
 * Takes the refund of a letter fee apart into lines and cards. It comes from what is still to be refunded of the fee of each line, and from no other line: the card that paid the line
 * gets it back. Without an amount it takes all of that.
 */
export function allocateLetterFee(session: SessionWithFee, instruction: Instruction): Allocation {
  if (session.cards.every(({ limitCents }) => limitCents === 0)) throw new Failure(session.refusals.nothing);
  const rooms = roomsOf(session);
  const roomOf = (line: DividedLine) => rooms.get(line.id) ?? cents(0);
  const remaining = sumCents(
    session.cards.map((card) => cents(Math.min(sumCents(linesOf(card, session.lines).map(roomOf)), restOfCard(card)))),
  );
  const wanted =
    instruction.amount === undefined ? remaining : amountOf(instruction.amount, session, instruction, remaining);
  if (remaining === 0) throw new Failure(session.refusals.exceeds);
  requireWithin(session, wanted, remaining);
  const fills = new LineFills(session);
  fillInProportion(fills, session, session.lines, roomOf, wanted);
  return finish(fills, session, instruction, componentsOf(session, instruction));
}

// What can be taken of each card's part of a line: the parts of one line have its fee together.
function roomsOf({ lines }: SessionWithFee): ReadonlyMap<string, Cents> {
  const taken = new Map<string, number>();
  return new Map(
    lines.map((line) => {
      const { id, lineId = id, whole } = line;
      const ofOthers = taken.get(lineId) ?? 0;
      const pending = whole === undefined ? 0 : whole.letterFeeGivenBackCents - whole.letterFeeRefundedCents;
      const room = Math.min(restOfLine(line), pending - ofOthers);
      taken.set(lineId, ofOthers + room);
      return [id, cents(room)];
    }),
  );
}

import { Failure } from '@eligo/failures';
import { type Cents, cents, partOf, sumCents } from '@eligo/values';
import { notHeld } from './disputed-lines.ts';
import { fillInProportion, linesOf } from './fill-in-proportion.ts';
import type { LetterFeeOfLine } from './letter-fee.ts';
import {
  type Allocation,
  allocateOverLines,
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

/** What a line that recurs costs, and what of that are fees of its session, which do not recur. */
export interface RecurringCost {
  readonly totalCents: Cents;
  readonly feeCents: Cents;
}

interface LineInTime extends DividedLine {
  /** Undefined for a line that is sold once. */
  readonly recurring?: RecurringCost | undefined;
}

interface SessionInTime extends DividedSession {
  readonly lines: readonly LineInTime[];
  /** The letter fee that is given back, by the line that it is a part of. */
  readonly letterFees: ReadonlyMap<string, LetterFeeOfLine>;
}

/**
 * Takes a refund of unused time apart into lines and cards (decisions 14.3). It comes from what was paid for the time of the lines that recur, in proportion to what remains
 * of that. An excess comes from what else remains of these lines. The lines that were sold once give nothing. An instruction that states more than an amount is
 * taken as by `allocateOverLines`.
 */
export function allocateOverRecurring(session: SessionInTime, instruction: Instruction): Allocation {
  const { amount, entries, methods, tax, shipping, discount } = instruction;
  const statesParts = entries.length > 0 || methods.length > 0 || (tax ?? shipping ?? discount) !== undefined;
  if (amount === undefined || statesParts) return allocateOverLines(session, instruction);
  if (session.cards.every(({ limitCents }) => limitCents === 0)) throw new Failure(session.refusals.nothing);
  const recurring = session.lines.filter((line) => line.recurring !== undefined);
  const remaining = sumCents(
    session.cards.map((card) => cents(Math.min(sumCents(linesOf(card, recurring).map(restOfLine)), restOfCard(card)))),
  );
  const wanted = amountOf(amount, session, instruction, remaining);
  requireWithin(session, wanted, remaining);
  const fills = new LineFills(session);
  const ofTime = fillInProportion(fills, session, recurring, (line) => restOfTime(line, session), wanted);
  const restOf = (line: LineInTime) => cents(restOfLine(line) - (fills.amounts.get(line.id) ?? 0));
  fillInProportion(fills, session, recurring, restOf, wanted - ofTime);
  return finish(fills, session, instruction, componentsOf(session, instruction));
}

// Of what remains of a line that recurs, what was paid for its time: not its fees, nor what a dispute of its card holds, which is of each line in proportion. A letter fee that is still to be
// refunded comes out of what the dispute leaves of the line, as it does once it is refunded.
function restOfTime(line: LineInTime, session: SessionInTime): Cents {
  const rest = restOfLine(line);
  const card = session.cards.find(({ paymentIntentId }) => paymentIntentId === line.paymentIntentId);
  if (line.recurring === undefined || card === undefined || rest === 0) return cents(0);
  const { totalCents, feeCents } = line.recurring;
  // A letter fee that is given back has a refund of its own, so it is no part of what remains.
  const { wholeCents = 0, pendingCents = 0 } = session.letterFees.get(line.lineId ?? line.id) ?? {};
  const besideCents = Math.max(0, rest - pendingCents);
  const timeCents = partOf(besideCents, totalCents - feeCents, totalCents - wholeCents);
  const [ofCard, ofLines] = [restOfCard(card), sumCents(linesOf(card, session.lines).map(restOfLine))];
  const leftCents = Math.max(0, notHeld(rest, ofCard, ofLines) - pendingCents);
  return cents(Math.min(notHeld(timeCents, ofCard, ofLines), leftCents));
}

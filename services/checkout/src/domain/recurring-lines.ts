import { Failure } from '@eligo/failures';
import { allocate, type Cents, cents, centsFromInt64, sumCents } from '@eligo/values';
import { notHeld } from './disputed-lines.ts';
import {
  type Allocation,
  allocateOverLines,
  amountOf,
  componentsOf,
  type DividedCard,
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
  /** Whether the letter fee is given back, whichever lines its refund is noted at. */
  readonly isLetterFeeRefunded?: boolean;
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

// Of what remains of a line that recurs, what was paid for its time: not its fees, nor what a dispute of its card holds, which is of each line in proportion.
function restOfTime(line: LineInTime, session: SessionInTime): Cents {
  const rest = restOfLine(line);
  const card = session.cards.find(({ paymentIntentId }) => paymentIntentId === line.paymentIntentId);
  if (line.recurring === undefined || card === undefined || rest === 0) return cents(0);
  const { totalCents, feeCents } = line.recurring;
  // A letter fee that is given back was refunded with a part of the line that says nothing of its time, or will be.
  const timed = session.isLetterFeeRefunded === true ? line.limitCents : rest;
  const timeCents = centsFromInt64((BigInt(timed) * BigInt(totalCents - feeCents)) / BigInt(totalCents));
  const lines = linesOf(card, session.lines).map(restOfLine);
  return notHeld(cents(Math.min(rest, timeCents)), restOfCard(card), sumCents(lines));
}

// Takes up to `amount` of these lines, in proportion to the room that their cards and they have. Returns what it took.
function fillInProportion(
  fills: LineFills,
  session: SessionInTime,
  lines: readonly LineInTime[],
  roomOf: (line: LineInTime) => Cents,
  amount: number,
): number {
  const sources = session.cards.map((card) => {
    const own = linesOf(card, lines).map((line) => ({ line, room: roomOf(line) }));
    const taken = linesOf(card, session.lines).reduce((sum, { id }) => sum + (fills.amounts.get(id) ?? 0), 0);
    const most = Math.min(sumCents(own.map(({ room }) => room)), restOfCard(card) - taken);
    return { own, most: cents(most) };
  });
  const all = sources.map(({ most }) => most);
  const part = cents(Math.min(amount, sumCents(all)));
  for (const [index, share] of allocate(part, all).entries()) {
    const own = sources[index]?.own ?? [];
    const shares = allocate(
      share,
      own.map(({ room }) => room),
    );
    for (const [place, { line }] of own.entries()) fills.fill([line], shares[place] ?? 0);
  }
  return part;
}

function linesOf({ paymentIntentId }: DividedCard, lines: readonly LineInTime[]): LineInTime[] {
  return lines.filter((line) => line.paymentIntentId === paymentIntentId);
}

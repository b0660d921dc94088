import { Failure } from '@eligo/failures';
import { allocate, type Cents, cents, centsFromInt64, sumCents } from '@eligo/values';
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
}

/**
 * Takes a refund of unused time apart into lines and cards (decisions 14.3). It comes from what was paid for the time of the lines that recur, in proportion to what remains
 * of that. An excess comes from what else remains of these lines, and then from the lines that were sold once. An instruction that states more than an amount is
 * taken as by `allocateOverLines`.
 */
export function allocateRecurringFirst(session: SessionInTime, instruction: Instruction): Allocation {
  const { amount, entries, methods, tax, shipping, discount } = instruction;
  const statesParts = entries.length > 0 || methods.length > 0 || (tax ?? shipping ?? discount) !== undefined;
  if (amount === undefined || statesParts) return allocateOverLines(session, instruction);
  if (session.cards.every(({ limitCents }) => limitCents === 0)) throw new Failure(session.refusals.nothing);
  const remaining = sumCents(session.cards.map(restOfCard));
  const wanted = amountOf(amount, session, instruction, remaining);
  requireWithin(session, wanted, remaining);
  const fills = new LineFills(session);
  const recurring = session.lines.filter((line) => line.recurring !== undefined);
  const restOf = (line: LineInTime) => cents(restOfLine(line) - (fills.amounts.get(line.id) ?? 0));
  let missing: number = wanted;
  for (const { lines, roomOf } of [
    { lines: recurring, roomOf: (line: LineInTime) => restOfTime(line, session) },
    { lines: recurring, roomOf: restOf },
    { lines: session.lines, roomOf: restOf },
  ]) {
    missing -= fillInProportion(fills, session, lines, roomOf, missing);
  }
  if (missing > 0) throw new Failure(session.refusals.exceeds);
  return finish(fills, session, instruction, componentsOf(session, instruction));
}

// Of what remains of a line that recurs, what was paid for its time: not its fees, nor what a dispute of its card holds, which is of each line in proportion.
function restOfTime(line: LineInTime, { cards, lines }: SessionInTime): Cents {
  const rest = restOfLine(line);
  const card = cards.find(({ paymentIntentId }) => paymentIntentId === line.paymentIntentId);
  if (line.recurring === undefined || card === undefined || rest === 0) return cents(0);
  const { totalCents, feeCents } = line.recurring;
  const ofCard = sumCents(linesOf(card, lines).map(restOfLine));
  const kept = Math.min(restOfCard(card), ofCard);
  const [part, whole] = [BigInt(totalCents - feeCents) * BigInt(kept), BigInt(totalCents) * BigInt(ofCard)];
  return centsFromInt64((BigInt(rest) * part) / whole);
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

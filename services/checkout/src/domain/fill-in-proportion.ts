import { allocate, type Cents, cents, sumCents } from '@eligo/values';
import {
  type DividedCard,
  type DividedLine,
  type DividedSession,
  type LineFills,
  restOfCard,
} from './line-allocation.ts';

/** Takes up to `amount` of these lines, in proportion to the room that their cards and they have. Returns what it took. */
export function fillInProportion<Line extends DividedLine>(
  fills: LineFills,
  session: DividedSession,
  lines: readonly Line[],
  roomOf: (line: Line) => Cents,
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

/** The lines that a card pays. */
export function linesOf<Line extends DividedLine>({ paymentIntentId }: DividedCard, lines: readonly Line[]): Line[] {
  return lines.filter((line) => line.paymentIntentId === paymentIntentId);
}

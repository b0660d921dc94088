import { type Cents, cents, partOf, sumCents } from '@eligo/values';

/** A line as far as one card paid it. */
interface PaidLine {
  /** The line that this is one card's part of. */
  readonly lineId?: string;
  readonly id: string;
  readonly paymentIntentId: string | null;
  readonly capturedCents: Cents;
  readonly refundedCents: Cents;
}

/** A card that paid, with what open and lost disputes hold of it. */
interface PaidCard {
  readonly id: string;
  readonly amountReceivedCents: Cents;
  readonly amountRefundedCents: Cents;
  readonly amountDisputedCents: Cents;
}

/** Of an amount of a line, what no dispute holds: a dispute of its card names no lines, so it holds of each in proportion to what is not refunded. */
export function notHeld(amount: Cents, restOfCard: Cents, restOfLines: Cents): Cents {
  if (restOfLines <= restOfCard) return amount;
  return partOf(amount, restOfCard, restOfLines);
}

/** What open and lost disputes hold of each line, by its id, rounded up. A line of an undisputed card is left out. */
export function disputedOfLines(lines: readonly PaidLine[], cards: readonly PaidCard[]): ReadonlyMap<string, Cents> {
  const held = new Map<string, Cents>();
  for (const { id: cardId, amountReceivedCents, amountRefundedCents, amountDisputedCents } of cards) {
    if (amountDisputedCents === 0) continue;
    const own = lines.filter(({ paymentIntentId }) => paymentIntentId === cardId);
    const restOfCard = cents(Math.max(0, amountReceivedCents - amountRefundedCents - amountDisputedCents));
    const restOfLines = sumCents(own.map(restOf));
    for (const line of own) {
      const id = line.lineId ?? line.id;
      const ofCard = restOf(line) - notHeld(restOf(line), restOfCard, restOfLines);
      held.set(id, cents((held.get(id) ?? 0) + ofCard));
    }
  }
  return held;
}

function restOf({ capturedCents, refundedCents }: PaidLine): Cents {
  return cents(capturedCents - refundedCents);
}

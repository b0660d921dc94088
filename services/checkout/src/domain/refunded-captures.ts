import { type Cents, cents } from '@eligo/values';

/** What one capture took of a card, what of that has been refunded, and what it took of each line. */
export interface CaptureOfCard {
  readonly captureId: string;
  readonly amountCents: Cents;
  readonly refundedCents: Cents;
  readonly lines: readonly { readonly lineId: string; readonly amountCents: number }[];
}

/** What a refund takes of one capture. */
export interface RefundedCapture {
  readonly captureId: string;
  readonly amountCents: Cents;
}

/**
 * The captures that a card's part of a refund draws from: a line's money from the captures that took that line, then from the oldest that has money left. Never more
 * than is left of a capture. It is less than the part where earlier refunds of the card named no capture and later ones have used them up.
 */
export function drawFromCaptures(
  captures: readonly CaptureOfCard[],
  lines: readonly { readonly lineId: string; readonly amount: number }[],
): RefundedCapture[] {
  const drawn = new Map<string, number>();
  const leftOf = ({ captureId, amountCents, refundedCents }: CaptureOfCard) =>
    amountCents - refundedCents - (drawn.get(captureId) ?? 0);
  const draw = (capture: CaptureOfCard, most: number): number => {
    const amount = Math.min(leftOf(capture), most);
    if (amount <= 0) return 0;
    drawn.set(capture.captureId, (drawn.get(capture.captureId) ?? 0) + amount);
    return amount;
  };
  const taken = new Map(
    captures.flatMap(({ captureId, lines: own }) =>
      own.map(({ lineId, amountCents }) => [`${captureId} ${lineId}`, amountCents]),
    ),
  );
  let rest = 0;
  for (const { lineId, amount } of lines) {
    let open = amount;
    for (const capture of captures) {
      open -= draw(capture, Math.min(open, taken.get(`${capture.captureId} ${lineId}`) ?? 0));
    }
    rest += open;
  }
  for (const capture of captures) rest -= draw(capture, rest);
  return captures.flatMap(({ captureId }) => {
    const amount = drawn.get(captureId) ?? 0;
    return amount === 0 ? [] : [{ captureId, amountCents: cents(amount) }];
  });
}

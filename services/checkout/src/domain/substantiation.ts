import type { Letter } from './letter.ts';
import type { Charge, PaymentIntent } from './payment-intent.ts';
import type { PaymentMethod } from './payment-method.ts';
import type { Session, SessionLine } from './session.ts';

/** What proves that the health card of a session paid for eligible items alone. */
export interface Substantiation {
  readonly session: Session;
  readonly record: EligibilityRecord | undefined;
  readonly lines: readonly SubstantiatedLine[];
  readonly payments: readonly SubstantiatedPayment[];
  /** Whether the lines have older refunds than those that are listed. */
  readonly hasMoreRefunds: boolean;
}

/** When the lines of a session were decided, and by which version of the food policy if it decided any. */
export interface EligibilityRecord {
  readonly id: string;
  readonly foodPolicyVersion: string | null;
  readonly createdAt: Date;
}

export interface SubstantiatedLine {
  readonly line: SessionLine;
  readonly letter: Letter | undefined;
  readonly captures: readonly LineMovement[];
  readonly refunds: readonly LineMovement[];
}

/** What was captured of a line, or refunded. */
export interface LineMovement {
  readonly lineId: string;
  /** A charge or a capture; a refund. */
  readonly sourceId: string;
  readonly paymentIntentId: string;
  readonly amountCents: number;
  readonly at: Date;
}

/** A card that was charged. */
export interface SubstantiatedPayment {
  readonly leg: PaymentIntent['leg'];
  readonly charge: Charge;
  readonly method: PaymentMethod | undefined;
}

/** Puts together what was read in one snapshot. A line that was captured without a capture record was paid by its card's charge. */
export function substantiate(read: {
  readonly session: Session;
  readonly record: EligibilityRecord | undefined;
  readonly lines: readonly SessionLine[];
  readonly letters: ReadonlyMap<string, Letter>;
  readonly payments: readonly SubstantiatedPayment[];
  readonly captures: readonly LineMovement[];
  readonly refunds: readonly LineMovement[];
  readonly hasMoreRefunds: boolean;
}): Substantiation {
  const { session, record, payments, hasMoreRefunds } = read;
  const lines = read.lines.map((line) => {
    const captures = read.captures.filter(({ lineId }) => lineId === line.id);
    return {
      line,
      letter: read.letters.get(line.productId),
      captures: captures.length > 0 ? captures : captureByCharge(line, payments),
      refunds: read.refunds.filter(({ lineId }) => lineId === line.id),
    };
  });
  return { session, record, lines, payments, hasMoreRefunds };
}

function captureByCharge(line: SessionLine, payments: readonly SubstantiatedPayment[]): LineMovement[] {
  const charge = payments.find((payment) => payment.charge.paymentIntentId === line.paymentIntentId)?.charge;
  if (charge === undefined || line.amountCapturedCents === 0) return [];
  const { id: sourceId, paymentIntentId, createdAt: at } = charge;
  return [{ lineId: line.id, sourceId, paymentIntentId, amountCents: line.amountCapturedCents, at }];
}

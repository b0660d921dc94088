import { create } from '@bufbuild/protobuf';
import { CheckoutSessionSchema, LineItemListSchema, PaymentIntentSchema } from '@eligo/proto/checkout/v1/checkout';

/** What checkout knows of payments after they were made: their refunds and disputes, and the lines of sessions. */
export class PaymentsPeer {
  /** What was refunded of a payment intent or a session, and what open and lost disputes hold of it. */
  readonly refunded = new Map<string, number>();
  readonly disputed = new Map<string, number>();
  /** What was refunded of each line of a session, where it is not in proportion: the recurring ones, and then what was sold once. */
  readonly refundedLines = new Map<string, readonly number[]>();
  /** What disputes hold of each line of a session, where checkout says it. */
  readonly disputedLines = new Map<string, readonly number[]>();
  /** The letter fee that is given back of each line of a session, with what of it is still to be refunded. */
  readonly letterFees = new Map<string, readonly { readonly cents: number; readonly toRefund: number }[]>();
  /** What was captured of each line of a session, where checkout says it. */
  readonly capturedLines = new Map<string, readonly number[]>();
  /** The payment intents of the cards that paid a session, with what each paid. */
  readonly cards = new Map<string, Readonly<Record<string, number>>>();
  /** The share of each recurring line of a session in its fees. */
  readonly fees = new Map<string, readonly number[]>();
  readonly #sold = new Map<string, SoldSession>();

  /** A session with these recurring lines, and one that was sold once: what it received besides, unless it is said. */
  sold(sessionId: string, receivedCents: number, lines: readonly number[], onceCents?: number): void {
    const once = onceCents ?? receivedCents - lines.reduce((sum, line) => sum + line, 0);
    this.#sold.set(sessionId, { receivedCents, lines, once });
  }

  intent(id: string) {
    const ofSession = [...this.cards.values()].find((cards) => id in cards);
    const amountReceivedCents = BigInt(ofSession?.[id] ?? 0);
    return create(PaymentIntentSchema, { paymentIntentId: id, amountReceivedCents, ...this.#givenBack(id) });
  }

  session(id: string) {
    const amountReceivedCents = BigInt(this.#sold.get(id)?.receivedCents ?? 0);
    return create(CheckoutSessionSchema, {
      checkoutSessionId: id,
      amountReceivedCents,
      paymentIntentIds: Object.keys(this.cards.get(id) ?? {}),
      ...this.#givenBack(id),
    });
  }

  lineItems(id: string) {
    const { receivedCents, lines, once } = this.#sold.get(id) ?? { receivedCents: 0, lines: [], once: 0 };
    const inProportion = (line: number) =>
      receivedCents === 0 ? 0 : Math.floor(((this.refunded.get(id) ?? 0) * line) / receivedCents);
    return create(LineItemListSchema, {
      lineItems: [...lines, ...(once > 0 ? [once] : [])].map((line, index) => ({
        amountTotalCents: BigInt(line),
        amountFeeCents: BigInt(this.fees.get(id)?.[index] ?? 0),
        amountRefundedCents: BigInt(this.refundedLines.get(id)?.[index] ?? inProportion(line)),
        letterFeeCents: BigInt(this.letterFees.get(id)?.[index]?.cents ?? 0),
        letterFeeToRefundCents: BigInt(this.letterFees.get(id)?.[index]?.toRefund ?? 0),
        ...this.#capturedOf(id, index),
        ...this.#disputedOf(id, index),
        ...(index < lines.length ? { recurring: { interval: 'month', intervalCount: 1 } } : {}),
      })),
    });
  }

  #capturedOf(id: string, index: number) {
    const lines = this.capturedLines.get(id);
    return lines === undefined ? {} : { amountCapturedCents: BigInt(lines[index] ?? 0) };
  }

  #disputedOf(id: string, index: number) {
    const lines = this.disputedLines.get(id);
    return lines === undefined ? {} : { amountDisputedCents: BigInt(lines[index] ?? 0) };
  }

  #givenBack(id: string) {
    return {
      amountRefundedCents: BigInt(this.refunded.get(id) ?? 0),
      amountDisputedCents: BigInt(this.disputed.get(id) ?? 0),
    };
  }
}

interface SoldSession {
  readonly receivedCents: number;
  readonly lines: readonly number[];
  readonly once: number;
}

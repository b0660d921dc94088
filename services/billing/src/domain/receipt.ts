import { type Cents, cardInWords, dollars, eligibilityInWords, zonedDateInWords } from '@eligo/values';

/** A receipt of what a session's cards paid, or of a refund of it. */
export interface Receipt {
  readonly id: string;
  readonly checkoutSessionId: string;
  readonly subscriptionId: string | null;
  /** Null: the receipt of the purchase. */
  readonly refundId: string | null;
  /** Null: the shopper had no address, so it is mailed to nobody. */
  readonly email: string | null;
  readonly amountCents: Cents;
  readonly content: ReceiptContent | RefundReceiptContent;
  readonly createdAt: Date;
}

/** A receipt with what became of its last mail. */
export interface MailedReceipt extends Receipt {
  /** Null: it has no mail. */
  readonly mailStatus: 'pending' | 'sent' | 'failed' | null;
  readonly mailedAt: Date | null;
}

/** What names days. */
export interface Dated {
  /** The time zone of the account when it was made, by its IANA name. A receipt of an earlier release does not have it: its days are those of UTC. */
  readonly timeZone?: string;
}

/** What a plan administrator asks of a receipt: who bought what, when, from whom, why it is eligible, and what each card paid. */
export interface ReceiptContent extends Dated {
  readonly merchantName: string;
  readonly shopperName: string | null;
  /** When the shopper paid. ISO 8601, UTC. */
  readonly purchasedAt: string;
  /** When the last of it was captured, where that was later. */
  readonly chargedAt?: string;
  readonly orderReference: string | null;
  readonly items: readonly ReceiptItem[];
  readonly amounts: {
    readonly subtotalCents: number;
    readonly discountCents: number;
    readonly shippingCents: number;
    readonly taxCents: number;
    readonly feeCents: number;
    readonly totalCents: number;
  };
  readonly payments: readonly ReceiptPayment[];
  readonly testMode: boolean;
}

/** What a shopper can show of a refund: who returned what, when, to which card. */
export interface RefundReceiptContent extends Dated {
  readonly merchantName: string;
  readonly shopperName: string | null;
  /** ISO 8601, UTC. */
  readonly purchasedAt: string;
  readonly refundedAt: string;
  readonly orderReference: string | null;
  readonly refundId: string;
  readonly refundedItems: readonly RefundedItem[];
  readonly refundedCards: readonly ReceiptPayment[];
  /** What the cards keep of it. */
  readonly amountCents: number;
  /** What the receipt before this one said of the same refund; null: this is the first. */
  readonly earlierCents: number | null;
  readonly testMode: boolean;
}

export interface RefundedItem {
  readonly description: string;
  readonly eligibility: string | null;
  readonly amountCents: number;
  /** The place in `refundedCards` of the card. */
  readonly returnedTo: number;
}

/** Whether a receipt is of a refund. */
export function isOfRefund(content: ReceiptContent | RefundReceiptContent): content is RefundReceiptContent {
  return 'refundedItems' in content;
}

/** What a receipt of a refund is called: by its document and by its mail. */
export function refundTitle({ merchantName, earlierCents }: RefundReceiptContent): string {
  return earlierCents === null ? `Refund from ${merchantName}` : `Correction of your refund from ${merchantName}`;
}

/** What a correction says of the receipt before it; undefined: this is the first. */
export function correctionInWords(content: RefundReceiptContent): string | undefined {
  const { merchantName, amountCents, earlierCents } = content;
  if (earlierCents === null) return undefined;
  const missing = dollars(earlierCents - amountCents);
  return `An earlier receipt said that ${dollars(earlierCents)} was refunded. ${missing} of it did not reach your card, because the card's bank sent it back to the shop. Ask ${merchantName} how you get it.`;
}

export interface ReceiptItem {
  readonly description: string;
  readonly quantity: number;
  /** Less was captured of it than its total. */
  readonly isPart?: boolean;
  /** With its share of discounts, shipping, tax and fees. */
  readonly totalCents: number;
  readonly eligibility: string | null;
  /** The letter of medical necessity that makes it eligible. */
  readonly letterId?: string;
  /** The place in `payments` of the card that paid it; null: no card of this session did. */
  readonly paidBy: number | null;
  /** What each card paid of it, where it was paid with two. */
  readonly shares?: readonly ReceiptShare[];
}

export interface ReceiptShare {
  /** The place in `payments` of the card. */
  readonly paidBy: number;
  readonly amountCents: number;
}

/** Whether a card is known to be a health card, or known to be none. */
export type CardKind = 'health' | 'other' | 'unknown';

export interface ReceiptPayment {
  readonly leg: 'health' | 'other';
  /** What the card was taken for when it was charged. A receipt of an earlier release does not have it, and says what it said then. */
  readonly cardKind?: CardKind;
  readonly cardBrand: string | null;
  readonly cardLast4: string | null;
  readonly amountCents: number;
}

/** Stands in place of an erased address; no mail is ever delivered to this domain (RFC 2606). */
export const erasedEmail = 'erased@invalid';

/** An item with its quantity, joined by `times`. The amount of a part is no price of that quantity. */
export function itemInWords({ quantity, description, isPart }: ReceiptItem, times: string): string {
  const all = `${quantity} ${times} ${description}`;
  return isPart === true ? `Part of ${all}` : all;
}

/** The day of a time as a receipt names it: a plan administrator has to know whose day it is. */
export function dayInWords({ timeZone = 'UTC' }: Dated, time: string): string {
  return zonedDateInWords(new Date(time), timeZone);
}

/** The day of the charge, where that is not the day of the purchase. */
export function chargedOn(content: ReceiptContent): string | null {
  const { purchasedAt, chargedAt = purchasedAt } = content;
  const [purchase, charge] = [purchasedAt, chargedAt].map((time) => dayInWords(content, time));
  return charge === undefined || charge === purchase ? null : charge;
}

/** Why an item is eligible, with the letter that a plan administrator may ask for. */
export function whyEligible({ eligibility, letterId }: ReceiptItem): string {
  const words = eligibilityInWords(eligibility);
  return letterId === undefined ? words : `${words} (${letterId})`;
}

/** What no card of the session paid: the shop collects it in another way. */
export function collectedByShopCents({ amounts, payments }: ReceiptContent): number {
  return payments.reduce((remaining, { amountCents }) => remaining - amountCents, amounts.totalCents);
}

/** The card of a payment as its owner knows it. Only a card that is known to be a health card is called one, whatever it paid for. */
export function paidByInWords({ leg, cardKind = leg, cardBrand, cardLast4 }: ReceiptPayment): string {
  return cardInWords({ isHealthCard: cardKind === 'health', brand: cardBrand, last4: cardLast4 });
}

/** The card that paid an item, or each of two with what it paid; undefined: no card of this session did. */
export function paidWithInWords(
  { paidBy, shares }: ReceiptItem,
  payments: readonly ReceiptPayment[],
): string | undefined {
  if (shares !== undefined) {
    const parts = shares.flatMap((share) => {
      const payment = payments[share.paidBy];
      return payment === undefined ? [] : [`${paidByInWords(payment)} (${dollars(share.amountCents)})`];
    });
    return parts.join(' and ');
  }
  const payment = paidBy === null ? undefined : payments[paidBy];
  return payment && paidByInWords(payment);
}

import type { Cents } from '@eligo/values';

/** A receipt of a session. */
export interface Receipt {
  readonly id: string;
  readonly checkoutSessionId: string;
  readonly subscriptionId: string | null;
  readonly email: string;
  readonly amountCents: Cents;
  readonly content: ReceiptContent;
  readonly createdAt: Date;
}

/** A receipt with what became of its last mail. */
export interface MailedReceipt extends Receipt {
  readonly mailStatus: 'pending' | 'sent' | 'failed';
  readonly mailedAt: Date | null;
}

/** What a plan administrator asks of a receipt: who bought what, when, from whom, why it is eligible, and what each card paid. */
export interface ReceiptContent {
  readonly merchantName: string;
  readonly shopperName: string | null;
  /** ISO 8601, UTC. */
  readonly purchasedAt: string;
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

export interface ReceiptItem {
  readonly description: string;
  readonly quantity: number;
  /** With its share of discounts, shipping, tax and fees. */
  readonly totalCents: number;
  readonly eligibility: string | null;
  /** The place in `payments` of the card that paid it; null: no card of this session did. */
  readonly paidBy: number | null;
}

export interface ReceiptPayment {
  readonly leg: 'health' | 'other';
  readonly cardBrand: string | null;
  readonly cardLast4: string | null;
  readonly amountCents: number;
}

/** What no card of the session paid: the shop collects it in another way. */
export function collectedByShopCents({ amounts, payments }: ReceiptContent): number {
  return payments.reduce((remaining, { amountCents }) => remaining - amountCents, amounts.totalCents);
}

/** A class of eligibility in the words of a plan administrator. */
export function eligibilityInWords(eligibility: string | null): string {
  return (eligibility === null ? undefined : words[eligibility]) ?? 'Not eligible';
}

const words: Readonly<Record<string, string>> = {
  auto_substantiation: 'Eligible: medical item on the IIAS list',
  private_label: 'Eligible: medical item on the IIAS list (private label)',
  letter_of_medical_necessity: 'Eligible with a letter of medical necessity',
  prescription: 'Eligible: prescription',
  vision: 'Eligible: vision care',
  service: 'Eligible: medical service',
};

/** Cents as dollars: 123456 is $1,234.56. */
export function dollars(cents: number): string {
  return (cents / 100).toLocaleString('en-US', { style: 'currency', currency: 'USD' });
}

/** A card as its owner knows it. */
export function cardInWords({ leg, cardBrand, cardLast4 }: ReceiptPayment): string {
  const brand = cardBrand === null ? 'card' : cardBrand.charAt(0).toUpperCase() + cardBrand.slice(1);
  const kind = leg === 'health' ? 'HSA/FSA card' : 'Card';
  return cardLast4 === null ? kind : `${kind}, ${brand} ending in ${cardLast4}`;
}

/** The pauses between the tries of a mail, in milliseconds: a mail server that is down for a day loses none. */
const pausesMs = [60_000, 300_000, 1_800_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000] as const;

/** How long to wait after a failed try, the first being 1; undefined: the mail is given up. */
export function pauseAfterTryMs(tries: number): number | undefined {
  return pausesMs[tries - 1];
}

import { type Cents, cents, minimumChargeCents, sumCents } from '@eligo/values';
import type { Invoice, InvoiceCharge } from './invoice.ts';

/** A card of a subscription. `healthCard` unless it is known to be none. */
export interface Card {
  readonly id: string;
  readonly healthCard: boolean;
  /** The code of why it cannot be charged, as when it was detached or was saved at another processor account; null for one that can. */
  readonly gone: string | null;
}

/** The cards of a subscription; null for one that it does not have. */
export interface Cards {
  readonly standard: Card | null;
  readonly backup: Card | null;
}

/** What is charged next for an invoice. */
export type NextCharge =
  | {
      readonly kind: 'charge';
      readonly leg: InvoiceCharge['leg'];
      readonly backup: boolean;
      readonly paymentMethodId: string;
      readonly amountCents: Cents;
    }
  /** A card that has to pay a part is gone: nothing is charged. */
  | {
      readonly kind: 'gone';
      readonly leg: InvoiceCharge['leg'];
      readonly paymentMethodId: string;
      readonly failureCode: string;
      readonly declineCode: null;
    }
  /** No card can pay what is left. */
  | { readonly kind: 'no_card'; readonly failureCode: 'payment_method_required' | 'backup_payment_method_required' };

/**
 * The next charge for what is left of an invoice, by the rules of a session on two cards (decisions 6): a health card pays the eligible part and the
 * other card the remainder; a part under 50 cents goes with the other card's; no ineligible line is ever charged to a health card. The health card goes
 * first. Nothing is charged to it unless there is a card for the remainder: a customer does not pay a part of what cannot be paid whole. Where it refused its part
 * and that is agreed, the other card pays all. A card that is gone keeps its part: the other one is charged only for what it would pay beside it.
 */
export function nextCharge(invoice: Invoice, charges: readonly PaidLeg[], cards: Cards): NextCharge {
  const { leftCents, healthCents } = amountsLeft(invoice, charges);
  const given = [cards.standard, cards.backup].filter((card) => card !== null);
  const health = given.find((card) => card.healthCard);
  const other = given.find((card) => !card.healthCard);
  const charge = (leg: InvoiceCharge['leg'], card: Card, amountCents: Cents): NextCharge => {
    if (card.gone !== null) return gone(leg, card, card.gone);
    return {
      kind: 'charge',
      ...{ leg, paymentMethodId: card.id, amountCents },
      backup: card.id !== cards.standard?.id,
    };
  };
  const takesHealth = healthCents > 0 && !invoice.healthRefused;
  if (health !== undefined && takesHealth && (healthCents === leftCents || other !== undefined)) {
    const next = charge('health', health, healthCents);
    const isPart = healthCents < leftCents && other !== undefined;
    if (!isPart || other.gone === null || next.kind === 'gone') return next;
    return gone('other', other, 'backup_payment_method_required');
  }
  if (other !== undefined) return charge('other', other, leftCents);
  return {
    kind: 'no_card',
    failureCode: given.length === 0 ? 'payment_method_required' : 'backup_payment_method_required',
  };
}

/** The cards that pay what is left of an invoice if none declines, or why one of its parts is charged to none. */
export function chargesToCome(
  invoice: Invoice,
  charges: readonly InvoiceCharge[],
  cards: Cards,
):
  | { readonly kind: 'charges'; readonly paymentMethodIds: readonly string[] }
  | Exclude<NextCharge, { kind: 'charge' }> {
  const paymentMethodIds: string[] = [];
  let paid: readonly PaidLeg[] = charges.filter(({ status }) => status === 'succeeded');
  // Two parts at most.
  while (amountsLeft(invoice, paid).leftCents > 0) {
    const next = nextCharge(invoice, paid, cards);
    if (next.kind !== 'charge') return next;
    paymentMethodIds.push(next.paymentMethodId);
    paid = [...paid, { ...next, status: 'succeeded' }];
  }
  return { kind: 'charges', paymentMethodIds };
}

type PaidLeg = Pick<InvoiceCharge, 'leg' | 'status' | 'amountCents'>;

function gone(leg: InvoiceCharge['leg'], { id }: Card, failureCode: string): NextCharge {
  return { kind: 'gone', leg, paymentMethodId: id, failureCode, declineCode: null };
}

/** What is left of an invoice, and what of it a health card may pay. */
export function amountsLeft(
  invoice: Pick<Invoice, 'totalCents' | 'eligibleCents'>,
  charges: readonly PaidLeg[],
): { readonly leftCents: Cents; readonly healthCents: Cents } {
  const paid = charges.filter(({ status }) => status === 'succeeded');
  const leftCents = cents(invoice.totalCents - sumCents(paid.map(({ amountCents }) => amountCents)));
  const isHealthPaid = paid.some(({ leg }) => leg === 'health');
  return { leftCents, healthCents: isHealthPaid ? cents(0) : healthPart(leftCents, invoice.eligibleCents) };
}

// What may go on a health card, or 0 where one of the two parts is too small to be charged by itself.
function healthPart(totalCents: Cents, eligibleCents: Cents): Cents {
  const remainder = totalCents - eligibleCents;
  if (eligibleCents < minimumChargeCents) return cents(0);
  return remainder > 0 && remainder < minimumChargeCents ? cents(0) : eligibleCents;
}

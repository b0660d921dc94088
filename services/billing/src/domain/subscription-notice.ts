import type { Cents } from '@eligo/values';
import { minimumChargeCents } from '@eligo/values';
import type { Invoice } from './invoice.ts';
import type { Cards } from './payment-shares.ts';
import type { Subscription } from './subscription.ts';
import { canPay, endOfTrialWithoutCard } from './trial-without-card.ts';

/** What a mail about a subscription says. It names nothing that was bought. */
export type SubscriptionNotice = {
  readonly merchantName: string;
  readonly manageUrl: string | null;
  readonly testMode: boolean;
  /** Whose days it names. */
  readonly timeZone: string;
} & (UpcomingPeriod | PaidPeriod | { readonly kind: 'ended'; readonly unpaidCents: Cents });

/** What was paid, when, and with which cards. */
export interface PaidPeriod {
  readonly kind: 'paid';
  readonly at: Date;
  readonly cents: Cents;
  readonly cards: readonly { readonly isHealthCard: boolean; readonly cents: Cents; readonly last4: string | null }[];
  /** Where the invoice is shown with its items; null for one that has no page. */
  readonly invoiceUrl: string | null;
}

/** What happens when a trial or a year ends. */
export interface UpcomingPeriod {
  readonly kind: 'trial_end' | 'renewal';
  readonly at: Date;
  readonly outcome: AtPeriodEnd;
}

/**
 * `charge`: the cards with these last digits are charged. `nothing_to_pay`: the period costs nothing that a card can be charged. The others: there is no card that can pay; the subscription
 * ends, is paused, or owes the amount.
 */
export type AtPeriodEnd =
  | { readonly kind: 'charge'; readonly cents: Cents; readonly last4: readonly string[] }
  | { readonly kind: 'nothing_to_pay' }
  | { readonly kind: 'ends' | 'pauses' }
  | { readonly kind: 'no_card'; readonly cents: Cents };

/** The cards of a subscription, undefined if checkout does not know one of them, and the last digits of those that are there. */
export interface NamedCards {
  /** Whether the other card pays what a health card refuses. */
  readonly isBackupAgreed: boolean;
  readonly cards: Cards | undefined;
  readonly last4: readonly string[];
}

/** What happens to a subscription at the end of its period, if it is invoiced this and has these cards. */
export function atPeriodEnd(
  subscription: Subscription,
  invoice: Invoice,
  { cards, last4, isBackupAgreed }: NamedCards,
): AtPeriodEnd {
  const withoutCard = endOfTrialWithoutCard(subscription, invoice, cards, isBackupAgreed);
  if (withoutCard === 'cancel') return { kind: 'ends' };
  if (withoutCard === 'pause') return { kind: 'pauses' };
  const { totalCents } = invoice;
  if (totalCents < minimumChargeCents) return { kind: 'nothing_to_pay' };
  return canPay(invoice, cards, isBackupAgreed)
    ? { kind: 'charge', cents: totalCents, last4 }
    : { kind: 'no_card', cents: totalCents };
}

/** Whether a subscription goes on after its period. One that ends with it is not announced to go on. */
export function goesOn({ status, cancelAtPeriodEnd, cancelAt, currentPeriodEnd }: Subscription): boolean {
  if (status !== 'trialing' && status !== 'active') return false;
  return !cancelAtPeriodEnd && (cancelAt === null || cancelAt > currentPeriodEnd);
}

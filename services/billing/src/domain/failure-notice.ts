import type { Cents } from '@eligo/values';
import { type DunningSettings, nextRetry } from './dunning.ts';
import type { Invoice } from './invoice.ts';
import { isRefusedOwnCard, type Subscription } from './subscription.ts';

/** What a mail about a failed payment says. It names nothing that was bought. */
export interface FailureNotice {
  /** Null where the name of the shop is not known here: its page has it. */
  readonly merchantName: string | null;
  readonly reason: FailureReason;
  readonly dueCents: Cents;
  readonly pageUrl: string;
  readonly next: AfterFailure;
  readonly testMode: boolean;
  /** Whose days it names. */
  readonly timeZone: string;
}

/** Why a payment failed, as far as the customer can do something about it. */
export type FailureReason = 'authentication' | 'expired_card' | 'no_card' | 'no_second_card' | 'too_large' | 'declined';

/**
 * What happens next. `retry`: the card is charged again at `at`. `deadline`: it is not, and until `at` the customer can pay. `none`: no time is set.
 * `endsWith` is what becomes of the subscription if nothing is paid by then; null: another try.
 */
export type AfterFailure =
  | { readonly kind: 'retry'; readonly at: Date; readonly endsWith: DunningSettings['endsWith'] | null }
  | { readonly kind: 'deadline'; readonly at: Date; readonly endsWith: DunningSettings['endsWith'] }
  | { readonly kind: 'none' };

/** The reason behind a failure's codes. What a bank says of a stolen or blocked card stays between the bank and its customer. */
export function failureReason({
  failureCode,
  declineCode,
}: Pick<Invoice, 'failureCode' | 'declineCode'>): FailureReason {
  return reasons.get(declineCode ?? '') ?? reasons.get(failureCode ?? '') ?? 'declined';
}

const reasons: ReadonlyMap<string, FailureReason> = new Map([
  ['authentication_required', 'authentication'],
  ['expired_card', 'expired_card'],
  ['payment_method_from_another_processor', 'no_card'],
  ['payment_method_not_found', 'no_card'],
  ['payment_method_required', 'no_card'],
  ['backup_payment_method_required', 'no_second_card'],
  ['amount_too_large', 'too_large'],
]);

/** What happens after the last failure of an open invoice, by the account's schedule. */
export function afterFailure(
  subscription: Pick<Subscription, 'status' | 'paymentAt' | 'defaultPaymentMethodId' | 'backupPaymentMethodId'>,
  { firstFailedAt, refusedPaymentMethodId }: Pick<Invoice, 'firstFailedAt' | 'refusedPaymentMethodId'>,
  settings: DunningSettings,
): AfterFailure {
  const { status, paymentAt: at } = subscription;
  if (status !== 'past_due' || at === null || firstFailedAt === null) return { kind: 'none' };
  const isLast = nextRetry(settings, { firstFailedAt, at, refusedForGood: false }) === undefined;
  // A card that was refused for good is not charged at the last time either; one that the customer has given since is.
  const isRefused = isRefusedOwnCard(subscription, refusedPaymentMethodId);
  if (isRefused && isLast) return { kind: 'deadline', at, endsWith: settings.endsWith };
  return { kind: 'retry', at, endsWith: isLast ? settings.endsWith : null };
}

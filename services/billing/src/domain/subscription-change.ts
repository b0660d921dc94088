import { Failure } from '@eligo/failures';
import { begunDiscounts, type StoredDiscount } from './discounts.ts';
import type { Subscription } from './subscription.ts';
import { endedStatuses, unpaidStatuses } from './subscription-states.ts';
import { trialNoticeAt } from './trial-notice.ts';

/** What a partner changes of a subscription; what is undefined stays. */
export interface SubscriptionChange {
  readonly cancelAtPeriodEnd?: boolean | undefined;
  readonly cancelAt?: Date | null | undefined;
  /** `now` ends the trial at once. */
  readonly trialEnd?: Date | 'now' | undefined;
  readonly defaultPaymentMethodId?: string | null | undefined;
  readonly backupPaymentMethodId?: string | null | undefined;
  readonly prorationBehavior?: string | undefined;
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** The discounts from the next invoice on. */
  readonly discounts?: readonly StoredDiscount[] | undefined;
}

/**
 * A subscription with a change, at a time of its own. A new card pays what is owed at once. Throws `subscription_not_updatable` for one that has ended, for what
 * an unpaid first invoice does not allow, and for the trial of one that has none; and a 422 for a time that has passed.
 */
export function changeSubscription(before: Subscription, asked: SubscriptionChange, at: Date): Subscription {
  const change = whatChanges(before, asked);
  if (endedStatuses.has(before.status)) throw new Failure('subscription_not_updatable');
  if (before.status === 'incomplete' && !isOfPayerAlone(change)) throw new Failure('subscription_not_updatable');
  const payer = {
    defaultPaymentMethodId: changed(change.defaultPaymentMethodId, before.defaultPaymentMethodId),
    backupPaymentMethodId: changed(change.backupPaymentMethodId, before.backupPaymentMethodId),
  };
  return {
    ...before,
    ...payer,
    cancelAtPeriodEnd: change.cancelAtPeriodEnd ?? before.cancelAtPeriodEnd,
    cancelAt: futureOr(change.cancelAt, before.cancelAt, at),
    prorationBehavior: change.prorationBehavior ?? before.prorationBehavior,
    metadata: change.metadata ?? before.metadata,
    discounts: change.discounts === undefined ? before.discounts : begunDiscounts(change.discounts, at),
    paymentAt: unpaidStatuses.has(before.status) && givesCard(change) ? dueBy(before.paymentAt, at) : before.paymentAt,
    ...(change.trialEnd === undefined ? {} : trialUntil(before, change.trialEnd, at)),
  };
}

/** Whether a change makes a subscription pay what it owes with another card. */
export function paysWithNewCard(before: Subscription, asked: SubscriptionChange): boolean {
  return unpaidStatuses.has(before.status) && givesCard(whatChanges(before, asked));
}

// Partners send back the whole record with a field or two changed (decisions 1.2).
function whatChanges(before: Subscription, asked: SubscriptionChange): SubscriptionChange {
  const isSame = ([field, value]: [string, unknown]) => {
    const known: unknown = Object.hasOwn(before, field) ? before[field as keyof Subscription] : undefined;
    return value instanceof Date && known instanceof Date ? value.getTime() === known.getTime() : value === known;
  };
  return Object.fromEntries(Object.entries(asked).filter((entry) => !isSame(entry)));
}

function givesCard({ defaultPaymentMethodId, backupPaymentMethodId }: SubscriptionChange): boolean {
  return typeof defaultPaymentMethodId === 'string' || typeof backupPaymentMethodId === 'string';
}

// A try that is late stays late: an outage takes no tries.
function dueBy(paymentAt: Date | null, at: Date): Date {
  return paymentAt !== null && paymentAt < at ? paymentAt : at;
}

const payerFields: ReadonlySet<string> = new Set(['defaultPaymentMethodId', 'backupPaymentMethodId', 'metadata']);

function isOfPayerAlone(change: SubscriptionChange): boolean {
  return Object.entries(change).every(([field, value]) => value === undefined || payerFields.has(field));
}

function trialUntil(before: Subscription, until: Date | 'now', at: Date): Partial<Subscription> {
  if (before.status !== 'trialing') {
    throw new Failure('subscription_not_updatable', { detail: 'This subscription is not in a trial.' });
  }
  if (until !== 'now' && until <= at) throw past('trial_end');
  // A period has a length, also of a trial that ends as it begins.
  const shortest = new Date(before.currentPeriodStart.getTime() + 1);
  const end = until === 'now' ? (at < shortest ? shortest : at) : until;
  return {
    trialEnd: end,
    trialCutShort: until === 'now',
    currentPeriodEnd: end,
    anchor: end,
    noticeAt: until === 'now' ? null : trialNoticeAt(at, end),
  };
}

function changed<Value>(given: Value | undefined, before: Value): Value {
  return given === undefined ? before : given;
}

function futureOr(given: Date | null | undefined, before: Date | null, at: Date): Date | null {
  if (given != null && given <= at) throw past('cancel_at');
  return changed(given, before);
}

function past(field: string): Failure {
  return Failure.invalid(['body', 'subscription', field], 'value_error', 'Must be in the future');
}

/** How an account duns. */
export interface DunningSettings {
  /** The days after the first failure (`startOfDunning`) on which the card is charged again, ascending. */
  readonly retryDays: readonly number[];
  /** What becomes of the subscription when the last of them fails. */
  readonly endsWith: 'canceled' | 'unpaid';
}

/** decisions 14.91. */
export const defaultDunning: DunningSettings = { retryDays: [1, 3, 5, 7], endsWith: 'canceled' };

/** Whether an account can dun on these days: ten ascending ones at most, within the two months in which Stripe retries, too. */
export function areRetryDays(days: readonly number[]): boolean {
  const isFew = days.length >= 1 && days.length <= 10;
  return isFew && days.every((day, at) => Number.isInteger(day) && day > (days[at - 1] ?? 0) && day <= mostDays);
}

/** A retry that runs this much late is not late: jobs and processors take their time. */
const punctualMs = 3_600_000;

/** The days of a row that was stored before the table refused what `areRetryDays` refuses: in order, each once, and within the two months. */
export function takenRetryDays(stored: readonly number[]): readonly number[] {
  const within = stored.map((day) => Math.min(day, mostDays));
  return [...new Set(within)].toSorted((one, other) => one - other);
}

const mostDays = 60;

/**
 * The time from which the days of a dunning schedule count: the first failure. A retry that runs late, after an outage, moves it by as much, so that
 * the days that are left keep their distances.
 *
 * @param firstFailedAt where it is so far; null when the payment fails for the first time
 * @param retry when the payment was due, and when it was tried
 */
export function startOfDunning(firstFailedAt: Date | null, retry: { readonly dueAt: Date; readonly at: Date }): Date {
  if (firstFailedAt === null) return retry.at;
  const lateMs = retry.at.getTime() - retry.dueAt.getTime();
  return lateMs > punctualMs ? new Date(firstFailedAt.getTime() + lateMs) : firstFailedAt;
}

/**
 * When a payment that has failed at `at` is tried next; undefined when that was the last time. A card that was refused for good is not charged again, so that
 * the next time is the last one: by then the customer may have given another card.
 */
export function nextRetry(
  settings: DunningSettings,
  failure: { readonly firstFailedAt: Date; readonly at: Date; readonly refusedForGood: boolean },
): Date | undefined {
  const times = settings.retryDays.map((day) => new Date(failure.firstFailedAt.getTime() + day * 86_400_000));
  const left = times.filter((time) => time > failure.at);
  return failure.refusedForGood ? left.at(-1) : left[0];
}

/** Whether no later try of the same card can succeed (the codes on which card networks forbid a retry, and those that need the cardholder). */
export function isRefusedForGood(failureCode: string | null, declineCode: string | null): boolean {
  return [failureCode, declineCode].some((code) => code !== null && hardCodes.has(code));
}

const hardCodes: ReadonlySet<string> = new Set([
  'amount_too_large',
  'authentication_required',
  'expired_card',
  'highest_risk_level',
  'incorrect_number',
  'invalid_account',
  'lost_card',
  'payment_method_from_another_processor',
  'payment_method_not_found',
  'pickup_card',
  'revocation_of_all_authorizations',
  'revocation_of_authorization',
  'stolen_card',
  'transaction_not_allowed',
]);

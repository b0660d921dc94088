import { firstPeriod, type Interval } from '@eligo/values';
import type { Session, SessionLine } from './session.ts';

/** The first period of the subscription that a session sells when it is completed at `at`; undefined when no line recurs. */
export function firstPeriodOf(
  session: Session,
  lines: readonly SessionLine[],
  at: Date,
): { readonly trialEnd: Date | null; readonly end: Date } | undefined {
  const recurring = lines.flatMap((line) => line.recurring ?? []);
  const [rhythm] = recurring;
  if (rhythm === undefined) return undefined;
  const { trialEndMs, trialPeriodDays } = session.details.subscriptionData ?? {};
  return firstPeriod({
    at,
    rhythm: { interval: rhythm.interval as Interval, intervalCount: rhythm.intervalCount },
    trialEnd: trialEndMs === undefined ? null : new Date(trialEndMs),
    trialDays: trialPeriodDays ?? Math.max(...recurring.map((line) => line.trialDays ?? 0)),
  });
}

/** When that subscription renews for the first time, or null when it ends before (decisions 4, `renewal_as_of`). */
export function firstRenewal(session: Session, lines: readonly SessionLine[], at: Date): Date | null {
  const { cancelAtMs, cancelAtPeriodEnd } = session.details.subscriptionData ?? {};
  const end = firstPeriodOf(session, lines, at)?.end;
  if (end === undefined || cancelAtPeriodEnd === true) return null;
  return cancelAtMs !== undefined && cancelAtMs <= end.getTime() ? null : end;
}

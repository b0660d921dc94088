import { idBodies, idPrefixes } from '@eligo/values';

/** Between which times records of a list were created; times are inclusive where their names say so. */
export interface CreatedFilter {
  readonly createdAfter?: Date | undefined;
  readonly createdAtOrAfter?: Date | undefined;
  readonly createdBefore?: Date | undefined;
  readonly createdAtOrBefore?: Date | undefined;
}

/** The same in whole milliseconds, as times of creation are stored: from `fromMs` on, before `untilMs`, either of which may be infinite. */
export interface CreatedRange {
  readonly fromMs: number;
  readonly untilMs: number;
}

/** The range of a filter; undefined where it names no time. */
export function createdRange(filter: CreatedFilter): CreatedRange | undefined {
  const { createdAfter, createdAtOrAfter, createdBefore, createdAtOrBefore } = filter;
  if ([createdAfter, createdAtOrAfter, createdBefore, createdAtOrBefore].every((time) => time === undefined)) {
    return undefined;
  }
  const { POSITIVE_INFINITY: never, NEGATIVE_INFINITY: always } = Number;
  return {
    fromMs: Math.max((createdAfter?.getTime() ?? always) + 1, createdAtOrAfter?.getTime() ?? always),
    untilMs: Math.min(createdBefore?.getTime() ?? never, (createdAtOrBefore?.getTime() ?? never) + 1),
  };
}

/**
 * How far the time of a session may be from the time that its id tells, for both to count as the same: longer than the creation of a session takes, between whose
 * first and last step both are. The function `checkout.id_tells_time` has the same number. A longer margin costs a page that it passes over more rows.
 */
export const idMarginMs = 10_000;

/** The ids of sessions that were created in a range and whose ids tell their time: from `first` on, before `end`; undefined where the range has no such bound. */
export interface SessionIds {
  readonly first: string | undefined;
  readonly end: string | undefined;
}

export function sessionIdsOf({ fromMs, untilMs }: CreatedRange): SessionIds {
  return {
    first: Number.isFinite(fromMs) ? firstSessionId(fromMs - idMarginMs) : undefined,
    end: Number.isFinite(untilMs) ? firstSessionId(untilMs + idMarginMs) : undefined,
  };
}

/** Whether an id is one of these. */
export function isAmong({ first, end }: SessionIds, id: string): boolean {
  return (first === undefined || id >= first) && (end === undefined || id < end);
}

// An id tells 48 bits of milliseconds, until the year 10889.
const endOfIdsMs = 2 ** 48;

// The least id of a millisecond.
function firstSessionId(ms: number): string {
  const bounded = Math.min(Math.max(ms, 0), endOfIdsMs);
  return `${idPrefixes.checkout_session}_${idBodies({ now: () => bounded, random40: () => 0 })()}`;
}

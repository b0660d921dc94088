import { type PageQuery, parseTime } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import { given } from '@eligo/values';

/** A page as the services take it. */
export function pageOf(query: PageQuery) {
  return {
    limit: BigInt(query.limit),
    offset: query.offset,
    ...given({ startingAfter: query.starting_after, endingBefore: query.ending_before }),
  };
}

/** Whole cents, which the contract has checked, as an int64. */
export function cents(value: number): bigint;
export function cents(value: number | undefined): bigint | undefined;
export function cents(value: number | undefined): bigint | undefined {
  return value === undefined ? undefined : BigInt(value);
}

/** A time of a body, which the contract has checked, in milliseconds. */
export function timeMs(value: string | number): bigint;
export function timeMs(value: string | number | undefined): bigint | undefined;
export function timeMs(value: string | number | undefined): bigint | undefined {
  if (value === undefined) return undefined;
  const ms = parseTime(value);
  if (ms === undefined) throw new Failure('validation_error');
  return BigInt(ms);
}

/** A metadata map as an update carries it: absent means unchanged. */
export function metadataOf(metadata: Record<string, string> | undefined) {
  return metadata === undefined ? undefined : { entries: metadata };
}

/** A list as an update carries it: absent means unchanged. */
export function listOf(values: string[] | undefined) {
  return values === undefined ? undefined : { values };
}

/** Text, where an empty one counts as none. */
export function textOf(value: string | undefined): string | undefined {
  return value === '' ? undefined : value;
}

/** An interval by the name that records carry. */
export function intervalOf(interval: string): string {
  return intervalAliases[interval] ?? interval;
}

/** Percent with at most two decimals, as hundredths of a percent. */
export function basisPoints(percent: number | undefined): number | undefined {
  return percent === undefined ? undefined : Math.round(percent * 100);
}

const intervalAliases: Readonly<Record<string, string>> = {
  daily: 'day',
  weekly: 'week',
  monthly: 'month',
  yearly: 'year',
};

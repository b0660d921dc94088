import { type Cents, cents } from '@eligo/values';
import type { InvoiceLine } from './invoice.ts';

/** The buckets that a health card's charge is itemized in; disjoint (decisions 4, total_details). */
export type Bucket = 'iias' | 'prescription' | 'vision' | 'service';

/**
 * The bucket of a class; undefined for one that a health card does not pay at a renewal. A class that needs a letter is among them: the letter was for the
 * sale, and nothing says here that it still holds (decisions 14.90).
 */
export function bucketOf(eligibilityClass: string | null): Bucket | undefined {
  return eligibilityClass === null ? undefined : buckets.get(eligibilityClass);
}

/** The buckets of an invoice's eligible part. */
export function bucketsOf(lines: readonly InvoiceLine[]): Readonly<Record<Bucket, Cents>> {
  const sums = { iias: cents(0), prescription: cents(0), vision: cents(0), service: cents(0) };
  for (const line of lines) {
    const bucket = bucketOf(line.eligibility);
    if (bucket !== undefined) sums[bucket] = cents(sums[bucket] + line.eligibleCents);
  }
  return sums;
}

const buckets: ReadonlyMap<string, Bucket> = new Map([
  ['auto_substantiation', 'iias'],
  ['private_label', 'iias'],
  ['prescription', 'prescription'],
  ['vision', 'vision'],
  ['service', 'service'],
]);

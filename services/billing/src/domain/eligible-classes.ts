import { type Cents, cents } from '@eligo/values';
import type { InvoiceLine, UsedCredit } from './invoice.ts';

/** The buckets that a health card's charge is itemized in; disjoint (decisions 4, total_details). */
export type Bucket = 'iias' | 'prescription' | 'vision' | 'service';

/** The bucket of a class; undefined for one that a health card does not pay, or only with a letter, which counts in no bucket. */
export function bucketOf(eligibilityClass: string | null): Bucket | undefined {
  return eligibilityClass === null ? undefined : buckets.get(eligibilityClass);
}

/**
 * The buckets of an invoice's eligible part. A credit reduces the bucket of its class, and what it is more than that the others: together they are at most what
 * is charged to a health card.
 */
export function bucketsOf(
  lines: readonly InvoiceLine[],
  credits: readonly (UsedCredit & { readonly eligibility: string | null })[],
): Readonly<Record<Bucket, Cents>> {
  const sums = { iias: cents(0), prescription: cents(0), vision: cents(0), service: cents(0) };
  // What a letter makes eligible is in no bucket.
  let inNone = 0;
  for (const line of lines) {
    const bucket = bucketOf(line.eligibility);
    if (bucket === undefined) inNone += line.eligibleCents;
    else sums[bucket] = cents(sums[bucket] + line.eligibleCents);
  }
  for (const { amountCents, eligible, eligibility } of credits) {
    if (!eligible) continue;
    let left: number = amountCents;
    const own = bucketOf(eligibility);
    const take = (bucket: Bucket) => {
      const taken = Math.min(left, sums[bucket]);
      sums[bucket] = cents(sums[bucket] - taken);
      left -= taken;
    };
    if (own !== undefined) take(own);
    const outside = Math.min(left, inNone);
    inNone -= outside;
    left -= outside;
    for (const bucket of ['iias', 'prescription', 'vision', 'service'] as const) take(bucket);
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

/** Whether a health card pays for a class only with a valid letter of medical necessity. */
export function needsLetter(eligibilityClass: string | null): boolean {
  return eligibilityClass === 'letter_of_medical_necessity';
}

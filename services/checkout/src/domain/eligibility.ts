/** The buckets that a health card's charge is itemized in; disjoint (decisions 4, total_details). */
export type Bucket = 'iias' | 'prescription' | 'vision' | 'service';

/** Whether a line of this class may be paid with a health card. Null (not classified) may not. */
export function isEligible(eligibilityClass: string | null): boolean {
  return eligibilityClass !== null && (bucketOf(eligibilityClass) !== undefined || needsLetter(eligibilityClass));
}

/** Whether a health card may pay a line of this class only once a letter of medical necessity is approved. */
export function needsLetter(eligibilityClass: string | null): boolean {
  return eligibilityClass === 'letter_of_medical_necessity';
}

/** The bucket of a class; undefined for what is not eligible and for letters, which are in none (decisions 13). */
export function bucketOf(eligibilityClass: string | null): Bucket | undefined {
  return eligibilityClass === null ? undefined : buckets.get(eligibilityClass);
}

const buckets: ReadonlyMap<string, Bucket> = new Map([
  ['auto_substantiation', 'iias'],
  ['private_label', 'iias'],
  ['prescription', 'prescription'],
  ['vision', 'vision'],
  ['service', 'service'],
]);

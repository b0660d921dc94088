import { Failure } from '@eligo/failures';
import { type EligibilityClass, isEligibilityClass } from './eligibility-class.ts';

/** Where a field stands in the partner's body. */
export type Loc = readonly string[];

/** String keys to string values, as partners keep them on records. */
export type Metadata = Record<string, string>;

/** Characters of a text that is looked up by an index. */
export const indexedTextLength = 500;

/** Whole cents that are not negative and that every reader can hold exactly. */
export function checkAmount(amount: bigint, loc: Loc): bigint {
  if (amount < 0n || amount > BigInt(Number.MAX_SAFE_INTEGER)) {
    throw Failure.invalid(loc, 'amount_out_of_range', 'Must be a non-negative whole number of cents');
  }
  return amount;
}

/** A text that an index holds. */
export function checkIndexedText(text: string | null, loc: Loc): string | null {
  if (text !== null && [...text].length > indexedTextLength) {
    throw Failure.invalid(loc, 'too_long', `Must have at most ${indexedTextLength} characters`);
  }
  return text;
}

/** An eligibility class or null. */
export function checkClass(text: string | null, loc: Loc): EligibilityClass | null {
  if (text === null || isEligibilityClass(text)) return text;
  throw Failure.invalid(loc, 'invalid_value', 'Must be an eligibility class');
}

/** A count that starts at one. */
export function checkCount(count: number | null, loc: Loc): number | null {
  if (count !== null && (!Number.isInteger(count) || count < 1)) {
    throw Failure.invalid(loc, 'out_of_range', 'Must be at least 1');
  }
  return count;
}

/** The names of a `clear` list, each a field that can be reset. */
export function checkClear<Field extends string>(
  clear: readonly string[],
  fields: readonly Field[],
  loc: Loc,
): Set<Field> {
  const known = new Set<Field>();
  for (const [index, name] of clear.entries()) {
    const field = fields.find((candidate) => candidate === name);
    if (field === undefined)
      throw Failure.invalid([...loc, String(index)], 'invalid_value', 'This field cannot be cleared');
    known.add(field);
  }
  return known;
}

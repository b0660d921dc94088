import { type Database, withTx } from '@eligo/postgres';
import { type IssuerRange, rangeDigits, replaceIssuerRanges } from '../store/issuer-ranges.ts';

/** Every issuer of the networks has fewer; the whole list is read into memory. */
const maxRanges = 100_000;

/**
 * Replaces the list of issuer ranges by a CSV text with the columns `first`, `last` and `hsa_fsa` (true or false). `first` and `last` have six to
 * eight digits; `last` may be empty. Throws a RangeError that names the line of the first error, and then changes nothing.
 */
export async function importIssuerRanges(
  database: Database,
  text: string,
): Promise<{ ranges: number; health: number }> {
  const ranges = readRanges(text);
  await withTx(database, null, (tx) => replaceIssuerRanges(tx, ranges));
  return { ranges: ranges.length, health: ranges.filter(({ isHealth }) => isHealth).length };
}

function readRanges(text: string): IssuerRange[] {
  const [header = '', ...lines] = text.replace(/^\uFEFF/, '').split(/\r?\n/);
  if (!/^\s*first\s*,\s*last\s*,\s*hsa_fsa\s*$/i.test(header)) {
    throw new RangeError('Line 1 must be "first,last,hsa_fsa"');
  }
  const ranges = lines.flatMap((line, index) => (line.trim() === '' ? [] : [readRange(line, index + 2)]));
  if (ranges.length === 0) throw new RangeError('The list has no ranges; the previous list stays in effect');
  if (ranges.length > maxRanges) throw new RangeError(`The list has more than ${maxRanges} ranges`);
  refuseOverlaps(ranges);
  return ranges;
}

interface ReadRange extends IssuerRange {
  readonly line: number;
}

function readRange(text: string, line: number): ReadRange {
  const [first = '', last = '', kind = '', ...rest] = text.split(',').map((field) => field.trim());
  const digits = /^[0-9]{6,8}$/;
  if (!digits.test(first) || !(last === '' || digits.test(last))) {
    throw new RangeError(`Line ${line}: first and last must have 6 to ${rangeDigits} digits`);
  }
  if ((kind !== 'true' && kind !== 'false') || rest.length > 0) {
    throw new RangeError(`Line ${line}: the third and last column must be true or false`);
  }
  const range = {
    first: Number(first.padEnd(rangeDigits, '0')),
    last: Number((last === '' ? first : last).padEnd(rangeDigits, '9')),
    isHealth: kind === 'true',
    line,
  };
  if (range.last < range.first) throw new RangeError(`Line ${line}: last must not be below first`);
  return range;
}

function refuseOverlaps(ranges: readonly ReadRange[]): void {
  const sorted = ranges.toSorted((a, b) => a.first - b.first);
  for (const [index, range] of sorted.entries()) {
    const before = sorted[index - 1];
    if (before !== undefined && before.last >= range.first) {
      throw new RangeError(`Lines ${before.line} and ${range.line} overlap`);
    }
  }
}

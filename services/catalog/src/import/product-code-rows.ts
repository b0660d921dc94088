import { isEligibilityClass } from '../domain/eligibility-class.ts';
import { gtin14, gtin14OfUpc } from '../domain/product-code.ts';
import type { StagedCode } from '../store/product-code-import.ts';
import type { CsvRecord } from './csv-lines.ts';

/** Turns a record of the list into a row, or says why it cannot be one. */
export type RowReader = (record: CsvRecord) => StagedCode | string;

/**
 * Reads the header: `code` (or gtin, upc, upc_code) and `hsa_fsa_eligibility` (or class), and if they are there `effective_from`,
 * `effective_to` (ISO 8601 days or times, UTC) and `label` (or description). Eight digits are a GTIN-8 under `gtin`, and a UPC-E under the other
 * names if they check as one. Throws a RangeError for a header without the first two.
 */
export function rowReader(header: CsvRecord): RowReader {
  const names = header.fields.map((name) =>
    name
      .replace(/^\uFEFF/, '')
      .trim()
      .toLowerCase(),
  );
  const columnOf = (...aliases: string[]) => names.findIndex((name) => aliases.includes(name));
  const code = columnOf('code', 'gtin', 'upc', 'upc_code');
  const eligibility = columnOf('hsa_fsa_eligibility', 'class', 'eligibility');
  const from = columnOf('effective_from');
  const to = columnOf('effective_to');
  const label = columnOf('label', 'description');
  if (code === -1 || eligibility === -1)
    throw new RangeError('the first line must have the columns code and hsa_fsa_eligibility');
  const gtinOf = names[code] === 'gtin' ? gtin14 : gtin14OfUpc;

  return ({ line, fields }) => {
    // A stray quote inside an unquoted field joins the next lines; reporting them is better than losing them.
    if (fields.slice(names.length).some((field) => field.trim() !== ''))
      return 'the line has more fields than the first line';
    const gtin = gtinOf(fields[code]?.trim() ?? '');
    if (gtin === undefined) return 'the code is not a UPC or GTIN with a valid check digit';
    const given = fields[eligibility]?.trim() ?? '';
    if (!isEligibilityClass(given)) return 'the class is not an eligibility class';
    const effectiveFrom = timeIn(fields[from]);
    const effectiveTo = timeIn(fields[to]);
    if (effectiveFrom === undefined || effectiveTo === undefined) return 'a time is not in ISO 8601 format';
    if (effectiveFrom !== null && effectiveTo !== null && effectiveTo <= effectiveFrom) {
      return 'effective_to is not after effective_from';
    }
    const text = fields[label]?.trim() ?? '';
    return {
      line,
      gtin,
      effectiveFrom,
      effectiveTo,
      eligibility: given,
      label: text === '' ? null : text.slice(0, 500),
    };
  };
}

const isoTime = /^\d{4}-\d{2}-\d{2}(T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})?)?$/;

function timeIn(text: string | undefined): string | null | undefined {
  const given = text?.trim() ?? '';
  if (given === '') return null;
  if (!isoTime.test(given)) return undefined;
  const zoned = /T.*(Z|[+-]\d{2}:\d{2})$/.test(given) || !given.includes('T') ? given : `${given}Z`;
  const time = new Date(zoned);
  return Number.isNaN(time.getTime()) || !isInCalendar(given.slice(0, 10)) ? undefined : time.toISOString();
}

// Date carries 31 February over into March.
function isInCalendar(day: string): boolean {
  return new Date(`${day}T00:00:00Z`).toISOString().startsWith(day);
}

import type { FailureCode } from '@eligo/failures';
import { type IdKind, idPrefixes, isId } from '@eligo/values';
import { z } from 'zod';
import { limits } from './limits.ts';
import { parseTime } from './times.ts';

/** The 404 code of each kind of record, which is also the type of the 422 entry for a bad reference in a body. */
export function notFoundCodeOf(kind: IdKind): FailureCode {
  return notFoundCodes[kind] ?? (`${kind}_not_found` as FailureCode);
}

/** A reference in a body: the identifier of a record of this kind (decisions 1.9). */
export function reference(kind: IdKind) {
  const code = notFoundCodeOf(kind);
  return z
    .string()
    .refine((text) => isId(kind, text), { error: code, params: { type: code } })
    .meta({
      pattern: idPattern(kind),
      description: `Identifier of a ${kind.replaceAll('_', ' ')}.`,
      idField: idFields[kind] ?? `${kind}_id`,
    });
}

/** The identifier of a record in an answer. */
export function idOf(kind: IdKind) {
  return z.string().regex(new RegExp(idPattern(kind)));
}

/** Text of at most `length` characters. NUL, lone surrogates and card numbers are refused for the whole body at once (screen.ts). */
export function text(length: number = limits.textLength) {
  return z.string().refine((value) => isWithin(value, length), {
    error: `Must have at most ${length} characters`,
    params: { type: 'too_long' },
  });
}

/** Text with something in it. */
export function requiredText(length: number = limits.textLength) {
  return text(length).refine((value) => value.trim() !== '', {
    error: 'Must not be empty',
    params: { type: 'too_short' },
  });
}

/** Cents: whole, not negative, bounded so that sums over a cart stay exact. */
export const amount = z.int().min(0).max(limits.amountCents);

/** Cents of a refund or another sum over a cart. */
export const sum = z.int().min(0).max(Number.MAX_SAFE_INTEGER);

export const quantity = z.int().min(1).max(limits.quantity);

/** A count of days, periods or redemptions. */
export function count(max: number) {
  return z.int().min(1).max(max);
}

/** Strings under strings; replaces what was there. */
export const metadata = z
  .record(requiredText(limits.metadataKeyLength), text(limits.metadataValueLength))
  .refine((value) => Object.keys(value).length <= limits.metadataKeys, {
    error: `Must have at most ${limits.metadataKeys} keys`,
    params: { type: 'too_long' },
  });

/** An http or https address. Never fetched by Eligo, so private hosts are the partner's own affair. */
export const url = z
  .string()
  .max(limits.urlLength)
  .refine(isHttpUrl, { error: 'Must be an http or https URL', params: { type: 'invalid_url' } })
  .meta({ format: 'uri' });

/** An e-mail address, judged by its form only; PHP clients send an empty one for none. */
export const email = z
  .string()
  .max(320)
  .refine((value) => value === '' || /^[^\s@]+@[^\s@]+$/.test(value), {
    error: 'Must be an e-mail address',
    params: { type: 'invalid_email' },
  });

/** The message for an invalid time. */
export const invalidTime = 'Must be an ISO 8601 time or Unix seconds';

/** A time in a body: ISO 8601 or Unix seconds. */
export const time = z
  .union([z.string().max(40), z.number()], { error: invalidTime })
  .refine((value) => parseTime(value) !== undefined, { error: invalidTime, params: { type: 'invalid_time' } });

/** The time of a test clock. What lives on it has times of its own, up to some years later, which must be times as well. */
export const clockTime = time.refine(
  (value) => {
    const ms = parseTime(value);
    return ms === undefined || (ms >= earliestClockMs && ms < latestClockMs);
  },
  { error: 'Must be in the years from 2000 to 2199', params: { type: 'invalid_time' } },
);
const earliestClockMs = Date.parse('2000-01-01T00:00:00Z');
const latestClockMs = Date.parse('2200-01-01T00:00:00Z');

/** A number that is not negative; it is kept with six decimals, half rounded up, so that what a partner computed is taken as it comes. */
export const decimal = z.number().min(0).max(limits.decimal);

/** The classes of HSA/FSA eligibility (decisions 4). */
export const eligibilityClasses = [
  'not_eligible',
  'auto_substantiation',
  'private_label',
  'letter_of_medical_necessity',
  'prescription',
  'vision',
  'service',
] as const;

export const eligibilityClass = z.enum(eligibilityClasses);

/** How often something recurs, with the aliases that partners send. */
export const interval = z.enum(['day', 'week', 'month', 'year', 'daily', 'weekly', 'monthly', 'yearly']);

export const recurring = z.object({
  interval,
  interval_count: count(1_000).optional(),
  trial_period_days: z.int().min(0).max(3_650).optional(),
});

/** A postal address in a body. */
export const address = z.object({
  line1: text(limits.shortTextLength).optional(),
  line2: text(limits.shortTextLength).optional(),
  city: text(limits.shortTextLength).optional(),
  state: text(limits.shortTextLength).optional(),
  postal_code: text(40).optional(),
  country: text(limits.shortTextLength).optional(),
});

/** The fields of an answer. */
export const answer = {
  cents: z.int(),
  text: z.string().nullable(),
  time: z.iso.datetime({ precision: 3 }),
  unixTime: z.int(),
  metadata: z.record(z.string(), z.string()),
};

/** Where a record of the kind carries its identifier, unless it is `<kind>_id`. */
const idFields: Partial<Record<IdKind, string>> = {
  webhook_endpoint: 'webhook_id',
  product_component: 'component_id',
};

const notFoundCodes: Partial<Record<IdKind, FailureCode>> = {
  webhook_endpoint: 'webhook_not_found',
  component_nutrition: 'product_component_not_found',
};

function idPattern(kind: IdKind): string {
  return `^${idPrefixes[kind]}_[0-7][0-9a-hjkmnp-tv-z]{25}$`;
}

// Characters, not UTF-16 units: a text of emoji has the length that the database counts.
function isWithin(value: string, length: number): boolean {
  if (value.length <= length) return true;
  if (value.length > length * 2) return false;
  return [...value].length <= length;
}

function isHttpUrl(value: string): boolean {
  if (!URL.canParse(value)) return false;
  const { protocol, hostname } = new URL(value);
  return (protocol === 'https:' || protocol === 'http:') && hostname !== '';
}

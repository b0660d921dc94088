import fc from 'fast-check';
import { z } from 'zod';

/**
 * Values for a schema of the contract, mostly of the right shape so that they get past validation, and now and then of any shape at all.
 * Identifiers come from `ids`, so that references are found as often as not.
 */
export function arbitraryOf(schema: z.ZodType, ids: readonly string[]): fc.Arbitrary<unknown> {
  return fc.oneof({ arbitrary: shaped(schema, ids), weight: 12 }, { arbitrary: anything(ids), weight: 1 });
}

/** Texts that a server may stumble over. */
export const trickyTexts = [
  '',
  ' ',
  '\0',
  '\ud800',
  '😀',
  '4242424242424242',
  '__proto__',
  'constructor',
  '1e3',
  'null',
  'true',
  '-1',
  "' or 1=1 --",
  '%00',
  '../../etc/passwd',
  '{CHECKOUT_SESSION_ID}',
  'https://shop.example/ok',
  'shopper@example.com',
  '2026-01-01T00:00:00Z',
  '9999-12-31T23:59:59Z',
];

/** Any text, a tricky one as often as not. Made once: a `string` with a unit takes milliseconds to make. */
export const anyText: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...trickyTexts),
  fc.string({ maxLength: 60 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
);

const trickyNumbers = [
  0,
  -0,
  -1,
  1.5,
  0.1,
  2 ** 31,
  2 ** 53,
  2 ** 63,
  1e300,
  Number.MAX_SAFE_INTEGER,
  Number.MIN_SAFE_INTEGER,
];

function shaped(schema: z.ZodType, ids: readonly string[]): fc.Arbitrary<unknown> {
  if (schema instanceof z.ZodObject) return shapedObject(schema, ids);
  if (schema instanceof z.ZodArray) return fc.array(arbitraryOf(schema.element as z.ZodType, ids), { maxLength: 4 });
  if (schema instanceof z.ZodRecord) return fc.dictionary(anyText, anyText, { maxKeys: 5 });
  if (schema instanceof z.ZodEnum) return fc.constantFrom<unknown>(...schema.options);
  if (schema instanceof z.ZodUnion) {
    return fc.oneof(...schema.options.map((option) => arbitraryOf(option as z.ZodType, ids)));
  }
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable) {
    return fc.oneof({ arbitrary: arbitraryOf(schema.unwrap() as z.ZodType, ids), weight: 4 }, fc.constant(null));
  }
  if (schema instanceof z.ZodPipe) return shaped(schema.in as z.ZodType, ids);
  if (schema instanceof z.ZodBoolean) return fc.boolean();
  if (schema instanceof z.ZodNumber) {
    return fc.oneof(fc.integer({ min: 0, max: 10_000 }), fc.constantFrom(...trickyNumbers), fc.double());
  }
  return fc.oneof({ arbitrary: fc.constantFrom(...ids), weight: 3 }, { arbitrary: anyText, weight: 2 });
}

function shapedObject(schema: z.ZodObject, ids: readonly string[]): fc.Arbitrary<unknown> {
  const fields = Object.entries(schema.shape).map(
    ([name, field]) => [name, arbitraryOf(field as z.ZodType, ids)] as const,
  );
  return fc.record(Object.fromEntries(fields), { requiredKeys: [] });
}

function anything(ids: readonly string[]): fc.Arbitrary<unknown> {
  return fc.oneof(fc.jsonValue({ maxDepth: 3 }), fc.constantFrom<unknown>(...ids, ...trickyTexts, ...trickyNumbers));
}

import { type IdKind, isId } from '@eligo/values';
import { z } from 'zod';
import { invalidTime, notFoundCodeOf } from './fields.ts';
import { isTrue } from './flags.ts';
import { limits } from './limits.ts';
import { parseTime } from './times.ts';

/** The parameters of a list: newest first, keyset pages by id, `limit` within its bound (interface, general rule 9; decisions 3). */
export function listQuery<Filters extends z.ZodRawShape>(
  cursor: IdKind,
  filters: Filters,
  { limit = 10, maxLimit = limits.listLimit, about }: { limit?: number; maxLimit?: number; about?: string } = {},
) {
  return z
    .object({
      limit: described(integer(1, maxLimit).default(limit), about),
      offset: integer(0, limits.offset).default(0),
      starting_after: pageCursor(cursor).optional(),
      ending_before: pageCursor(cursor).optional(),
      ...filters,
    })
    .refine(hasOneCursor, {
      path: ['ending_before'],
      error: 'Send either starting_after or ending_before, not both',
      params: { type: 'cursor_conflict' },
    });
}

function described<Schema extends z.ZodType>(schema: Schema, about: string | undefined): Schema {
  return about === undefined ? schema : schema.describe(about);
}

/** The parameters of a page, as every list query has them once parsed. */
export interface PageQuery {
  readonly limit: number;
  readonly offset: number;
  readonly starting_after?: string | undefined;
  readonly ending_before?: string | undefined;
}

/** An identifier in a query. */
export function queryReference(kind: IdKind) {
  const code = notFoundCodeOf(kind);
  return z.string().refine((text) => isId(kind, text), { error: code, params: { type: code } });
}

// A cursor of the wrong kind is refused as one that is not there is: nothing tells the two apart.
function pageCursor(kind: IdKind) {
  return z.string().refine((text) => isId(kind, text), {
    error: 'No such record in this list',
    params: { type: 'cursor_not_found' },
  });
}

/** Digits only: no sign, no exponent, no blank. */
export function integer(min: number, max: number) {
  return z
    .string()
    .regex(/^\d{1,16}$/, { error: 'Must be a whole number' })
    .transform(Number)
    .pipe(z.int().min(min).max(max));
}

/** `true` or `false` in any case; `1` and `0` are how PHP writes them, `True` and `False` how Python does. */
export const boolean = z
  .string()
  .refine((value) => /^(?:true|false|1|0)$/i.test(value), { error: 'Must be true or false' })
  .transform(isTrue)
  .pipe(z.boolean());

export const queryText = z.string().max(limits.shortTextLength);

/** A time in a query, in milliseconds. */
export const queryTime = z
  .string()
  .max(40)
  .transform((value, context) => {
    const ms = parseTime(value);
    if (ms !== undefined) return ms;
    context.addIssue({
      code: 'custom',
      message: invalidTime,
      params: { type: 'invalid_time' },
    });
    return z.NEVER;
  })
  .pipe(z.number());

/** An array as `k[]=a&k[]=b`, `k[0]=a&k[1]=b`, or the name repeated (decisions 13). */
export function queryList<Item extends z.ZodType<unknown, string>>(item: Item, max: number) {
  return z
    .union([z.string(), z.array(z.string()), z.record(z.string().regex(/^\d{1,4}$/), z.string())], {
      error: 'Must be a list: name[]=a&name[]=b',
    })
    .transform((value) => (typeof value === 'string' ? [value] : Array.isArray(value) ? value : Object.values(value)))
    .pipe(z.array(item).max(max));
}

/** `metadata[key]=value`; several combine with AND (PRICE-13). */
export const metadataFilter = z.record(
  z.string().max(limits.metadataKeyLength),
  z.string().max(limits.metadataValueLength),
);

function hasOneCursor(query: { starting_after?: unknown; ending_before?: unknown }): boolean {
  return query.starting_after === undefined || query.ending_before === undefined;
}

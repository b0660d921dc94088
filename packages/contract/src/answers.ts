import { z } from 'zod';
import { type ExpandName, expansionNames } from './expansion.ts';
import { type RecordName, records } from './records.ts';

/** The answer that carries one record under its envelope. */
export function oneOf(name: RecordName): z.ZodType {
  return z.strictObject({ [name]: records[name].schema });
}

/** The answer that carries a page of records under their plural, and whether there are more (decisions 3). */
export function listOf(name: RecordName): z.ZodType {
  const { plural, schema } = records[name];
  return z.strictObject({ [plural]: z.array(schema), has_more: z.boolean() });
}

/** What `expand` answers to where a route answers with this record. */
export function expansionOfRecord(name: RecordName): ReadonlyMap<string, ExpandName> {
  const { references, flags } = records[name];
  return expansionNames(references, flags);
}

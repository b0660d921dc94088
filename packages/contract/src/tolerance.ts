import { z } from 'zod';

/** Makes of a body what its schema judges. */
export type Tolerance = (value: unknown) => unknown;

/**
 * What partners' software sends for "nothing" (decisions 1.2): `null` for an optional field counts as absent, `[]` stands for an empty object
 * where an object is meant (and is absent where that could not be empty), and `""` counts as absent in an object whose schema says so
 * (`emptyIsAbsent`). A record that was fetched expanded comes back as such, and stands for its identifier. Compiled once per schema; fields
 * that the schema does not know are dropped here, so that they are never looked at again.
 */
export function toleranceOf(schema: z.ZodType): Tolerance {
  if (schema instanceof z.ZodObject) return objectTolerance(schema);
  if (schema instanceof z.ZodArray) {
    const item = toleranceOf(schema.element as z.ZodType);
    return (value) => (Array.isArray(value) ? value.map(item) : value);
  }
  if (schema instanceof z.ZodRecord) return (value) => withoutNulls(emptyArrayAsObject(value));
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault || schema instanceof z.ZodNullable) {
    return toleranceOf(schema.unwrap() as z.ZodType);
  }
  const idField = schema.meta()?.idField;
  return typeof idField === 'string' ? (value) => idInside(value, idField) : (value) => value;
}

/** The names of the fields that an object's schema knows, also where what is given is prepared before it is read. */
export function fieldNamesOf(schema: z.ZodType): readonly string[] {
  if (schema instanceof z.ZodPipe) return fieldNamesOf(schema.out as z.ZodType);
  return schema instanceof z.ZodObject ? Object.keys(schema.shape) : [];
}

function objectTolerance(schema: z.ZodObject): Tolerance {
  const fields = Object.entries(schema.shape).map(([name, field]) => ({
    name,
    tolerate: toleranceOf(field as z.ZodType),
    listIsAbsent: isObjectWithContent(field as z.ZodType),
  }));
  const emptyIsAbsent = schema.meta()?.emptyIsAbsent === true;
  return (given) => {
    const value = emptyArrayAsObject(given);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const known: Record<string, unknown> = {};
    for (const { name, tolerate, listIsAbsent } of fields) {
      if (!Object.hasOwn(value, name)) continue;
      const field = (value as Record<string, unknown>)[name];
      if (field === null || (emptyIsAbsent && field === '') || (listIsAbsent && isEmptyList(field))) continue;
      known[name] = tolerate(field);
    }
    return known;
  };
}

// An optional object with something required in it: an empty one would be refused, so an empty list in its place can only mean none.
function isObjectWithContent(schema: z.ZodType): boolean {
  if (!(schema instanceof z.ZodOptional)) return false;
  const inner = schema.unwrap();
  return inner instanceof z.ZodObject && !inner.safeParse({}).success;
}

function emptyArrayAsObject(value: unknown): unknown {
  return isEmptyList(value) ? {} : value;
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

function idInside(value: unknown, idField: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, idField)) return value;
  return (value as Record<string, unknown>)[idField];
}

function withoutNulls(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).filter(([, field]) => field !== null));
}

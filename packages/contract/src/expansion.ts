import { z } from 'zod';
import { idOf } from './fields.ts';
import { isTrue } from './flags.ts';
import type { Json } from './json.ts';

/** The kinds of record that can stand in place of their identifier. */
export type ExpandableKind =
  | 'balance_transaction'
  | 'capture'
  | 'customer'
  | 'coupon'
  | 'invoice'
  | 'payment_intent'
  | 'payment_method'
  | 'price'
  | 'product'
  | 'subscription';

/** One expandable field of a record: the key that asks for it, and the identifiers that it takes from a record. */
export interface Reference<Message> {
  readonly kind: ExpandableKind;
  /** Other keys that mean the same. */
  readonly aliases?: readonly string[];
  /** Undefined where a record has no value in that field. Nothing is fetched for a record that already carries what it refers to. */
  readonly ids: (message: Message) => readonly (string | undefined)[];
}

/** The expandable fields of a record by their keys (interface, general rule 8; decisions 3). */
export type References<Message> = Readonly<Record<string, Reference<Message>>>;

/** What a name in `expand` asks for. */
export interface ExpandName {
  /** The canonical key. */
  readonly key: string;
  /** The kind of record that it shows. Undefined for a key that shows none by itself. */
  readonly kind: ExpandableKind | undefined;
}

/** What stands in the place of identifiers while one answer is rendered. */
export interface Expansion {
  /** Whether the request asked for this key. */
  has(key: string): boolean;
  /** The record if it was asked for and found, else its identifier, else null. */
  of(kind: ExpandableKind, id: string | undefined): Json;
}

/** Renders every reference as its identifier. */
export const noExpansion: Expansion = {
  has: () => false,
  of: (_kind, id) => id ?? null,
};

/** An expansion of the keys asked for, with the records that were found for them. */
export function expansionOf(
  keys: ReadonlySet<string>,
  found: ReadonlyMap<ExpandableKind, ReadonlyMap<string, Json>>,
): Expansion {
  return {
    has: (key) => keys.has(key),
    of: (kind, id) => (id === undefined ? null : (found.get(kind)?.get(id) ?? id)),
  };
}

/**
 * The keys that a query asks to expand, by their canonical names: `expand` as a comma list (or repeated), and `expand_<key>=true`. Keys that
 * the record does not have are ignored without error (interface, Subscriptions). So are those of records that the caller may not read (decisions 3.7).
 */
export function expandKeysOf(
  query: Readonly<Record<string, unknown>>,
  known: ReadonlyMap<string, ExpandName>,
  mayRead: (kind: ExpandableKind) => boolean,
): ReadonlySet<string> {
  const keys = new Set<string>();
  const ask = ({ key, kind }: ExpandName) => {
    if (kind === undefined || mayRead(kind)) keys.add(key);
  };
  const asked = query.expand;
  const lists = Array.isArray(asked) ? asked.slice(0, maxExpandLists) : [asked];
  for (const list of lists) {
    if (typeof list !== 'string') continue;
    for (const name of list.split(',', maxExpandKeys)) {
      const named = known.get(name.trim());
      if (named !== undefined) ask(named);
    }
  }
  for (const [alias, named] of known) {
    if (isTrue(query[`expand_${alias}`])) ask(named);
  }
  return keys;
}

/** Every name that a record's expansion answers to, with what it asks for. */
export function expansionNames(
  references: Readonly<Record<string, Pick<Reference<never>, 'aliases' | 'kind'>>>,
  flags: readonly string[] = [],
): ReadonlyMap<string, ExpandName> {
  const names = new Map<string, ExpandName>(flags.map((flag) => [flag, { key: flag, kind: undefined }]));
  for (const [key, { kind, aliases = [] }] of Object.entries(references)) {
    for (const name of [key, ...aliases]) names.set(name, { key, kind });
  }
  return names;
}

/** An identifier in an answer, or the whole record in its place. */
export function expandable(kind: ExpandableKind): z.ZodType<Json> {
  return z.union([idOf(kind), z.lazy(() => expandableSchema(kind))]) as z.ZodType<Json>;
}

/** Declares the schema that stands in the place of identifiers of this kind. Records refer to each other in circles, so they meet here. */
export function expandsTo<Schema extends z.ZodType>(kind: ExpandableKind, schema: Schema): Schema {
  schemas.set(kind, schema);
  return schema;
}

const schemas = new Map<ExpandableKind, z.ZodType>();

function expandableSchema(kind: ExpandableKind): z.ZodType {
  const schema = schemas.get(kind);
  if (schema === undefined) throw new Error(`No record kind expands ${kind}`);
  return schema;
}

const maxExpandLists = 10;
const maxExpandKeys = 20;

import { newId } from '@eligo/values';

/** An identifier's form, Eligo's or the stub processor's: a prefix and 26 characters. */
const identifiers = /\b[a-z]+_[0-7][0-9a-hjkmnp-tv-z]{25}(?![0-9a-z])/g;

/**
 * Makes of recorded values those of another run of the same operation: identifiers that `known` names become what it says (also themselves),
 * every other becomes a new one, the same in all statements of the run. Lengths stay, so that encoded messages stay whole.
 */
export function freshValues(known: ReadonlyMap<string, string>): (values: readonly unknown[]) => unknown[] {
  const made = new Map(known);
  const replace = (text: string) =>
    text.replace(identifiers, (id) => {
      const other = made.get(id) ?? `${id.slice(0, -26)}${newId('request').slice(-26)}`;
      made.set(id, other);
      return other;
    });
  const fresh = (value: unknown): unknown => {
    if (typeof value === 'string') return replace(value);
    if (value instanceof Uint8Array) return Buffer.from(replace(Buffer.from(value).toString('latin1')), 'latin1');
    if (Array.isArray(value)) return value.map(fresh);
    if (typeof value !== 'object' || value === null || value instanceof Date) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [replace(key), fresh(inner)]));
  };
  return (values) => values.map(fresh);
}

/** Every identifier in these values. */
export function identifiersIn(values: readonly unknown[]): Set<string> {
  const found = new Set<string>();
  const look = (value: unknown): void => {
    if (typeof value === 'string') for (const [id] of value.matchAll(identifiers)) found.add(id);
    else if (value instanceof Uint8Array) look(Buffer.from(value).toString('latin1'));
    else if (typeof value === 'object' && value !== null && !(value instanceof Date))
      Object.values(value).forEach(look);
  };
  values.forEach(look);
  return found;
}

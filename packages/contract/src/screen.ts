import type { Violation } from '@eligo/failures';
import { hasCardNumber } from './card-number.ts';
import { limits } from './limits.ts';

/**
 * What no request may hold, whatever its schema and also in fields that are ignored: a NUL or a lone surrogate in any string (decisions 13), a
 * card number in any field but product codes, phones and ids (decisions 10), `__proto__` as a key, more depth or keys than the limits.
 * The first fault, or undefined. `loc` never holds a name that is not a plain word, so that nothing is echoed.
 */
export function screen(value: unknown, at: 'body' | 'query'): Violation | undefined {
  const state: State = { at, path: [], keys: 0, inMetadata: false };
  return visit(value, state, '');
}

interface State {
  readonly at: 'body' | 'query';
  readonly path: string[];
  keys: number;
  inMetadata: boolean;
}

/** Fields of the contract whose values are product codes, phones or ids. Within metadata every name is the partner's, so none is exempt. */
const exemptNames = new Set([
  'upc_code',
  'gtin',
  'reference_gtin',
  'phone',
  'id',
  'client_reference_id',
  'selling_plan',
]);

function visit(value: unknown, state: State, name: string): Violation | undefined {
  if (typeof value === 'string') return screenText(value, state, !state.inMetadata && exemptNames.has(name));
  if (typeof value !== 'object' || value === null) return undefined;
  if (state.path.length >= limits.jsonDepth) return fault(state, 'too_deep', `Nested deeper than ${limits.jsonDepth}`);
  if (Array.isArray(value)) return visitItems(value, state, name);
  return visitFields(value as Record<string, unknown>, state);
}

function visitItems(items: readonly unknown[], state: State, name: string): Violation | undefined {
  for (let index = 0; index < items.length; index += 1) {
    state.keys += 1;
    if (state.keys > limits.jsonKeys) return fault(state, 'too_many_fields', 'Too many fields');
    state.path.push(String(index));
    const found = visit(items[index], state, name);
    if (found !== undefined) return found;
    state.path.pop();
  }
  return undefined;
}

function visitFields(fields: Record<string, unknown>, state: State): Violation | undefined {
  for (const key of Object.keys(fields)) {
    state.keys += 1;
    if (state.keys > limits.jsonKeys) return fault(state, 'too_many_fields', 'Too many fields');
    if (key === '__proto__') return fault(state, 'invalid_key', 'Invalid field name');
    const found = screenText(key, state, false);
    if (found !== undefined) return found;
    const isMetadata = !state.inMetadata && key.endsWith('metadata');
    if (isMetadata) state.inMetadata = true;
    state.path.push(key);
    const inside = visit(fields[key], state, key);
    if (inside !== undefined) return inside;
    state.path.pop();
    if (isMetadata) state.inMetadata = false;
  }
  return undefined;
}

function screenText(text: string, state: State, exempt: boolean): Violation | undefined {
  if (text.includes('\0')) return fault(state, 'invalid_text', 'Must not contain a NUL character');
  if (!text.isWellFormed()) return fault(state, 'invalid_text', 'Must be well-formed Unicode');
  if (!exempt && hasCardNumber(text)) return fault(state, 'card_number_not_allowed', 'Card numbers are not accepted');
  return undefined;
}

function fault(state: State, type: string, msg: string): Violation {
  return { loc: locOf(state.at, state.path), msg, type };
}

/** The place of a fault as an array of strings, cut before the first name that is not a plain word. */
export function locOf(at: string, path: readonly PropertyKey[]): string[] {
  const loc = [at];
  for (const part of path.slice(0, limits.jsonDepth)) {
    const name = String(part);
    if (!/^[A-Za-z0-9_.-]{1,64}$/.test(name)) break;
    loc.push(name);
  }
  return loc;
}

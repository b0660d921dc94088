import { Failure } from '@eligo/failures';
import qs from 'qs';

/** A query string with brackets and repeated names as nested values; every leaf is a string (decisions 13). */
export type Query = Readonly<Record<string, unknown>>;

const noQuery: Query = Object.freeze({});

/** Longer queries than the header block allows never arrive; more parameters than this are refused rather than cut off. */
const maxParameters = 1_000;

export function parseQuery(text: string): Query {
  if (text === '') return noQuery;
  if (text.split('&', maxParameters + 1).length > maxParameters) {
    throw Failure.invalid(['query'], 'invalid_query', `Must have at most ${maxParameters} parameters`);
  }
  try {
    const query = qs.parse(text, {
      depth: 4,
      arrayLimit: maxParameters,
      parameterLimit: maxParameters,
      plainObjects: true,
      // A name that is given twice is an array, which a parameter that takes one value refuses.
      duplicates: 'combine',
      decoder: decode,
    });
    return Array.isArray(query.metadata) ? { ...query, metadata: numbered('metadata', text) ?? query.metadata } : query;
  } catch (error) {
    throw error instanceof Failure
      ? error
      : Failure.invalid(['query'], 'invalid_query', 'The query string cannot be parsed');
  }
}

// A number in brackets is a position to qs, and positions are closed up. Under metadata it is a key that the partner chose: there the names are
// taken as they stand, if they are all of that form and each is given once.
function numbered(name: string, text: string): Query | undefined {
  const given = [...new URLSearchParams(text)].filter(([one]) => one === name || one.startsWith(`${name}[`));
  const keys = given.map(([one]) => /\[(\d+)\]$/.exec(one.slice(name.length))?.[1]);
  if (keys.includes(undefined) || new Set(keys).size < keys.length) return undefined;
  return Object.fromEntries(given.map(([, value], at) => [keys[at], value]));
}

// qs drops such a name silently, however it was written, which would widen a filter.
function decode(text: string, decodeText: (text: string) => string, _charset: string, part: 'key' | 'value'): string {
  const decoded = decodeText(text);
  if (part === 'key' && decoded.includes('__proto__')) {
    throw Failure.invalid(['query'], 'invalid_key', 'Invalid parameter name');
  }
  return decoded;
}

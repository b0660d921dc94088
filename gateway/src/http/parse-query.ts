import { Failure } from '@eligo/failures';
import qs from 'qs';

/** A query string with brackets and repeated names as nested values; every leaf is a string (decisions 13). */
export type Query = Readonly<Record<string, unknown>>;

const noQuery: Query = Object.freeze({});

/** Longer queries than the header block allows never arrive; more parameters than this are refused rather than cut off. */
const maxParameters = 1_000;

export function parseQuery(text: string): Query {
  if (text === '') return noQuery;
  try {
    return qs.parse(text, {
      depth: 4,
      arrayLimit: 100,
      parameterLimit: maxParameters,
      throwOnLimitExceeded: true,
      plainObjects: true,
      // A name that is given twice is an array, which a parameter that takes one value refuses.
      duplicates: 'combine',
      decoder: decode,
    });
  } catch (error) {
    throw error instanceof Failure ? error : Failure.invalid(['query'], 'invalid_query', 'The query cannot be read');
  }
}

// qs drops such a name silently, however it was written, which would widen a filter.
function decode(text: string, decodeText: (text: string) => string, _charset: string, part: 'key' | 'value'): string {
  const decoded = decodeText(text);
  if (part === 'key' && decoded.includes('__proto__')) {
    throw Failure.invalid(['query'], 'invalid_key', 'Invalid parameter name');
  }
  return decoded;
}

/** An answer's record: JSON as a partner's program sees it. */
export type Json = Record<string, unknown>;

/** The record under its envelope's key; throws with the whole answer when it is not there. */
export function record(body: Json, key: string): Json {
  const found = body[key];
  if (typeof found !== 'object' || found === null || Array.isArray(found)) {
    throw new Error(`no ${key} in ${JSON.stringify(body)}`);
  }
  return found as Json;
}

/** The records under a list's key. */
export function records(body: Json, key: string): Json[] {
  const found = body[key];
  if (!Array.isArray(found)) throw new Error(`no list ${key} in ${JSON.stringify(body)}`);
  return found as Json[];
}

/** A field that is a text, such as an identifier. */
export function text(from: Json, key: string): string {
  const found = from[key];
  if (typeof found !== 'string') throw new Error(`no text ${key} in ${JSON.stringify(from)}`);
  return found;
}

/** A JSON object whose shape the caller knows from the interface. */
export type Json = Record<string, unknown>;

/** The public interface, as a command uses it. */
export interface PublicApi {
  readonly url: string;
  /** The answer's body; throws with the interface's own words when the request is refused. */
  send(method: string, path: string, body?: object, headers?: Readonly<Record<string, string>>): Promise<Json>;
}

const timeoutMs = 35_000;

/** A client for one key. */
export function apiClient(url: string, key: string): PublicApi {
  return {
    url,
    async send(method, path, body, headers = {}) {
      const request = fetch(new URL(path, url), {
        method,
        headers: {
          authorization: `Bearer ${key}`,
          ...(body ? { 'content-type': 'application/json' } : {}),
          ...headers,
        },
        ...(body ? { body: JSON.stringify(body) } : {}),
        signal: AbortSignal.timeout(timeoutMs),
      });
      const answer = await request.catch((cause: unknown) => {
        throw new Error(`${url} does not respond.`, { cause });
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${method} ${path} returned ${answer.status}: ${text}`);
      return JSON.parse(text) as Json;
    },
  };
}

/** A text field of a record inside an answer's envelope: `field(answer, 'price', 'price_id')`. */
export function field(answer: Json, envelope: string, name: string): string {
  const record = answer[envelope];
  const value = typeof record === 'object' && record !== null ? (record as Json)[name] : undefined;
  if (typeof value !== 'string') throw new Error(`The response has no ${envelope}.${name}`);
  return value;
}

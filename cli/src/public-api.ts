/** A JSON object whose shape the caller knows from the interface. */
export type Json = Record<string, unknown>;

/** The public interface, as a command uses it. */
export interface PublicApi {
  readonly url: string;
  /** The answer's body; throws with the interface's own words when the request is refused. */
  send(method: string, path: string, body?: object, headers?: Readonly<Record<string, string>>): Promise<Json>;
  /** The lines of an answer that is text, as they come. */
  lines(path: string): AsyncIterable<string>;
}

const timeoutMs = 35_000;

/** A client for one key. */
export function apiClient(url: string, key: string): PublicApi {
  async function accepted(
    method: string,
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Response> {
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
    if (!answer.ok) throw new Error(`${method} ${path} returned ${answer.status}: ${await answer.text()}`);
    return answer;
  }

  return {
    url,
    async send(method, path, body, headers) {
      return (await (await accepted(method, path, body, headers)).json()) as Json;
    },
    async *lines(path) {
      const { body } = await accepted('GET', path);
      let rest = '';
      for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) {
        const lines = (rest + text).split(/\r?\n/);
        rest = lines.pop() ?? '';
        yield* lines;
      }
      if (rest !== '') yield rest;
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

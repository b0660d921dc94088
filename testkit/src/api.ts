import { assertDeclared } from './declared-refusals.ts';

/** An answer of the public interface. */
export interface ApiAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** The parsed JSON, an empty object when the body is none: tests say what they expect of it. */
  readonly body: Record<string, unknown>;
  /** The bytes as text, for comparing answers to the last one. */
  readonly text: string;
}

/** What a request may carry beside its path. */
export interface ApiRequest {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly idempotencyKey?: string;
  readonly signal?: AbortSignal;
}

/** A small client of the public interface, as a partner's would be: one key, JSON in and out, no retries. */
export interface Api {
  readonly url: string;
  readonly key: string;
  send(method: string, path: string, request?: ApiRequest): Promise<ApiAnswer>;
  get(path: string, request?: ApiRequest): Promise<ApiAnswer>;
  post(path: string, body?: unknown, request?: ApiRequest): Promise<ApiAnswer>;
  put(path: string, body?: unknown, request?: ApiRequest): Promise<ApiAnswer>;
  patch(path: string, body?: unknown, request?: ApiRequest): Promise<ApiAnswer>;
  delete(path: string, body?: unknown, request?: ApiRequest): Promise<ApiAnswer>;
  /** The answer's body if its status is 2xx; throws with status and body otherwise. */
  ok(method: string, path: string, request?: ApiRequest): Promise<Record<string, unknown>>;
}

/** A client for one key at one address. */
export function apiClient(url: string, key: string): Api {
  const send = (method: string, path: string, request: ApiRequest = {}) => sendRequest(url, key, method, path, request);
  return {
    url,
    key,
    send,
    get: (path, request) => send('GET', path, request),
    post: (path, body, request) => send('POST', path, { ...request, body }),
    put: (path, body, request) => send('PUT', path, { ...request, body }),
    patch: (path, body, request) => send('PATCH', path, { ...request, body }),
    delete: (path, body, request) => send('DELETE', path, { ...request, body }),
    async ok(method, path, request) {
      const answer = await send(method, path, request);
      if (answer.status >= 200 && answer.status < 300) return answer.body;
      throw new Error(`${method} ${path}: ${answer.status} ${answer.text}`);
    },
  };
}

async function sendRequest(
  url: string,
  key: string,
  method: string,
  path: string,
  request: ApiRequest,
): Promise<ApiAnswer> {
  const hasBody = request.body !== undefined;
  const answer = await fetch(new URL(path, url), {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      ...(hasBody ? { 'content-type': 'application/json' } : {}),
      ...(request.idempotencyKey === undefined ? {} : { 'idempotency-key': request.idempotencyKey }),
      ...request.headers,
    },
    redirect: 'manual',
    ...(hasBody ? { body: typeof request.body === 'string' ? request.body : JSON.stringify(request.body) } : {}),
    ...(request.signal ? { signal: request.signal } : {}),
  });
  const text = await answer.text();
  const read = { status: answer.status, headers: answer.headers, text, body: parse(text) };
  assertDeclared(method, path, read);
  return read;
}

function parse(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch (error) {
    // Not JSON: a test that expects some will say so.
    if (error instanceof SyntaxError) return {};
    throw error;
  }
}

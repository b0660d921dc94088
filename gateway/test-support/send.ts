import { once } from 'node:events';
import { Agent, type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import type { Route } from '@eligo/contract';

/** What a probe saw. */
export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly json: unknown;
}

/** What a probe sends. */
export interface Sent {
  readonly method: string;
  readonly path: string;
  readonly key?: string | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly body?: string | Uint8Array<ArrayBuffer> | undefined;
}

/**
 * Sends a request as it is given; nothing is added but the key and, for a body, its type and length. By `node:http` rather than `fetch`, which
 * costs as much as the answering of most requests and refuses to send some of them.
 */
export async function send(url: string, { method, path, key, headers = {}, body }: Sent): Promise<Reply> {
  const bytes = body === undefined ? undefined : Buffer.from(body);
  const sent = request(url + path, {
    method,
    agent,
    headers: {
      ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      ...(bytes === undefined ? {} : { 'content-type': 'application/json', 'content-length': bytes.length }),
      ...headers,
    },
  });
  const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
  // A server may answer before it has taken a body that is too large, and hang up on the rest.
  sent.on('error', () => undefined);
  sent.end(bytes);
  const [reply] = await answered;
  const text = await readText(reply);
  return { status: reply.statusCode ?? 0, headers: reply.headers, text, json: parse(text) };
}

const agent = new Agent({ keepAlive: true });

/** A route's path with an identifier in the place of its parameter. */
export function pathOf(route: Route, id: string): string {
  return route.path.replace(/\{\w+\}/, id);
}

/** Whether a body has the shape that the interface gives for its status (Errors 1 and 2). */
export function isRefusal(status: number, json: unknown): boolean {
  if (typeof json !== 'object' || json === null) return false;
  const { code, detail } = json as { code?: unknown; detail?: unknown };
  if (typeof code === 'string' && typeof detail === 'string') return true;
  return status === 422 && Array.isArray(detail) && detail.length > 0 && detail.every(isViolation);
}

function isViolation(entry: unknown): boolean {
  if (typeof entry !== 'object' || entry === null) return false;
  const { loc, msg, type } = entry as Record<string, unknown>;
  return (
    Array.isArray(loc) &&
    loc.every((part) => typeof part === 'string') &&
    typeof msg === 'string' &&
    typeof type === 'string'
  );
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

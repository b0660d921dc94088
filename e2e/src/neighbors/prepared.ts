import type { Api } from '@eligo/testkit';
import { type Prepared, sendPrepared } from './flood.ts';

/** A read. */
export function get(path: string): Prepared {
  return { method: 'GET', path };
}

/** A write, whose JSON is made once. */
export function post(path: string, body: Record<string, unknown>): Prepared {
  return {
    ...{ method: 'POST', path },
    headers: { 'content-type': 'application/json' },
    body: Buffer.from(JSON.stringify(body)),
  };
}

/** Sends a request with the key. */
export function send({ url, key }: Api, prepared: Prepared): Promise<number | undefined> {
  return sendPrepared(url, { ...prepared, headers: { authorization: `Bearer ${key}`, ...prepared.headers } });
}

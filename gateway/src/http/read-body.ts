import type { IncomingMessage } from 'node:http';
import { limits } from '@eligo/contract';
import { Failure } from '@eligo/failures';
import { freeBytes } from '@eligo/values';
import type { BodyRoom } from './body-budget.ts';
import { join, joinedChunks } from './joined-chunks.ts';

/**
 * The JSON of a request, or undefined when it has no body. Refuses what is not JSON in UTF-8 (415), not valid (400) or too large (413), the
 * last before it is read. The bytes stay in the room until that is released. `hold` is called with their number before they are worked on, and may wait.
 */
export async function readBody(
  request: IncomingMessage,
  room: BodyRoom,
  {
    mostBytes = limits.bodyBytes,
    hold,
  }: { mostBytes?: number; hold?: (bytes: number) => Promise<void> | undefined } = {},
): Promise<unknown> {
  if (!hasBody(request)) return undefined;
  const { headers } = request;
  const length = headers['content-length'];
  if (length !== undefined && Number(length) > mostBytes) throw new Failure('payload_too_large');
  const bytes = await readBytes(request, room, mostBytes);
  if (bytes.length === 0) {
    await hold?.(0);
    return undefined;
  }
  assertJsonType(headers['content-type']);
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding.toLowerCase() !== 'identity') throw new Failure('unsupported_media_type');
  const held = hold?.(bytes.length);
  if (held !== undefined) await held;
  const parsed = parseJson(bytes);
  freeBytes(bytes);
  return parsed;
}

/** Whether the headers of a request announce a body. */
export function hasBody({ headers }: IncomingMessage): boolean {
  const length = headers['content-length'];
  return (length !== undefined && length !== '0') || headers['transfer-encoding'] !== undefined;
}

/** Whether the declared length of a request body is within these bytes: the rest of it is read and dropped; of a larger one, the connection is closed. */
export function isSmall(request: IncomingMessage, mostBytes: number): boolean {
  return Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY) <= mostBytes;
}

/** The raw bytes of a body. Refuses one that is too large (413), without reading more of it. */
export async function readBytes(request: IncomingMessage, room: BodyRoom, mostBytes: number): Promise<Buffer> {
  const buffers: Buffer[] = [];
  let size = 0;
  const arrived = (bytes: number) => {
    size += bytes;
    if (size > mostBytes) throw new Failure('payload_too_large');
    room.take(bytes);
  };
  room.awaits();
  try {
    // A body that breaks off or is not what its headers say is the client's affair.
    for await (const joined of joinedChunks(request, { arrived, broken: 'invalid_json' })) buffers.push(joined);
  } catch (error) {
    for (const buffer of buffers) freeBytes(buffer);
    throw error;
  }
  room.arrived();
  return join(buffers);
}

const jsonType = /^application\/(?:json|[\w.+-]+\+json)\s*(?:;(.*))?$/i;
const charset = /(?:^|;)\s*charset\s*=\s*"?([^";\s]*)"?/i;

function assertJsonType(type: string | undefined): void {
  if (type === 'application/json') return;
  const match = jsonType.exec(type ?? '');
  if (match === null) throw new Failure('unsupported_media_type');
  const named = charset.exec(match[1] ?? '')?.[1];
  if (named !== undefined && !/^utf-?8$/i.test(named)) throw new Failure('unsupported_media_type');
}

const utf8 = new TextDecoder('utf-8', { fatal: true });

/** The JSON that these bytes are; refuses others (400). */
export function parseJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(utf8.decode(bytes));
  } catch (error) {
    throw new Failure('invalid_json', { cause: error });
  }
}

import type { IncomingMessage } from 'node:http';
import { Failure, type FailureCode } from '@eligo/failures';
import { BoundedRequest } from '@eligo/service';
import { freeBytes } from '@eligo/values';

/** Chunks are held up to the size of a read from a socket. A thousand of them take half a megabyte of memory, whatever they contain. */
const joinBytes = 65_536;
const joinChunks = 1_024;

/** How a body is read. */
export interface ChunkRules {
  /** Is called with the bytes of each chunk. Throws to refuse the body. */
  readonly arrived: (bytes: number) => void;
  /** The refusal of a body that breaks off, is not what its headers say, or has too many chunks. */
  readonly broken: FailureCode;
}

/** The body of a request, in few buffers: small chunks are joined, because each takes 250 to 500 bytes of memory beside its content. */
export async function* joinedChunks(request: IncomingMessage, { arrived, broken }: ChunkRules): AsyncGenerator<Buffer> {
  let held: Buffer[] = [];
  let heldBytes = 0;
  try {
    // Leaving the loop must not destroy the request: the refusal goes out on the same socket.
    for await (const chunk of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      arrived(chunk.length);
      if (request instanceof BoundedRequest && request.hasTooManyChunks) throw new Failure(broken);
      held.push(chunk);
      heldBytes += chunk.length;
      if (heldBytes < joinBytes && held.length < joinChunks) continue;
      const joined = join(held);
      held = [];
      heldBytes = 0;
      yield joined;
    }
  } catch (error) {
    throw error instanceof Failure ? error : new Failure(broken, { cause: error });
  }
  if (held.length > 0) yield join(held);
}

/** One buffer with the bytes of all, whose memory is freed; the buffer itself where there is only one. */
export function join(buffers: readonly Buffer[]): Buffer {
  if (buffers.length === 1 && buffers[0] !== undefined) return buffers[0];
  const joined = Buffer.concat(buffers);
  for (const buffer of buffers) freeBytes(buffer);
  return joined;
}

import type { ServerResponse } from 'node:http';
import type { StreamedAnswer } from './api-request.ts';
import { type HeaderList, streamHeaders, writeJson } from './write-answer.ts';

/**
 * Writes an answer of unknown length, never faster than the client reads. A failure before the first piece is thrown and answered as such;
 * after it the connection is cut, so that no client mistakes half a list for a whole one. `reader` is told when the answer waits for the client to read, and when it resumes.
 */
export async function writeStream(
  response: ServerResponse,
  { pieces, file }: StreamedAnswer,
  requestId: string,
  extra: HeaderList,
  reader?: { awaitsClient(): void; resumes(): void },
): Promise<void> {
  const iterator = pieces[Symbol.asyncIterator]();
  const first = await iterator.next();
  if (first.done === true) throw new Error('A streamed response was empty');
  let next = await iterator.next();
  if (next.done === true && file === undefined) {
    writeJson(response, 200, first.value, requestId, extra);
    return;
  }
  const headers = streamHeaders(requestId, file);
  headers.push(...extra);
  response.writeHead(200, headers);
  try {
    // Nothing of a body is ever written to HEAD, so nothing would hold back the reading of all of it.
    if (response.req.method === 'HEAD') {
      response.end();
      return;
    }
    response.write(first.value);
    while (next.done !== true) {
      if (response.destroyed) return;
      if (!response.write(next.value)) {
        reader?.awaitsClient();
        await drained(response);
        reader?.resumes();
      }
      next = await iterator.next();
    }
    response.end();
  } catch (error) {
    response.destroy();
    throw error;
  } finally {
    await iterator.return?.();
  }
}

/** Waits until the client has read, or is gone. */
export function drained(response: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const settle = () => {
      response.off('drain', settle);
      response.off('close', settle);
      resolve();
    };
    response.on('drain', settle);
    response.on('close', settle);
  });
}

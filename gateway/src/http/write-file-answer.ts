import type { ServerResponse } from 'node:http';
import type { FileAnswer } from './api-request.ts';
import { fileHeaders, type HeaderList } from './write-answer.ts';
import { drained } from './write-stream.ts';

/**
 * Writes the content of a file, never faster than the client reads. A failure before the first piece is thrown and answered as such; after it the
 * connection is cut, so that no client mistakes a part of a file for the whole.
 */
export async function writeFileAnswer(
  response: ServerResponse,
  file: FileAnswer,
  requestId: string,
  extra: HeaderList,
): Promise<void> {
  const { pieces } = file;
  try {
    const first = await pieces.next();
    if (response.destroyed) return;
    response.writeHead(200, [...fileHeaders(requestId, file), ...extra]);
    if (response.req.method === 'HEAD') {
      response.end();
      return;
    }
    for (let next = first; next.done !== true; next = await pieces.next()) {
      if (response.destroyed) return;
      if (!response.write(next.value)) await drained(response);
    }
    response.end();
  } catch (error) {
    if (response.headersSent) response.destroy();
    throw error;
  } finally {
    await pieces.return(undefined);
  }
}

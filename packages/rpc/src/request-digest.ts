import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

/**
 * Watches the content of a request whose body has not begun to arrive: the body, and before it the query, in which Connect takes the message of a GET.
 * Returns what reads its SHA-256 once the message was read. A body that goes on after that ends the request.
 */
export function watchDigest(request: IncomingMessage): () => Buffer {
  const hash = createHash('sha256');
  const [, query] = (request.url ?? '').split(/\?(.*)/s);
  if (query !== undefined) hash.update(`?${query}\n`);
  let digest: Buffer | undefined;
  const push = request.push.bind(request);
  request.push = (chunk: Buffer | null, encoding?: BufferEncoding) => {
    if (chunk !== null && digest === undefined) hash.update(chunk);
    else if (chunk !== null) request.destroy();
    return push(chunk, encoding);
  };
  return () => {
    digest ??= hash.digest();
    return digest;
  };
}

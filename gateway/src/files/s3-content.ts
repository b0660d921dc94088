import { hash } from 'node:crypto';
import { Failure } from '@eligo/failures';
import type { Scope } from '@eligo/postgres';
import { AwsClient } from 'aws4fetch';
import type { ContentStore } from './content-stores.ts';

/** A bucket, and the key that may read, write and delete in it. */
export interface S3Settings {
  /** With the bucket in its path or its host name, and without a slash at its end. */
  readonly url: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

/**
 * An S3-compatible object store. Each part of a file is an object: its length is known before it is sent, so an upload holds 1 MiB. The row of a file is
 * written before its first object and deleted after its last one, so an object without a row cannot stay.
 */
export function s3Content({ url, ...credentials }: S3Settings): ContentStore {
  const client = new AwsClient({ ...credentials, service: 's3', retries: 2 });
  const send = async (
    method: 'PUT' | 'GET' | 'DELETE',
    { accountId, testMode }: Scope,
    { fileId, part, bytes }: { fileId: string; part: number; bytes?: Buffer },
  ): Promise<Buffer | undefined> => {
    const key = `${accountId}/${testMode ? 'test' : 'live'}/${fileId}/${part}`;
    const content = bytes && new Uint8Array(bytes);
    try {
      const answer = await client.fetch(`${url}/${key}`, {
        ...{ method, body: content ?? null, signal: AbortSignal.timeout(timeoutMs) },
        // Over the content, so that the store refuses what arrives differently.
        headers: { 'X-Amz-Content-Sha256': hash('sha256', content ?? '') },
      });
      const read = Buffer.from(await answer.arrayBuffer());
      if (answer.ok) return read;
      if (answer.status === 404 && method !== 'PUT') return undefined;
      throw new Error(`The object store answered ${method} with ${answer.status}`);
    } catch (cause) {
      throw new Failure('service_unavailable', { retryAfterSeconds: 5, cause });
    }
  };
  return {
    name: 's3',
    async add(scope, fileId, part, bytes) {
      await send('PUT', scope, { fileId, part, bytes });
    },
    read: (scope, fileId, part) => send('GET', scope, { fileId, part }),
    async remove(scope, fileId) {
      // All that a file may have, at once: the upload of one that broke off does not say how far it came.
      await Promise.all(Array.from({ length: mostParts }, (_, part) => send('DELETE', scope, { fileId, part })));
    },
  };
}

/** A part is 1 MiB; a store that takes longer is taken for one that is down. */
const timeoutMs = 10_000;
/** Of 10,000,000 bytes. */
const mostParts = 10;

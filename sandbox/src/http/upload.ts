import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { invalidRequest } from '../refusal.ts';

/** What Stripe takes of one file of evidence, and room for the rest of its form. */
const maxFileBytes = 5_242_880;
export const maxUploadBytes = maxFileBytes + 65_536;

/** The one call whose body is a file. */
export function isUpload(method: string, path: string): boolean {
  return method === 'POST' && path === '/v1/files';
}

/**
 * The form of an upload, with what is kept of its file in the place of the file: name, size, type by content and hash. So the hash is part of what an
 * idempotency key was used for. The content is not kept: nothing reads it, and documents about a shopper's health do not stay here.
 */
export async function readUpload(request: IncomingMessage, body: Buffer): Promise<string> {
  const form = new URLSearchParams();
  for (const [name, value] of await parse(request, body)) {
    if (typeof value === 'string') form.append(name, value);
    else if (name === 'file') await describe(form, value);
    else throw invalidRequest(`Received unknown parameter: ${name.slice(0, 80)}`, { param: name.slice(0, 80) });
  }
  return form.toString();
}

async function parse(request: IncomingMessage, body: Buffer): Promise<FormData> {
  const type = request.headers['content-type'] ?? '';
  if (!type.startsWith('multipart/form-data'))
    throw invalidRequest('You must pass a file, as multipart/form-data.', { param: 'file' });
  try {
    return await new Response(new Uint8Array(body), { headers: { 'content-type': type } }).formData();
  } catch {
    throw invalidRequest('The body is not a form.', { param: 'file' });
  }
}

async function describe(form: URLSearchParams, file: File): Promise<void> {
  const content = Buffer.from(await file.arrayBuffer());
  const type = signatures.find(({ bytes }) => content.subarray(0, bytes.length).equals(bytes))?.type;
  if (type === undefined)
    throw invalidRequest('Invalid file: only PDF, JPEG and PNG files are allowed.', { param: 'file' });
  if (content.length > maxFileBytes) throw invalidRequest('Invalid file: it is too large.', { param: 'file' });
  form.append('file[name]', file.name.slice(0, 255));
  form.append('file[size]', String(content.length));
  form.append('file[type]', type);
  form.append('file[sha256]', hash('sha256', content));
}

const signatures = [
  { type: 'pdf', bytes: Buffer.from('%PDF-') },
  { type: 'png', bytes: Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]) },
  { type: 'jpg', bytes: Buffer.from([0xff, 0xd8, 0xff]) },
];

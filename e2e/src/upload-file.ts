import type { Api } from '@eligo/testkit';
import { type Json, record, text } from './records.ts';

/** Uploads a PDF for disputes, or for another purpose, and returns the file's id. */
export async function uploadFile(
  { url, key }: Api,
  content: Buffer,
  { name = 'receipt.pdf', purpose = 'dispute_evidence' }: { name?: string; purpose?: string } = {},
): Promise<string> {
  const form = new FormData();
  form.append('purpose', purpose);
  form.append('file', new File([new Uint8Array(content)], name, { type: 'application/pdf' }));
  const headers = { authorization: `Bearer ${key}` };
  const answer = await fetch(`${url}/v1/files`, { method: 'POST', headers, body: form });
  return text(record((await answer.json()) as Json, 'file'), 'file_id');
}

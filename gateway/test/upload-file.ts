import { exampleForm } from '../test-support/upload.ts';
import type { TestGateway } from './open-test-gateway.ts';

/** Uploads a small PDF under the test gateway's key; answers its id. */
export async function uploadSmallFile({ url, api }: Pick<TestGateway, 'url' | 'api'>): Promise<string> {
  const { body, headers } = exampleForm('file');
  const answer = await fetch(`${url}/v1/files`, {
    method: 'POST',
    headers: { authorization: `Bearer ${api.key}`, ...headers },
    body,
  });
  const { file } = (await answer.json()) as { file: { file_id: string } };
  return file.file_id;
}

import { DiskWatch } from '@eligo/service';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { exampleForm } from '../test-support/upload.ts';
import { openTestGateway, type TestGateway } from './open-test-gateway.ts';

let stack: TestGateway;
beforeAll(async () => {
  stack = await openTestGateway();
});
afterAll(() => stack?.stop());

test('while the disk is nearly full, an upload is 503 with Retry-After and stores nothing, and downloads go on [D14.126, D14.223]', async () => {
  let freeBytes = 1_000;
  const disk = new DiskWatch({ folder: '/', leastFreeBytes: 1_000, look: async () => freeBytes, everyMs: 3_600_000 });
  const { url } = await stack.another({}, undefined, disk);
  const authorization = `Bearer ${stack.api.key}`;
  const { body, headers } = exampleForm('file');
  const upload = () => fetch(`${url}/v1/files`, { method: 'POST', headers: { ...headers, authorization }, body });
  const rows = () =>
    stack.databases.admin(
      'select (select count(*) from gateway.files) as files, (select count(*) from gateway.file_parts) as parts',
    );

  const taken = await upload();
  expect(taken.status).toBe(200);
  const { file } = (await taken.json()) as { file: { file_id: string; size: number } };
  const before = await rows();
  freeBytes = 999;
  await disk.lookNow();
  const refused = await upload();
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '30']);
  expect(await refused.json()).toMatchObject({ code: 'service_unavailable' });
  expect(await rows()).toEqual(before);
  const content = await fetch(`${url}/v1/files/${file.file_id}/content`, { headers: { authorization } });
  expect((await content.arrayBuffer()).byteLength).toBe(file.size);
  freeBytes = 2_000;
  await disk.lookNow();
  expect((await upload()).status).toBe(200);
});

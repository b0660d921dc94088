import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { EnvironmentReader, type Logger } from '@eligo/service';
import { testDatabase, testHome } from '@eligo/testkit';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { readGatewaySettings } from '../src/config.ts';
import { type ContentStores, contentStores } from '../src/files/content-stores.ts';
import { deleteExpiredFiles } from '../src/files/delete-expired-files.ts';
import { eraseFiles } from '../src/files/erase-files.ts';
import { giveEvidence } from '../src/files/give-evidence.ts';
import { postgresContent } from '../src/files/postgres-content.ts';
import { s3Content } from '../src/files/s3-content.ts';
import { Transfers } from '../src/files/transfers.ts';
import { createAccount, type Gateway, gatewayService } from '../src/index.ts';
import { form } from '../test-support/upload.ts';
import { openTestGateway, type TestGateway } from './open-test-gateway.ts';
import { uploadSmallFile } from './upload-file.ts';

// A server of the S3 protocol from npm, which has no types. It verifies signatures.
const S3rver = createRequire(import.meta.url)('@20minutes/s3rver') as new (
  options: object,
) => {
  run(): Promise<AddressInfo>;
  close(): Promise<void>;
};

let stack: TestGateway;
let gateway: Gateway;
let store: InstanceType<typeof S3rver>;
let port: number;
const home = testHome('objects');
const environmentOf = (atPort: number, secret = 'S3RVER') => ({
  ELIGO_FILES_S3_URL: `http://127.0.0.1:${atPort}/eligo-files`,
  ELIGO_FILES_S3_ACCESS_KEY_ID: 'S3RVER',
  ELIGO_FILES_S3_SECRET_ACCESS_KEY: secret,
});

beforeAll(async () => {
  const options = { address: '127.0.0.1', port: 0, silent: true, directory: home.root };
  store = new S3rver({ ...options, configureBuckets: [{ name: 'eligo-files' }] });
  ({ port } = await store.run());
  stack = await openTestGateway();
  gateway = await stack.another(environmentOf(port));
});

afterAll(async () => {
  await stack?.stop();
  await store?.close();
  home.remove();
});

const rows = (sql: string, values: unknown[] = []) => stack.databases.admin<Record<string, unknown>>(sql, values);
const objects = () => readdirSync(home.root, { recursive: true }).filter((name) => String(name).endsWith('_object'));
const objectsOf = (id: string) => objects().filter((name) => String(name).includes(id));

async function upload(content: Uint8Array, url = gateway.url) {
  const { body, headers } = form([
    { name: 'purpose', content: 'dispute_evidence' },
    { name: 'file', filename: 'receipt.pdf', content },
  ]);
  const answer = await fetch(`${url}/v1/files`, {
    ...{ method: 'POST', body, headers: { authorization: `Bearer ${stack.api.key}`, ...headers } },
  });
  const { file } = (await answer.json()) as { file?: { file_id: string } };
  return { status: answer.status, id: file?.file_id ?? '' };
}

const download = (id: string, url = gateway.url) =>
  fetch(`${url}/v1/files/${id}/content`, { headers: { authorization: `Bearer ${stack.api.key}` } });
const pdf = (size: number) => Buffer.concat([Buffer.from('%PDF-1.4'), randomBytes(size - 8)]);
const expire = (id: string) =>
  rows(`do $do$ begin set local session_replication_role = replica;
    update gateway.files set created_at = now() - interval '2 days', expires_at = now() - interval '1 day' where id = '${id}'; end $do$`);
const deleteExpired = (of = gateway) => of.service.jobs.runOnce('delete_expired_files');

describe('a file in an object store', () => {
  test('is read as it was, has nothing in Postgres, and is deleted when it expires [D14.255]', async () => {
    const content = pdf(2_500_000);
    const { status, id } = await upload(content);
    expect(status).toBe(200);
    expect(objectsOf(id)).toHaveLength(3);
    expect(await rows('select 1 from gateway.file_parts where file_id = $1', [id])).toEqual([]);
    expect(Buffer.from(await (await download(id)).arrayBuffer()).equals(content)).toBe(true);
    const [{ bytes } = {}] = await rows('select bytes from gateway.file_usage where account_id = $1', [
      stack.accountId,
    ]);
    expect(Number(bytes)).toBe(2_500_000);
    await expire(id);
    await deleteExpired();
    expect(objectsOf(id)).toEqual([]);
    expect(await rows('select 1 from gateway.files where id = $1', [id])).toEqual([]);
    expect((await download(id)).status).toBe(404);
  });

  test('is found by no read once it is erased, has lost its name, and is deleted by the job; one in Postgres is deleted at once [D14.326]', async () => {
    const [{ id }, inPostgres, kept, namesake] = [
      await upload(pdf(100)),
      await upload(pdf(100), stack.url),
      await upload(pdf(100)),
      await upload(pdf(100)),
    ];
    await rows(`update gateway.files set filename = 'erased' where id = $1`, [namesake.id]);
    const operator = stack.databases.open('gateway', { url: stack.databases.adminUrl, max: 1 });
    const scope = { accountId: stack.accountId, testMode: true };
    const named = [id, inPostgres.id];
    expect(await eraseFiles(operator, { ...scope, testMode: false }, named)).toBe(0);
    expect(await eraseFiles(operator, scope, named)).toBe(2);
    expect(await eraseFiles(operator, scope, named)).toBe(0);
    // A partner may have named it so.
    expect(await eraseFiles(operator, scope, [namesake.id])).toBe(1);
    await operator.close();
    expect((await download(id)).status).toBe(404);
    expect(await rows('select id, filename from gateway.files where id = any($1)', [named])).toEqual([
      { id, filename: 'erased' },
    ]);
    await deleteExpired();
    expect(objectsOf(id)).toEqual([]);
    expect(await rows('select 1 from gateway.files where id = $1', [id])).toEqual([]);
    expect((await download(kept.id)).status).toBe(200);
    await expect(
      rows(`update gateway.files set filename = 'erased', size_bytes = 1 where id = $1`, [kept.id]),
    ).rejects.toMatchObject({ constraint: 'files_are_stored_once' });
  });

  test('that an upload left behind is deleted, whether the upload failed or the process stopped [D14.255]', async () => {
    const before = objects();
    // 10 MB and a byte: refused after ten parts.
    expect((await upload(pdf(10_000_001))).status).toBe(413);
    expect(objects()).toEqual(before);
    // A part that was given up may arrive after that: its row has the job delete it.
    const [{ id: failed } = {}] = await rows(`select id from gateway.files where state = 'receiving'`);
    expect(failed).toEqual(expect.stringMatching(/^ffile_/));
    // A process that stops between its first part and its end leaves these.
    const scope = { accountId: stack.accountId, testMode: true };
    const id = `ffile_${randomBytes(12).toString('hex')}`;
    await rows(
      `insert into gateway.files (account_id, test_mode, id, expires_at, store) values ($1, true, $2, now() + interval '1 hour', 's3')`,
      [stack.accountId, id],
    );
    const content = s3Content({
      ...{ url: `http://127.0.0.1:${port}/eligo-files`, region: 'us-east-1' },
      ...{ accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' },
    });
    for (const part of [0, 1]) await content.add(scope, id, part, Buffer.from('left'));
    expect(objectsOf(id)).toHaveLength(2);
    await deleteExpired();
    expect(objectsOf(id)).toHaveLength(2);
    await expire(id);
    await deleteExpired();
    expect(objectsOf(id)).toEqual([]);
    expect(await rows('select 1 from gateway.files where id = $1', [id])).toEqual([]);
  });

  test('stays where it is when the setting changes, and takes no parts in Postgres [D14.255]', async () => {
    const content = pdf(100);
    const inPostgres = await upload(content, stack.url);
    const inStore = await upload(content);
    for (const { id } of [inPostgres, inStore]) expect((await download(id)).status).toBe(200);
    expect((await download(inPostgres.id, stack.url)).status).toBe(200);
    // Without the setting a file in the store is unavailable, not gone, and it does not keep the others.
    expect((await download(inStore.id, stack.url)).status).toBe(503);
    for (const { id } of [inPostgres, inStore]) await expire(id);
    await deleteExpired(stack.gateway);
    expect(await rows('select id from gateway.files where id in ($1, $2)', [inPostgres.id, inStore.id])).toEqual([
      { id: inStore.id },
    ]);
    expect(objectsOf(inStore.id)).toHaveLength(1);
    const part = `insert into gateway.file_parts (account_id, test_mode, file_id, part, bytes) values ($1, true, $2, 0, 'x')`;
    await expect(rows(part, [stack.accountId, inStore.id])).rejects.toThrow('takes no more parts');
    await deleteExpired();
    expect(objectsOf(inStore.id)).toEqual([]);
  });

  test('holds up no other when it expires and cannot be deleted, and a run tries three such files of a store [D14.255]', async () => {
    // Of its own: the gateways' jobs would delete them, too.
    const databases = await testDatabase(gatewayService);
    onTestFinished(() => databases.drop());
    const database = databases.open('gateway');
    const { account_id: accountId } = await createAccount(database, { name: 'A shop' });
    const tried: string[] = [];
    let failing = (_id: string) => true;
    const content = (name: 'postgres' | 's3') => ({
      name,
      remove: async (_scope: object, id: string) => {
        tried.push(id);
        if (failing(id)) throw new Error('The store is down');
      },
    });
    const logged: object[] = [];
    const job = deleteExpiredFiles({
      database,
      stores: { of: content } as unknown as ContentStores,
      logger: { error: (fields: object) => logged.push(fields) } as unknown as Logger,
    });
    const run = async () => {
      tried.length = 0;
      expect(await job.run(new AbortController().signal)).toBe(false);
      return tried.map((id) => id.slice('ffile_x'.length));
    };
    const [s3, postgres] = ['s3 1 2 3 4 5', 'postgres 6 7'].map((text) => text.split(' '));
    for (const [store, ...names] of [s3 ?? [], postgres ?? []]) {
      const ids = names.map((name) => `('ffile_x${name}', ${name})`).join(', ');
      await databases.admin(
        `insert into gateway.files (account_id, test_mode, id, created_at, expires_at, store)
         select $1, true, id, now() - interval '9 days', now() - interval '8 days' + n * interval '1 hour', $2 from (values ${ids}) v (id, n)`,
        [accountId, store],
      );
    }
    expect(await run()).toEqual(['6', '7', '1', '2', '3']);
    expect(logged).toMatchObject([{ store: 'postgres' }, { store: 's3' }]);
    failing = (id) => Number(id.slice(-1)) < 5;
    // Files of Postgres begin anew, those of the store go on where they ended.
    expect(await run()).toEqual(['6', '7', '4', '5']);
    expect(await databases.admin('select id from gateway.files order by id')).toEqual(
      [1, 2, 3, 4].map((n) => ({ id: `ffile_x${n}` })),
    );
    failing = () => false;
    expect(await run()).toEqual(['1', '2', '3', '4']);
  });

  test('is refused with 503 while the store does not take it, and leaves nothing [D14.255]', async () => {
    const away = createServer();
    away.listen(0, '127.0.0.1');
    await once(away, 'listening');
    const { port: closed } = away.address() as AddressInfo;
    away.close();
    const before = objects();
    for (const environment of [environmentOf(closed), environmentOf(port, 'another secret'.repeat(3))]) {
      const refused = await stack.another(environment);
      expect((await upload(pdf(100), refused.url)).status).toBe(503);
    }
    expect(objects()).toEqual(before);
    const kept = await upload(pdf(100));
    rmSync(join(home.root, 'eligo-files', stack.accountId), { recursive: true });
    // What someone else deleted ends the download, and is gone for the job, too.
    expect((await download(kept.id)).status).toBe(404);
    await expire(kept.id);
    await deleteExpired();
    expect(await rows('select 1 from gateway.files where id = $1', [kept.id])).toEqual([]);
  });
});

test('evidence is read from the first part that refunds does not have [D14.253]', async () => {
  const content = pdf(2_500_000);
  const { id } = await upload(content, stack.url);
  const postgres = postgresContent(stack.database);
  const read: number[] = [];
  const stores = contentStores(
    {
      ...postgres,
      read: (scope, fileId, part) => {
        read.push(part);
        return postgres.read(scope, fileId, part);
      },
    },
    undefined,
  );
  const given: { part: number; bytes: Uint8Array }[] = [];
  const refunds = {
    beginEvidence: async () => ({ files: [{ isUploaded: false, parts: 1 }] }),
    addEvidencePart: async (part: (typeof given)[number]) => given.push(part),
    uploadEvidence: async () => ({}),
  } as unknown as Parameters<typeof giveEvidence>[0];
  const files = { database: stack.database, stores, transfers: new Transfers() };
  const key = { accountId: stack.accountId, testMode: true } as Parameters<typeof giveEvidence>[2]['key'];
  await giveEvidence(refunds, files, { key, id: 'fdp_x', call: {} }, { receipt: id });
  expect(read).toEqual([1, 2]);
  expect(given.map(({ part }) => part)).toEqual([1, 2]);
  expect(Buffer.concat(given.map(({ bytes }) => bytes)).equals(content.subarray(1_048_576))).toBe(true);
});

test('the bucket and its key are configured together [D14.255]', () => {
  const problemsOf = (environment: Record<string, string>) => {
    const env = new EnvironmentReader({ ELIGO_ENV: 'test', ELIGO_PAGE_KEY: 'x'.repeat(40), ...environment });
    readGatewaySettings(env);
    try {
      env.assertSound();
    } catch (error) {
      return String(error);
    }
    return '';
  };
  const whole = environmentOf(9_000);
  expect(problemsOf(whole)).toBe('');
  const { ELIGO_FILES_S3_URL: _, ...keyAlone } = whole;
  expect(problemsOf(keyAlone)).toContain('ELIGO_FILES_S3_URL');
  expect(problemsOf({ ELIGO_FILES_S3_URL: whole.ELIGO_FILES_S3_URL })).toContain('ELIGO_FILES_S3_ACCESS_KEY_ID');
  for (const url of ['ftp://x/y', 'http://a:b@x/y', 'https://x/y?z', 'nowhere']) {
    expect(problemsOf({ ...whole, ELIGO_FILES_S3_URL: url })).toContain('must be the https URL of a bucket');
  }
  // A file crosses no network in plain text.
  const production = { ...whole, ELIGO_ENV: 'production' };
  const refused = 'ELIGO_FILES_S3_URL must be the https URL';
  expect(problemsOf(production)).not.toContain(refused);
  expect(problemsOf({ ...production, ELIGO_FILES_S3_URL: 'https://s3.example/b' })).not.toContain(refused);
  expect(problemsOf({ ...production, ELIGO_FILES_S3_URL: 'http://s3.example/b' })).toContain(refused);
  expect(problemsOf({ ...whole, ELIGO_FILES_S3_URL: 'http://s3.example/b' })).toBe('');
});

describe('a file that is given as evidence', () => {
  test('shares one deadline of 9.2 s with every other call of its request [D14.253]', async () => {
    const ids = [await uploadSmallFile(stack), await uploadSmallFile(stack)];
    const startedAt = performance.now();
    const left: [method: string, seconds: number][] = [];
    // Each call takes two seconds of the clock, and nothing else any time.
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => startedAt + left.length * 2_000);
    const takesTwoSeconds = (method: string, answer: object) =>
      stack.peers.answer(method, (_request, call) => {
        left.push([method, Math.round(call.timeoutMs()) / 1_000]);
        return answer;
      });
    takesTwoSeconds('beginEvidence', { files: ids.map(() => ({ isUploaded: false, parts: 1 })) });
    takesTwoSeconds('uploadEvidence', {});
    takesTwoSeconds('updateDispute', stack.peers.samples.dispute);
    try {
      const body = { dispute: { evidence: { receipt: ids[0], refund_policy: ids[1] } } };
      const path = `/v1/disputes/${stack.peers.samples.dispute.disputeId}`;
      expect(await stack.api.post(path, body)).toMatchObject({ status: 200 });
    } finally {
      clock.mockRestore();
      stack.peers.restore();
    }
    expect(left).toEqual([
      ['beginEvidence', 9.2],
      ['uploadEvidence', 7.2],
      ['uploadEvidence', 5.2],
      ['updateDispute', 3.2],
    ]);
  });
});

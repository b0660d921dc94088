import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { withTx } from '@eligo/postgres';
import { waitUntil } from '@eligo/testkit';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { Transfers } from '../src/files/transfers.ts';
import { createAccount, createKey } from '../src/index.ts';
import { form, type Part } from '../test-support/upload.ts';
import { fakeClamd } from './fake-clamd.ts';
import { openTestGateway, type TestGateway } from './open-test-gateway.ts';
import { securityHeaders } from './security-headers.ts';

let stack: TestGateway;

beforeAll(async () => {
  stack = await openTestGateway();
});

afterAll(() => stack?.stop());

// Whatever a test sends: no upload leaves a row that is not a whole file.
afterEach(async () => {
  await waitUntil(async () => (await rows("select 1 from gateway.files where state = 'receiving'")).length === 0);
  const stray = `select 1 from gateway.file_parts p where not exists (select from gateway.files f where f.id = p.file_id)`;
  expect(await rows(stray)).toEqual([]);
});

const rows = (sql: string, values: unknown[] = []) => stack.databases.admin<Record<string, unknown>>(sql, values);

const pdf = Buffer.from('%PDF-1.4\n%%EOF\n');
const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), randomBytes(100)]);
const jpeg = Buffer.concat([Buffer.from('ffd8ffe0', 'hex'), randomBytes(100)]);
const purpose: Part = { name: 'purpose', content: 'dispute_evidence' };
const filePart = (content: Uint8Array, more: Partial<Part> = {}): Part => ({
  ...{ name: 'file', filename: 'receipt', content },
  ...more,
});

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Record<string, unknown>;
}

async function upload(parts: readonly Part[], { url = stack.url, key = stack.api.key } = {}): Promise<Reply> {
  const { body, headers } = form(parts);
  const sent = { authorization: `Bearer ${key}`, ...headers };
  const answer = await fetch(`${url}/v1/files`, { method: 'POST', headers: sent, body });
  return { status: answer.status, headers: answer.headers, body: (await answer.json()) as Record<string, unknown> };
}

const fileOf = ({ body }: Reply) => body.file as Record<string, unknown>;
const refusedFor = (field: string, type: string) => ({
  status: 422,
  body: { detail: [expect.objectContaining({ loc: ['body', field], type })] },
});

function download(id: unknown, key = stack.api.key, method = 'GET') {
  return fetch(`${stack.url}/v1/files/${id}/content`, { method, headers: { authorization: `Bearer ${key}` } });
}

describe('an upload', () => {
  test.each([
    ['pdf', 'application/pdf', pdf, 'dispute_evidence'],
    ['png', 'image/png', png, 'dispute_evidence'],
    ['jpeg', 'image/jpeg', jpeg, 'account_requirement'],
  ])(
    'of a %s is read as it was, as an attachment [FILE-1, FILE-2, AUTH-3, D14.126]',
    async (type, media, content, use) => {
      const sent = [filePart(content, { filename: 'a/b/Beleg "ü".x', type: media }), { name: 'purpose', content: use }];
      const made = await upload(sent);
      expect(made).toMatchObject({ status: 200 });
      const file = fileOf(made);
      expect(file).toEqual({
        ...{ file_id: expect.stringMatching(/^ffile_/), purpose: use, type, size: content.length },
        ...{ filename: 'Beleg "ü".x', test_mode: true, created_at: expect.any(String), expires_at: expect.any(String) },
      });
      const days = (Date.parse(String(file.expires_at)) - Date.parse(String(file.created_at))) / 86_400_000;
      expect(Math.round(days)).toBe(365);
      expect((await stack.api.get(`/v1/files/${file.file_id}`)).body).toEqual({ file });
      const got = await download(file.file_id);
      expect(Buffer.from(await got.arrayBuffer())).toEqual(content);
      expect(Object.fromEntries(got.headers)).toMatchObject({
        ...securityHeaders,
        'content-type': media,
        'content-length': String(content.length),
        'content-disposition': `attachment; filename="Beleg ___.x"; filename*=UTF-8''Beleg%20%22%C3%BC%22.x`,
      });
      const head = await download(file.file_id, stack.api.key, 'HEAD');
      expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([
        ...[200, String(content.length), ''],
      ]);
    },
  );

  test('of 10,000,000 bytes is taken, and one byte more and 10.1 MB are 413, with and without a length [D14.126]', async () => {
    // Most chunks end in what looks like the end of a part at first.
    const filling = Buffer.concat([randomBytes(997), Buffer.from('\r\n--x'.repeat(10_000))]);
    const largest = Buffer.concat([pdf, Buffer.alloc(10_000_000 - pdf.length, filling)]);
    const own = await newKey();
    const made = await upload([purpose, filePart(largest)], { key: own });
    expect(fileOf(made)).toMatchObject({ size: 10_000_000 });
    const got = await download(fileOf(made).file_id, own);
    expect(Buffer.from(await got.arrayBuffer()).equals(largest)).toBe(true);
    for (const length of [10_000_001, 10_100_000]) {
      const key = await newKey();
      const { body, headers } = form([filePart(Buffer.concat([pdf, Buffer.alloc(length - pdf.length)])), purpose]);
      expect(await sendRaw(body, { ...headers, 'content-length': body.length }, key)).toMatchObject({ status: 413 });
      const chunked = await sendRaw(body, { ...headers, 'transfer-encoding': 'chunked' }, key);
      expect(chunked).toMatchObject({ status: 413, body: { code: 'file_too_large' } });
    }
  });

  test('of a small file with 10.1 MB before it, in a nameless part or after it is 413, and leaves nothing [D14.126]', async () => {
    const [before] = await rows('select count(*) from gateway.files');
    const { body, headers } = form([filePart(pdf), purpose]);
    const boundary = String(headers['content-type']).split('boundary=')[1];
    const nameless = `--${boundary}\r\nContent-Disposition: form-data\r\n\r\n`;
    const stuffing = Buffer.alloc(10_100_000, 'x');
    const key = await newKey();
    for (const pieces of [
      [stuffing, '\r\n', body],
      [nameless, stuffing, '\r\n', body],
      [body, stuffing],
    ]) {
      const sent = Buffer.concat(pieces.map((piece) => Buffer.from(piece)));
      const refused = await sendRaw(sent, { ...headers, 'transfer-encoding': 'chunked' }, key);
      expect(refused).toMatchObject({ status: 413, body: { code: 'file_too_large' } });
    }
    expect(await rows('select count(*) from gateway.files')).toEqual([before]);
  });

  test.each<[string, Part[], object]>([
    [
      'an image that says it is a PDF',
      [filePart(png, { type: 'application/pdf' }), purpose],
      refusedFor('file', 'file_type_mismatch'),
    ],
    [
      'a page that says it is a PDF',
      [filePart(Buffer.from('<html>'), { type: 'application/pdf' }), purpose],
      refusedFor('file', 'file_type_not_supported'),
    ],
    ['an empty file', [filePart(Buffer.alloc(0)), purpose], refusedFor('file', 'too_short')],
    ['no file', [purpose], refusedFor('file', 'missing')],
    ['two files', [filePart(pdf), filePart(pdf), purpose], refusedFor('file', 'too_long')],
    ['no purpose', [filePart(pdf)], refusedFor('purpose', 'missing')],
    ['another purpose', [filePart(pdf), { name: 'purpose', content: 'logo' }], refusedFor('purpose', 'invalid_value')],
    [
      'a purpose of 2 KiB',
      [filePart(pdf), { name: 'purpose', content: 'x'.repeat(2_000) }],
      refusedFor('purpose', 'too_long'),
    ],
    [
      'a time that has passed',
      [filePart(pdf), purpose, { name: 'expires_at', content: '2020-01-01' }],
      refusedFor('expires_at', 'invalid_time'),
    ],
    [
      'a time in a hundred years',
      [filePart(pdf), purpose, { name: 'expires_at', content: '2126-01-01' }],
      refusedFor('expires_at', 'invalid_time'),
    ],
    [
      'a card number as its name',
      [filePart(pdf, { filename: '4242424242424242' }), purpose],
      refusedFor('file', 'card_number_not_allowed'),
    ],
    ['a NUL in a field', [filePart(pdf), { name: 'purpose', content: 'a\0b' }], refusedFor('purpose', 'invalid_text')],
  ])('of %s is a 4xx that names the field, and leaves nothing [D14.126]', async (_what, parts, refusal) => {
    const [before] = await rows('select count(*) from gateway.files');
    expect(await upload(parts)).toMatchObject(refusal);
    expect(await rows('select count(*) from gateway.files')).toEqual([before]);
  });

  test('that is cut, also by the client in the middle of a part, is refused or forgotten, and leaves nothing [D14.126]', async () => {
    const { body, headers } = form([purpose, filePart(Buffer.concat([pdf, randomBytes(3_000_000)]))]);
    const cut = await sendRaw(body.slice(0, 2_500_000), { ...headers, 'transfer-encoding': 'chunked' });
    expect(cut).toMatchObject({ status: 400, body: { code: 'invalid_multipart' } });
    const gone = openUpload({ ...headers, 'content-length': body.length });
    gone.on('error', () => undefined);
    gone.write(body.slice(0, 2_500_000));
    await waitUntil(
      async () =>
        (
          await rows(
            "select 1 from gateway.file_parts p join gateway.files f on f.id = p.file_id and f.state = 'receiving'",
          )
        ).length === 2,
    );
    // While a client is slow its upload holds no transaction open. The gateway's jobs do, for a moment.
    const open =
      "select 1 from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'";
    await waitUntil(async () => (await rows(open)).length === 0, { what: 'no open transaction' });
    gone.destroy();
  });

  test('waits for no slow one: a fifth at once of an account, and a seventeenth of all, are 429, and four more accounts are served [D14.126]', async () => {
    const keys = await Promise.all(Array.from({ length: 4 }, newKey));
    const { body, headers } = form([purpose, filePart(pdf)]);
    const open: ClientRequest[] = [];
    const hold = async (key: string) => {
      // A key that was seen a moment ago is known at once, so that an upload counts when its client is told to continue.
      await download('none', key);
      const slow = openUpload({ ...headers, 'content-length': body.length, expect: '100-continue' }, key);
      await once(slow, 'continue');
      slow.write(body.slice(0, 100));
      open.push(slow);
    };
    for (const key of keys) for (let at = 0; at < 4; at++) await hold(key);
    const fifth = await upload([purpose, filePart(pdf)], { key: keys[0] ?? '' });
    expect(fifth).toMatchObject({ status: 429, body: { code: 'too_many_file_transfers' } });
    expect(fifth.headers.get('retry-after')).toBe('1');
    expect(await upload([purpose, filePart(pdf)])).toMatchObject({ status: 429 });
    const answers = open.map(async (slow) => {
      const answered = once(slow, 'response') as Promise<[IncomingMessage]>;
      slow.end(body.slice(100));
      const [reply] = await answered;
      reply.resume();
      return reply.statusCode;
    });
    expect(await Promise.all(answers)).toEqual(open.map(() => 200));
    expect(await upload([purpose, filePart(pdf)])).toMatchObject({ status: 200 });
  });

  test('counts its bytes for its account, as its download does [D14.126]', async () => {
    const moved: Record<string, number> = {};
    const { begin } = Transfers.prototype;
    const begun = vi.spyOn(Transfers.prototype, 'begin').mockImplementation(function (this: Transfers, accountId) {
      const transfer = begin.call(this, accountId);
      return {
        ...transfer,
        moved(bytes) {
          moved[accountId] = (moved[accountId] ?? 0) + bytes;
          transfer.moved(bytes);
        },
      };
    });
    onTestFinished(() => begun.mockRestore());
    const content = Buffer.concat([pdf, randomBytes(2_500_000)]);
    const { file_id: id } = fileOf(await upload([purpose, filePart(content)]));
    expect(moved).toEqual({ [stack.accountId]: content.length });
    expect((await (await download(id)).arrayBuffer()).byteLength).toBe(content.length);
    expect(moved).toEqual({ [stack.accountId]: 2 * content.length });
  });

  test('of a hundred at once each ends as a whole file or a 429 that says when to come again [D14.126]', async () => {
    const content = Buffer.concat([pdf, randomBytes(1_500_000)]);
    const key = await newKey();
    const answers = await Promise.all(Array.from({ length: 100 }, () => upload([purpose, filePart(content)], { key })));
    const taken = answers.filter(({ status }) => status === 200);
    expect(taken.length).toBeGreaterThan(0);
    const refused = answers.filter((answer) => !taken.includes(answer));
    expect(refused.every(({ headers }) => Number(headers.get('retry-after')) >= 1)).toBe(true);
    expect(refused.map(({ status }) => status)).toContain(429);
    // 503: a busy machine had no connection to the database within two seconds.
    for (const { status } of refused) expect([429, 503]).toContain(status);
    expect(refused.filter(({ status }) => status === 503).length).toBeLessThan(10);
    for (const reply of taken) {
      // Once the account may move as much again.
      const got = await waitUntil(
        async () => {
          const asked = await download(fileOf(reply).file_id, key);
          return asked.status === 429 ? undefined : asked;
        },
        { what: 'a download within the limit' },
      );
      expect(Buffer.from(await got.arrayBuffer()).equals(content)).toBe(true);
    }
  });
});

describe('a stored file', () => {
  test('is read by its account in its mode alone, and by a key that may read files [FILE-2, AUTH-3, D14.126]', async () => {
    const id = fileOf(await upload([purpose, filePart(pdf)])).file_id;
    const stranger = await createAccount(stack.database, { name: 'A stranger' });
    const foreign = await createKey(stack.database, { accountId: stranger.account_id, testMode: true });
    const live = await stack.newApi({ testMode: false });
    for (const key of [foreign.api_key, live.key]) expect((await download(id, key)).status).toBe(404);
    const reader = await stack.newApi({ scopes: ['files:read'] });
    expect((await download(id, reader.key)).status).toBe(200);
    expect(await upload([purpose, filePart(pdf)], { key: reader.key })).toMatchObject({ status: 403 });
    const other = await stack.newApi({ scopes: ['files_write', 'refunds_read'] });
    for (const path of [`/v1/files/${id}`, `/v1/files/${id}/content`]) expect((await other.get(path)).status).toBe(403);
  });

  test('is gone when its time is over: no read finds it, and the job deletes it and its share of the quota [D14.126]', async () => {
    const [before] = await usage();
    const expires_at = new Date(Date.now() + 2 * 3_600_000).toISOString();
    const id = fileOf(await upload([purpose, { name: 'expires_at', content: expires_at }, filePart(pdf)])).file_id;
    await withoutGuards(
      "update gateway.files set created_at = now() - interval '2 days', expires_at = now() - interval '1 day' where id = $1",
      [id],
    );
    expect(await stack.api.get(`/v1/files/${id}`)).toMatchObject({ status: 404, body: { code: 'file_not_found' } });
    expect((await download(id)).status).toBe(404);
    await stack.gateway.service.jobs.runOnce('delete_expired_files');
    expect(await rows('select 1 from gateway.files where id = $1', [id])).toEqual([]);
    expect(await rows('select 1 from gateway.file_parts where file_id = $1', [id])).toEqual([]);
    expect(await usage()).toEqual([before]);
  });

  test('counts against the account’s quota, which the database alone refuses to exceed: 409 [D14.126]', async () => {
    await withoutGuards('update gateway.file_usage set bytes = 9999999990 where account_id = $1', [stack.accountId]);
    expect(await upload([purpose, filePart(pdf)])).toMatchObject({ status: 409, body: { code: 'file_storage_full' } });
    const counted = `update gateway.file_usage u set bytes = (select sum(size_bytes) from gateway.files f where f.account_id = u.account_id)`;
    await withoutGuards(counted, []);
    expect(await upload([purpose, filePart(pdf)])).toMatchObject({ status: 200 });
  });

  test('never changes, and is the sum of its parts, whatever the code does [D14.126]', async () => {
    const id = String(fileOf(await upload([purpose, filePart(pdf)])).file_id);
    const scope = { accountId: stack.accountId, testMode: true };
    const run = (sql: string) =>
      withTx(stack.database, scope, (tx) =>
        tx.execute({ kind: 'unscoped', name: `test.${sql.slice(0, 30)}`, text: sql }, null),
      );
    const columns = '(account_id, test_mode, file_id, part, bytes)';
    const part = (at: number) =>
      `insert into file_parts ${columns} select '${stack.accountId}', true, '${id}', ${at}, 'x'`;
    await expect(run(part(1))).rejects.toThrow('takes no more parts');
    await expect(run(`update files set filename = 'other' where id = '${id}'`)).rejects.toThrow('is stored');
    await expect(run(`delete from file_parts where file_id = '${id}'`)).rejects.toThrow('permission denied');
    await expect(run(`update file_parts set bytes = 'x' where file_id = '${id}'`)).rejects.toThrow('permission denied');
    const begun = `insert into files (account_id, test_mode, id, expires_at) values ('${stack.accountId}', true, 'ffile_x', now() + interval '1 hour')`;
    const stored =
      "update files set state = 'stored', purpose = 'dispute_evidence', filename = 'a', type = 'pdf', size_bytes = 5 where id = 'ffile_x'";
    await run(begun);
    await expect(run(stored)).rejects.toThrow('not all there');
    await run("delete from files where id = 'ffile_x'");
  });
});

describe('with a virus scanner', () => {
  test('a file that it names is refused, a clean one is kept, and without a verdict the answer is 503 [D14.127]', async () => {
    const scanner = await fakeClamd();
    const scanned = await stack.another({ ELIGO_FILE_SCANNER: `tcp://127.0.0.1:${scanner.port}` });
    const to = { url: scanned.url };
    const large = Buffer.concat([pdf, randomBytes(3_000_000)]);
    try {
      expect(await upload([purpose, filePart(large)], to)).toMatchObject({ status: 200 });
      expect(scanner.seen.at(-1)?.equals(large)).toBe(true);
      const infected = Buffer.concat([pdf, Buffer.from('EICAR')]);
      expect(await upload([purpose, filePart(infected)], to)).toMatchObject(refusedFor('file', 'file_infected'));
      for (const how of ['hang up', 'nonsense', 'size limit'] as const) {
        scanner.answer = how;
        const reply = await upload([purpose, filePart(large)], to);
        expect(reply, how).toMatchObject({ status: 503, body: { code: 'service_unavailable' } });
      }
      await scanner.close();
      expect(await upload([purpose, filePart(pdf)], to)).toMatchObject({ status: 503 });
    } finally {
      await scanner.close();
    }
  });
});

// The bytes that an account may move count for all of its keys.
async function newKey(): Promise<string> {
  const { account_id: accountId } = await createAccount(stack.database, { name: 'Another shop' });
  return (await createKey(stack.database, { accountId, testMode: true, rateLimit: 0 })).api_key;
}

const usage = () => rows('select files, bytes from gateway.file_usage where account_id = $1', [stack.accountId]);

async function withoutGuards(sql: string, values: unknown[]): Promise<void> {
  const literal = values.map((value) => `'${String(value)}'`);
  const text = sql.replace(/\$(\d+)/g, (_, at: string) => literal[Number(at) - 1] ?? '');
  await rows(`do $do$ begin set local session_replication_role = replica; ${text}; end $do$`);
}

function openUpload(headers: Record<string, string | number>, key = stack.api.key): ClientRequest {
  // A connection that the server closes after a refusal is not used again.
  return httpRequest(`${stack.url}/v1/files`, {
    method: 'POST',
    agent: false,
    headers: { ...headers, authorization: `Bearer ${key}` },
  });
}

// By hand, because fetch gives up when the server answers before it has taken the body.
async function sendRaw(body: Uint8Array, headers: Record<string, string | number>, key?: string) {
  const sent = openUpload(headers, key);
  sent.on('error', () => undefined);
  const answered = once(sent, 'response') as Promise<[IncomingMessage]>;
  sent.end(body);
  const [reply] = await answered;
  const text = (await buffer(reply)).toString();
  return { status: reply.statusCode, body: JSON.parse(text) as Record<string, unknown> };
}

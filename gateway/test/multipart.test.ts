import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type FormPart, formHeadersOf, readMultipart } from '../src/http/multipart.ts';

interface Read {
  readonly name: string;
  readonly filename: string | undefined;
  readonly type: string;
  readonly content: Buffer;
}

async function read(bytes: Buffer, boundary: string, cuts: readonly number[] = []): Promise<Read[]> {
  const parts: Read[] = [];
  const headers = formHeadersOf({ 'content-type': `multipart/form-data; boundary=${boundary}` });
  for await (const { name, filename, type, body } of readMultipart(chunksOf(bytes, cuts), headers)) {
    const chunks: Buffer[] = [];
    for await (const chunk of body) chunks.push(chunk);
    parts.push({ name, filename, type, content: Buffer.concat(chunks) });
  }
  return parts;
}

async function* chunksOf(bytes: Buffer, cuts: readonly number[]): AsyncGenerator<Buffer> {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  for (const [at, from] of places.slice(0, -1).entries()) yield bytes.subarray(from, places[at + 1]);
}

test('a form that a browser’s own FormData writes is read as it was, however its bytes are cut into chunks', async () => {
  const content = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    // What looks like a boundary and is none.
    fc
      .constantFrom('\r\n', '\r\n--', '\r\n------formdata', '--', '\r')
      .map((text) => new Uint8Array(Buffer.from(text))),
  );
  const file = fc.record({ content, name: fc.constantFrom('receipt.pdf', 'ü "x".png', 'a\\b') });
  await fc.assert(
    fc.asyncProperty(fc.array(fc.nat(2_000), { maxLength: 12 }), file, fc.string(), async (cuts, sent, text) => {
      const form = new FormData();
      form.append('purpose', text);
      form.append('file', new Blob([new Uint8Array(sent.content)], { type: 'application/pdf' }), sent.name);
      const encoded = new Response(form);
      const boundary = (encoded.headers.get('content-type') ?? '').split('boundary=')[1] ?? '';
      const parts = await read(Buffer.from(await encoded.arrayBuffer()), boundary, cuts);
      expect(parts).toEqual([
        { name: 'purpose', filename: undefined, type: 'text/plain', content: expect.any(Buffer) },
        { name: 'file', filename: sent.name, type: 'application/pdf', content: Buffer.from(sent.content) },
      ]);
      // FormData makes CR LF of every line's end.
      const lines = text.toWellFormed().replace(/\r\n|\r|\n/g, '\r\n');
      expect(parts[0]?.content.toString()).toBe(lines);
    }),
    { numRuns: 300 },
  );
});

const good = '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n--b--\r\n';

test('a preamble, an epilogue and a filename in RFC 8187 are read', async () => {
  const form =
    "preamble\r\n--b\r\ncontent-disposition: FORM-DATA; name=a; filename*=UTF-8''%C3%BC.pdf\r\n" +
    'CONTENT-TYPE: Image/PNG; x=y\r\n\r\n\r\n--b--\r\nepilogue';
  expect(await read(Buffer.from(form), 'b')).toEqual([
    { name: 'a', filename: 'ü.pdf', type: 'image/png', content: Buffer.alloc(0) },
  ]);
  expect(await read(Buffer.from(good), 'b')).toHaveLength(1);
});

test.each([
  ['an empty body', ''],
  ['a body without a boundary', 'nothing'],
  ['a body that breaks off in a part', good.slice(0, -8)],
  ['a body that breaks off after its last part', good.slice(0, -4)],
  ['a part without a name', good.replace('; name="a"', '')],
  ['a part without headers', '--b\r\n\r\nx\r\n--b--'],
  ['a transfer encoding', good.replace('\r\n\r\n', '\r\nContent-Transfer-Encoding: base64\r\n\r\n')],
  ['headers of 5 KiB', good.replace('form-data', `${'x'.repeat(5_000)}form-data`)],
  ['blanks after a boundary', good.replace('--b', '--b \t')],
  ['eleven parts', `${good.slice(0, -7).repeat(11)}--b--`],
])('%s is no form: 400 invalid_multipart', async (_what, bytes) => {
  await expect(read(Buffer.from(bytes), 'b')).rejects.toMatchObject({ code: 'invalid_multipart' });
});

test('a Content-Type that is no form, and a form without a sound boundary, are refused before the body is read', () => {
  for (const type of ['application/json', '', 'multipart/mixed; boundary=b', 'multipart/form-datax; boundary=b']) {
    expect(() => formHeadersOf({ 'content-type': type })).toThrow('unsupported_media_type');
  }
  for (const boundary of ['', '; boundary=', `; boundary=${'x'.repeat(71)}`, '; boundary="a\u00fc"']) {
    expect(() => formHeadersOf({ 'content-type': `multipart/form-data${boundary}` })).toThrow('invalid_multipart');
  }
  const gzipped = { 'content-type': 'multipart/form-data; boundary=b', 'content-encoding': 'gzip' };
  expect(() => formHeadersOf(gzipped)).toThrow('unsupported_media_type');
});

test('a body that fails in the middle of a part ends that part with 400 invalid_multipart', async () => {
  const chunks = (async function* () {
    yield Buffer.from('--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nhalf of');
    throw new Error('The client is gone');
  })();
  const read = async () => {
    for await (const { body } of readMultipart(
      chunks,
      formHeadersOf({ 'content-type': 'multipart/form-data; boundary=b' }),
    )) {
      for await (const chunk of body) expect(chunk.length).toBeGreaterThan(0);
    }
  };
  await expect(read()).rejects.toMatchObject({ code: 'invalid_multipart' });
});

test('a part that is not read holds the body back, and what is left of a form that is given up is read off', async () => {
  const piece = Buffer.alloc(65_536, 'x');
  let given = 0;
  const chunks = (async function* () {
    yield Buffer.from('--b\r\nContent-Disposition: form-data; name="a"; filename="a"\r\n\r\n');
    for (; given < 160; given++) yield piece;
    yield Buffer.from('\r\n--b--\r\n');
  })();
  const parts = readMultipart(chunks, formHeadersOf({ 'content-type': 'multipart/form-data; boundary=b' }));
  const { value: part } = await parts.next();
  await new Promise((resolve) => setImmediate(resolve));
  expect(given).toBeLessThan(5);
  for await (const chunk of (part as FormPart).body) if (chunk.length > 0) break;
  await parts.return(undefined);
  await expect.poll(() => given).toBe(160);
});

const fileHeaders = '--b\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n%PDF-1.4\r\n--b';
const purposeHeaders = '\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nx';

test.each([
  ['that is not read yet', ['preamble\r\n', fileHeaders, purposeHeaders]],
  ['whose headers come with the end of the part before', [`${fileHeaders}${purposeHeaders}`]],
  ['that is the only one', [fileHeaders.replace('%PDF-1.4\r\n--b', 'half of it')]],
])(
  'a body that breaks off in a part %s is invalid_multipart, also when its reader waits [D14.126]',
  async (_what, pieces) => {
    const headers = formHeadersOf({ 'content-type': 'multipart/form-data; boundary=b' });
    const unheard: unknown[] = [];
    const hear = (error: unknown) => unheard.push(error);
    process.on('uncaughtException', hear);
    try {
      for (const waits of [false, true]) {
        let ended: () => void = () => undefined;
        const end = new Promise<void>((resolve) => {
          ended = resolve;
        });
        const chunks = (async function* () {
          for (const piece of pieces) yield Buffer.from(piece);
          ended();
        })();
        const readAll = async () => {
          for await (const { body } of readMultipart(chunks, headers)) {
            // Until the form has failed: two turns of the event loop after its last chunk.
            if (waits) await end.then(turn).then(turn);
            for await (const chunk of body) expect(chunk.length).toBeGreaterThan(0);
          }
        };
        await expect(readAll()).rejects.toMatchObject({ code: 'invalid_multipart' });
        await turn();
      }
      expect(unheard).toEqual([]);
    } finally {
      process.off('uncaughtException', hear);
    }
  },
);

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

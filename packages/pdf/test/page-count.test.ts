import { deflateSync } from 'node:zlib';
import PDFDocument from 'pdfkit';
import { describe, expect, it } from 'vitest';
import { countPdfPages } from '../src/page-count.ts';

function written(pages: number, options: PDFKit.PDFDocumentOptions = {}): Promise<Buffer> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    const pdf = new PDFDocument({ ...options, autoFirstPage: false });
    pdf.on('data', (part: Buffer) => parts.push(part));
    pdf.on('end', () => resolve(Buffer.concat(parts)));
    for (let page = 1; page <= pages; page++) pdf.addPage().text(`Page ${page} of stream and endobj 7 0 obj`);
    pdf.end();
  });
}

const text = (...lines: string[]) => Buffer.from(['%PDF-1.7', ...lines, '%%EOF'].join('\n'), 'latin1');
const catalog = '1 0 obj <</Type /Catalog /Pages 2 0 R>> endobj';
const trailer = 'trailer <</Root 1 0 R /Size 9>> startxref 0';
const page = (number: number) => `${number} 0 obj <</Type/Page /Parent 2 0 R>> endobj`;

/** The catalog, the tree and two pages in a compressed object stream, as newer writers do. */
function compressed(content = Buffer.from('')): Buffer {
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    '<</Type/Pages/Count 2/Kids[3 0 R 4 0 R]>>',
    '<</Type/Page>>',
    '<</Type/Page>>',
  ];
  let at = 0;
  const header = objects.map((object, index) => {
    const entry = `${index + 1} ${at}`;
    at += object.length + 1;
    return entry;
  });
  const first = `${header.join(' ')} `;
  const data = deflateSync(Buffer.concat([Buffer.from(first + objects.join('\n')), content]));
  return Buffer.concat([
    Buffer.from(
      `%PDF-1.7\n9 0 obj <</Type/ObjStm/N 4/First ${first.length}/Filter/FlateDecode/Length ${data.length}>> stream\n`,
    ),
    ...[
      data,
      Buffer.from('\nendstream endobj\n10 0 obj <</Type/XRef/Root 1 0 R/Length 0>> stream\n\nendstream endobj\n%%EOF'),
    ],
  ]);
}

describe('the pages of a PDF', () => {
  it('are counted as a writer made them, and no further than asked [D14.254]', async () => {
    expect(await countPdfPages(await written(1), 50)).toBe(1);
    expect(await countPdfPages(await written(50, { compress: false }), 50)).toBe(50);
    expect(await countPdfPages(await written(300), 50)).toBe(51);
  });

  it.each([
    ['in an object stream', compressed(), 2],
    [
      'of a tree of trees',
      text(
        catalog,
        '2 0 obj <</Type/Pages/Kids[3 0 R 5 0 R]>> endobj',
        '5 0 obj <</Kids 7 0 R/Type /Pages>> endobj',
        '7 0 obj [4 0 R 6 0 R] endobj',
        ...[3, 4, 6].map(page),
        trailer,
      ),
      3,
    ],
    [
      'that an update replaced',
      text(
        catalog,
        '2 0 obj <</Type/Pages/Kids[3 0 R 4 0 R]>> endobj',
        page(3),
        page(4),
        trailer,
        '2 0 obj <</Type/Pages/Kids[3 0 R]>> endobj',
        trailer,
      ),
      1,
    ],
    [
      'beside an attached PDF',
      text(
        catalog,
        '2 0 obj <</Type/Pages/Kids[3 0 R]>> endobj',
        page(3),
        '8 0 obj <</Length 9 0 R>> stream\n2 0 obj <</Type/Pages/Kids[3 0 R 4 0 R]>> endobj\nendstream endobj',
        '9 0 obj 49 endobj',
        page(4),
        trailer,
      ),
      1,
    ],
    ['whose table of contents is gone', text(catalog, '2 0 obj <</Type/Pages/Kids[3 0 R]>> endobj', page(3)), 1],
    [
      'that name each other in a circle',
      text(catalog, '2 0 obj <</Type/Pages/Kids[2 0 R 3 0 R]>> endobj', page(3), trailer),
      1,
    ],
  ])('%s are counted [D14.254]', async (_what, bytes, count) => {
    expect(await countPdfPages(bytes, 50)).toBe(count);
  });

  it('of an encrypted or broken file are not counted [D14.254]', async () => {
    expect(await countPdfPages(await written(1, { userPassword: 'secret' }), 50)).toBe('encrypted');
    for (const broken of [
      text('nothing'),
      text(catalog, trailer),
      Buffer.from('a text'),
      Buffer.alloc(0),
      (await written(3)).subarray(0, 200),
    ]) {
      expect(await countPdfPages(broken, 50)).toBe('unreadable');
    }
  });

  it('take bounded work, whatever the bytes are [D14.254]', async () => {
    const size = 4_500_000;
    const filled = (text: string) => Buffer.from(`%PDF-1.7\n${text.repeat(Math.ceil(size / text.length))}`);
    const nodes = Array.from({ length: 90_000 }, (_, n) => `${n + 10} 0 obj <</Kids 9 0 R>> endobj`);
    const hostile = [
      ...[
        '1',
        '1 0 obj ',
        '1 0 obj endobj ',
        'stream\n',
        '1 0 obj <<>> stream\n',
        'trailer ',
        '/Kids [',
        '1 0 obj <</Length 2 0 R>> stream\nendstream ',
      ].map(filled),
      text(
        catalog,
        '2 0 obj <</Kids 9 0 R>> endobj',
        ...nodes,
        `9 0 obj [${nodes.map((_, n) => `${n + 10} 0 R`).join(' ')}] endobj`,
        trailer,
      ),
      compressed(Buffer.alloc(40_000_000)),
    ];
    for (const bytes of hostile) {
      const before = process.cpuUsage();
      expect(await countPdfPages(bytes, 50)).toBe('unreadable');
      // Some 100 ms; microseconds.
      expect(process.cpuUsage(before).user).toBeLessThan(3_000_000);
    }
  });
});

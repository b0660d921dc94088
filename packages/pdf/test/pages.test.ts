import { expect, test } from 'vitest';
import { openPdf } from '../src/index.ts';
import { textOfPdf } from '../test-support/text-of.ts';

async function written(rows: readonly (readonly [string, string])[]): Promise<Buffer> {
  const pages = await openPdf({ title: 'Rows', createdAt: new Date(0) });
  for (const [name, value] of rows) pages.row(name, value);
  return pages.end();
}

const pageCount = (pdf: Buffer) => pdf.toString('latin1').match(/\/Type \/Page\n/g)?.length;

test('a row stays on one page with its value, and a document has no page that is nearly empty', async () => {
  const rows = Array.from({ length: 60 }, (_, at) => [`item ${at}\nits second line`, `$${at}.00`] as const);
  const pdf = await written(rows);
  expect(pageCount(pdf)).toBe(3);
  const lines = textOfPdf(pdf).split('\n').filter(Boolean);
  expect(lines.join(' ')).toContain('$59.00 item 59 its second line');
});

test('a row that is longer than a page goes on, and what no standard font has is a question mark', async () => {
  const text = textOfPdf(
    await written([
      ['x\n'.repeat(120), '漢'],
      ['the last', '$1.00'],
    ]),
  );
  expect(text).toContain('?');
  expect(text).toContain('the last');
});

test('the same content gives the same bytes', async () => {
  const [one, other] = [await written([['a', 'b']]), await written([['a', 'b']])];
  expect(one.equals(other)).toBe(true);
});

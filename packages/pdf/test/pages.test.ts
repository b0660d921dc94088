import { expect, test } from 'vitest';
import { openPdf } from '../src/index.ts';
import { textOfPdf } from '../test-support/text-of.ts';

async function written(rows: readonly (readonly [string | readonly string[], string])[]): Promise<Buffer> {
  const pages = await openPdf({ title: 'Rows', createdAt: new Date(0) });
  for (const [name, value] of rows) pages.row(name, value);
  return pages.end();
}

const pageCount = (pdf: Buffer) => pdf.toString('latin1').match(/\/Type \/Page\n/g)?.length;

test('a row stays on one page with its value, and a document has no page that is nearly empty', async () => {
  const rows = Array.from({ length: 60 }, (_, at) => [[`item ${at}`, 'its second line'], `$${at}.00`] as const);
  const pdf = await written(rows);
  expect(pageCount(pdf)).toBe(3);
  const lines = textOfPdf(pdf).split('\n').filter(Boolean);
  expect(lines.join(' ')).toContain('$59.00 item 59 its second line');
});

test('a row that is longer than a page goes on', async () => {
  const text = textOfPdf(
    await written([
      [Array.from({ length: 120 }, () => 'x'), 'Ø'],
      ['the last', '$1.00'],
    ]),
  );
  expect(text).toContain('Ø');
  expect(text).toContain('the last');
});

test.each([
  'Nguyễn Thị Hồng',
  // As some keyboards write it: letters and their marks apart.
  'Nguyễn'.normalize('NFD'),
  'Żółć Šimůnek Őze Ţiriac',
  'Дмитрий Щербаков',
  'Ιωάννης Παπαδόπουλος',
  'Արամ გიორგი',
])('shows %s, in a title, a heading, a text and a row, and embeds only what it uses [D14.377]', async (name) => {
  const pages = await openPdf({ title: name, createdAt: new Date(0) });
  pages.title(name);
  pages.heading(name);
  pages.text(name);
  pages.row(name, name);
  const pdf = await pages.end();
  const text = textOfPdf(pdf).replaceAll(/\s/g, '');
  expect(text.split(name.normalize('NFC').replaceAll(' ', '')).length - 1).toBe(5);
  expect(text).not.toContain('?');
  expect(pdf.length).toBeLessThan(40_000);
});

test.each(['王小明', 'محمد', 'דוד', '한글'])(
  'shows question marks for %s, which its fonts cannot write, and says so at the end [D14.377]',
  async (name) => {
    const text = textOfPdf(await written([[`Purchased by ${name} Nguyễn`, '']]));
    expect(text).toContain(`Purchased by ${'?'.repeat([...name].length)} Nguyễn`);
    expect(text).toContain('A question mark may stand for a character that this PDF cannot show.');
  },
);

test.each(['Ж', 'x', '王', '\n', 'Ж\n', '-', '😀', '𠀀'])(
  'cuts a word of 65,536 of %j, which takes no time and no pages [D14.377]',
  async (character) => {
    const word = character.repeat(65_536 / character.length);
    const pages = await openPdf({ title: word, createdAt: new Date(0) });
    pages.title(word);
    pages.heading(word);
    pages.text(word);
    pages.row([word, word], word);
    pages.text('the end');
    const pdf = await pages.end();
    expect(pageCount(pdf)).toBeLessThanOrEqual(4);
    expect(textOfPdf(pdf)).toContain('the end');
  },
  20_000,
);

test('cuts what has more than 500 characters, and a quote only at 10,000 [D14.377]', async () => {
  const pages = await openPdf({ title: 'Cuts', createdAt: new Date(0) });
  pages.text(`${'a '.repeat(249)}bc`);
  pages.text(`${'d '.repeat(249)}ef.`);
  pages.quote(`${'g '.repeat(4_000)}\n${'h'.repeat(1_000)}.`);
  pages.quote('𠀀'.repeat(10_001));
  const text = textOfPdf(await pages.end()).replaceAll(/\s/g, '');
  // The standard fonts write an ellipsis as the byte 0x85.
  expect(text).toContain('abcd');
  expect(text).toContain('de\x85|g');
  expect(text).toContain(`g|${'h'.repeat(1_000)}.`);
  expect(text.split('?').length - 1).toBeGreaterThanOrEqual(9_999);
});

test('writes line breaks in a text as spaces, so that no name adds a line [D14.377]', async () => {
  const pdf = await written([['Bandage\nTotal', '$1.00']]);
  expect(textOfPdf(pdf)).toContain('Bandage Total');
});

test('has no embedded font, and no note, where the standard fonts have each character [D14.377]', async () => {
  const pdf = await written([['Zoë Müller – 5 € ?', '$1.00']]);
  expect(pdf.toString('latin1')).not.toContain('FontFile2');
  expect(textOfPdf(pdf)).not.toContain('A question mark');
});

test('the same content gives the same bytes', async () => {
  for (const name of ['a', 'Nguyễn e', 'e', '王']) {
    const [one, other] = [await written([[name, 'b']]), await written([[name, 'b']])];
    expect(one.equals(other)).toBe(true);
  }
});

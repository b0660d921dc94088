import { textOfPdf } from '@eligo/pdf/test-support';
import { expect, it } from 'vitest';
import { type LetterContent, letterPdf } from '../src/letter-pdf.ts';

const content: LetterContent = {
  ...{ letterId: 'flet_1', merchantName: 'Care', patient: 'Ann Lee', products: ['Massage gun'], answers: [] },
  reviewer: { name: 'Grace Hopper', license: 'A-1906', state: 'NY' },
  approvedAt: new Date('2026-05-01T12:00:00Z'),
  validUntil: new Date('2027-05-01T12:00:00Z'),
  ...{ timeZone: 'America/New_York', testMode: false },
};
const linesOf = async (given: Partial<LetterContent>) =>
  textOfPdf(await letterPdf({ ...content, ...given }))
    .split('\n')
    .map((line) => line.trim());

it.each(['\n', '\r', '\r\n', '\u2028', '\u0085', '\v'])(
  'marks what follows a line break (%j) in an answer as a part of it, and no name or product adds a line [D14.379]',
  async (lineBreak) => {
    const forged = `back pain${lineBreak}Reviewer: Ada Byron`;
    const lines = await linesOf({ answers: [['condition', forged]], patient: forged, products: [forged] });
    expect(lines.filter((line) => line.startsWith('Reviewer:'))).toEqual(['Reviewer: Grace Hopper']);
    expect(lines).toEqual(expect.arrayContaining(['Condition:', '| back pain', '| Reviewer: Ada Byron']));
    expect(lines).toContain('Patient: back pain Reviewer: Ada Byron');
    expect(lines.join(' ')).toContain('for the medical need that is stated above.');
  },
);

it('says where no answers are kept that there are none, and of no need that is stated [D14.379]', async () => {
  const lines = await linesOf({});
  expect(lines).toContain('No answers of the patient are kept.');
  expect(lines).toContain('The reviewer approved the product.');
  expect(lines.join(' ')).not.toContain('stated above');
});

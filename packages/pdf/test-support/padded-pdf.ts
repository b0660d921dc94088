import { randomBytes } from 'node:crypto';

/** A PDF of so many pages and exactly so many bytes; the bytes that no page needs are random. */
export function paddedPdf(size: number, pages = 1): Buffer {
  const numbers = Array.from({ length: pages }, (_, page) => page + 4);
  const begin = [
    '%PDF-1.7',
    '1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj',
    `2 0 obj <</Type/Pages/Count ${pages}/Kids[${numbers.map((number) => `${number} 0 R`).join(' ')}]>> endobj`,
    ...numbers.map((number) => `${number} 0 obj <</Type/Page/Parent 2 0 R>> endobj`),
    '3 0 obj <</Length 0000000>> stream\n',
  ].join('\n');
  const end = '\nendstream endobj\ntrailer <</Root 1 0 R>>\nstartxref 0\n%%EOF';
  const left = size - begin.length - end.length;
  if (left < 0) throw new Error(`A PDF of ${pages} pages has more than ${size} bytes`);
  return Buffer.concat([
    Buffer.from(begin.replace('0000000', String(left).padStart(7, '0'))),
    randomBytes(left),
    Buffer.from(end),
  ]);
}

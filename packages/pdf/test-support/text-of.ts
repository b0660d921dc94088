import { inflateSync } from 'node:zlib';

/** The text of a PDF in the standard fonts. */
export function textOfPdf(pdf: Buffer): string {
  const streams = [...pdf.toString('latin1').matchAll(/stream\n([\s\S]*?)\nendstream/g)].map(([, data = '']) => {
    const bytes = Buffer.from(data, 'latin1');
    return bytes[0] === 0x78 ? inflateSync(bytes).toString('latin1') : data;
  });
  return streams
    .join('\n')
    .split('\n')
    .map((line) =>
      [...line.matchAll(/<([0-9a-f]+)>/g)].map(([, hex = '']) => Buffer.from(hex, 'hex').toString('latin1')).join(''),
    )
    .join('\n');
}

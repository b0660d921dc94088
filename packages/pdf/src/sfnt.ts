import { inflateSync } from 'node:zlib';

const directoryAt = 44;
const entryLength = 20;

/**
 * The font of a WOFF file as it is without compression (W3C, WOFF 1.0). fontkit reads WOFF, but inflates the table of all glyphs again for each of them: a
 * document took 1.8 s. The file is one of a package, whose hash npm has checked.
 */
export function sfntOf(woff: Buffer): Buffer {
  const count = woff.readUInt16BE(12);
  const header = Buffer.alloc(12 + count * 16);
  woff.copy(header, 0, 4, 8);
  header.writeUInt16BE(count, 4);
  const parts = [header];
  let length = header.length;
  for (let index = 0; index < count; index++) {
    const at = directoryAt + index * entryLength;
    const [offset, stored, original] = [4, 8, 12].map((field) => woff.readUInt32BE(at + field)) as [
      number,
      number,
      number,
    ];
    const data = woff.subarray(offset, offset + stored);
    const table = stored < original ? inflateSync(data, { maxOutputLength: original }) : data;
    const entry = 12 + index * 16;
    woff.copy(header, entry, at, at + 4);
    woff.copy(header, entry + 4, at + 16, at + 20);
    header.writeUInt32BE(length, entry + 8);
    header.writeUInt32BE(table.length, entry + 12);
    const padded = Buffer.alloc(Math.ceil(table.length / 4) * 4);
    table.copy(padded);
    parts.push(padded);
    length += padded.length;
  }
  return Buffer.concat(parts);
}

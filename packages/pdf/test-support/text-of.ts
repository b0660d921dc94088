import { inflateSync } from 'node:zlib';

/** The text of a PDF, in the standard fonts and in those that are embedded. */
export function textOfPdf(pdf: Buffer): string {
  const file = pdf.toString('latin1');
  const objects = new Map([...file.matchAll(/(\d+) 0 obj\n([\s\S]*?)\nendobj/g)].map(([, id, body]) => [id, body]));
  const names = new Map<string, ReadonlyMap<number, string>>();
  for (const [, name = '', id] of file.matchAll(/\/(F\d+) (\d+) 0 R/g)) {
    const map = /\/ToUnicode (\d+) 0 R/.exec(objects.get(id) ?? '')?.[1];
    if (map !== undefined) names.set(name, charactersOf(streamOf(objects.get(map) ?? '') ?? ''));
  }
  const streams = [...objects.values()].flatMap((body) => streamOf(body ?? '') ?? []);
  let font: ReadonlyMap<number, string> | undefined;
  return streams
    .join('\n')
    .split('\n')
    .map((line) => {
      const chosen = /^\/(F\d+) /.exec(line)?.[1];
      if (chosen !== undefined) font = names.get(chosen);
      if (!/T[jJ]$/.test(line)) return '';
      return [...line.matchAll(/<([0-9a-f]+)>/g)].map(([, hex = '']) => textOf(Buffer.from(hex, 'hex'), font)).join('');
    })
    .join('\n');
}

function streamOf(body: string): string | undefined {
  const data = /stream\n([\s\S]*?)\nendstream/.exec(body)?.[1];
  if (data === undefined) return undefined;
  const bytes = Buffer.from(data, 'latin1');
  return bytes[0] === 0x78 ? inflateSync(bytes).toString('latin1') : data;
}

// The glyphs of an embedded font are numbered as they were first used; its map says what each one shows.
function charactersOf(map: string): ReadonlyMap<number, string> {
  const characters = new Map<number, string>();
  for (const [, from = '', list = ''] of map.matchAll(/<([0-9a-f]+)> <[0-9a-f]+> \[([^\]]*)\]/g)) {
    for (const [index, [, hex = '']] of [...list.matchAll(/<([0-9a-f ]*)>/g)].entries()) {
      const text = Buffer.from(hex.replaceAll(' ', ''), 'hex').swap16().toString('utf16le');
      characters.set(Number.parseInt(from, 16) + index, text);
    }
  }
  return characters;
}

function textOf(bytes: Buffer, font: ReadonlyMap<number, string> | undefined): string {
  if (font === undefined) return bytes.toString('latin1');
  return Array.from({ length: bytes.length / 2 }, (_, at) => font.get(bytes.readUInt16BE(at * 2)) ?? '').join('');
}
